"""What an epoch of a checkpoint is, written down: its query set, what state is partitioned by, and what was born when.

An *epoch* is the time between two changes of the set. Its record is a frozen value, kept in a file that never changes,
`epochs/VERSION-FINGERPRINT.json`: the first version that it may be of, and a hash of what it says. The manifest of a version
names the record that its batch went by. So a change of the set is true with the manifest of its first batch and not
before; a record that no manifest names binds nobody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from headrace.errors import CheckpointError
from headrace.logical.graph import Graph, StaticTable, Stream
from headrace.logical.option_texts import describe_value
from headrace.partitioning.choose_table_keys import TablePlacement
from headrace.physical.scratch_database import open_scratch
from headrace.state import FORMAT, Manifest, ManifestLog, Store, check_format
from headrace.state.checksums import open_json, seal_json

FOLDER = "epochs"


@dataclass(frozen=True)
class EpochRecord:
    streams: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    queries: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # name -> text, cohort, retired
    pids: int = 0  # mini-partitions
    born: Mapping[str, int | None] = field(default_factory=dict)  # node -> its windows start after this tick
    hash: str = ""
    graph: Mapping[str, Any] = field(default_factory=dict)  # the drawing, for reports
    labels: Mapping[str, str] = field(default_factory=dict)  # node -> what it is, in words
    time_zone: str = "UTC"
    schemas: Mapping[str, str] = field(
        default_factory=dict
    )  # of every query there ever was: its results stay readable
    late_schemas: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, list[list[str]]] = field(default_factory=dict)  # columns of every table there ever was
    partition_by: str | None = None  # what the user wants state partitioned by
    by_folder: list[str] | None = None  # streams whose folders are kept apart; None: not decided yet
    placements: Mapping[str, dict[str, Any]] = field(
        default_factory=dict
    )  # aggregation or join -> what its state is partitioned by
    sets: Mapping[str, dict[str, str]] = field(
        default_factory=dict
    )  # label of a table -> the same as sets of its streams

    @property
    def cohorts(self) -> dict[str, int]:
        return {n: q["cohort"] for n, q in self.queries.items()}

    @property
    def retired(self) -> frozenset[str]:
        return frozenset(n for n, q in self.queries.items() if q["retired"])

    @property
    def placed(self) -> dict[str, TablePlacement]:
        return {
            name: TablePlacement(tuple(one["keys"]), tuple(one["sets"].items()), one["numbers"])
            for name, one in self.placements.items()
        }

    def to_json(self) -> dict[str, Any]:
        """The content of the file, but for its checksum."""
        return {"format": FORMAT, **vars(self)}

    @property
    def fingerprint(self) -> str:
        """Of all that it says."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:16]


def save_record(store: Store, path: str, record: EpochRecord) -> None:
    """Write a record, durably; it must be there before a manifest names it."""
    store.write(path, seal_json(record.to_json()))


def find_path(store: Store, latest: Manifest | None) -> str | None:
    """The record that the last manifest names; without a manifest the last one that was written, if there is any."""
    if latest is not None:
        return latest.epoch
    written = store.scan(FOLDER)
    return max(written, key=lambda entry: entry.modified).path if written else None


def load_record(store: Store, latest: Manifest | None) -> EpochRecord | None:
    """The record of the last committed version, or of a run that has committed nothing yet; None if there is neither."""
    path = find_path(store, latest)
    if path is None:
        return None
    try:
        content = store.read(path)
        check_format(store.uri, json.loads(content)["format"])
        data = open_json(content)
        del data["format"]
        return EpochRecord(**data)
    except (ValueError, TypeError, KeyError) as e:
        raise CheckpointError(
            f"checkpoint {store.uri}: {path} cannot be read ({e}); restore it, or use a new checkpoint"
        ) from e
    except CheckpointError as e:
        if isinstance(e.__cause__, FileNotFoundError):
            raise CheckpointError(
                f"checkpoint {store.uri}: {path} is missing; restore it, or use a new checkpoint"
            ) from e
        raise


def read_record(store: Store) -> EpochRecord | None:
    """The record of a checkpoint that somebody else may be running on."""
    return load_record(store, ManifestLog(store).latest())


def describe_streams(graph: Graph) -> dict[str, dict[str, Any]]:
    """Each stream; all but the source must stay the same. Of its options there is only what is no secret."""
    return {
        s.name: {
            "columns": [list(c) for c in s.columns],
            "on": s.on,
            "unit": s.unit,
            "groups": list(s.groups),
            "source": [s.format, [[option, describe_value(option, value)] for option, value in s.options]],
            "partitioned": describe_clause(s),
        }
        for s in graph.streams.values()
    }


def describe_clause(stream: Stream) -> str:
    """What a stream says of its partitioning."""
    if not stream.partition_by:
        return ""
    listed = ", ".join(e.sql(dialect="spark") for e in stream.partition_by)
    return f"{'PARTITIONED' if stream.partition_fixed else 'PARTITIONABLE'} BY ({listed})"


def describe_tables(graph: Graph) -> dict[str, list[list[str]]]:
    return {t.name: [list(c) for c in t.schema] for t in graph.tables.values()}


def find_lost_tables(record: EpochRecord, graph: Graph) -> list[StaticTable]:
    """Tables that only removed queries can speak of: nobody reads them any more."""
    return [
        StaticTable(n, tuple((c, t) for c, t in columns))
        for n, columns in record.tables.items()
        if n not in graph.tables
    ]


@cache
def hash_probe() -> str:
    """DuckDB's hash of fixed values: mini-partitions depend on it, so it must not change under a checkpoint."""
    sql = "SELECT hash(1::INT), hash('a'), hash(1::BIGINT, 'b'), hash(NULL::DATE)"
    rows = open_scratch().sql(sql).fetchall()
    return "-".join(str(v) for v in rows[0])
