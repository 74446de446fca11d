"""plan.json: which query set a checkpoint belongs to, and what may change about it.

A checkpoint outlives the text it was started with. Queries may be added (they answer from the first window
that begins after they were added, so that every answer they give is complete) and removed. What would make
committed results wrong or unreadable is refused, and the message says what differs: another stream, another
set altogether, another text under the same name, another time zone. A plan whose run never committed
anything binds nobody. What each table is partitioned by is here too, with where the numbers came from that decided it.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
from sqlglot.dialects.spark import Spark

from headrace.errors import CheckpointError
from headrace.logical.graph import Graph, StaticTable, Stream
from headrace.logical.option_texts import describe_value
from headrace.optimizer import Plan
from headrace.optimizer.explain_plan import draw_plan
from headrace.partitioning.choose_table_keys import TablePlacement
from headrace.physical.scratch_database import open_scratch
from headrace.program.node import Node
from headrace.program.program import Program
from headrace.state import FORMAT, Manifest, Store, check_format
from headrace.state.checksums import open_json, seal_json

PATH = "plan.json"


@dataclass
class PlanFile:
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> text, generation, retired
    born: dict[str, int | None] = field(default_factory=dict)  # node -> its windows start after this tick
    hash: str = ""
    graph: dict[str, Any] = field(default_factory=dict)  # the drawing, for reports
    labels: dict[str, str] = field(default_factory=dict)  # node -> what it is, in words
    time_zone: str = "UTC"
    schemas: dict[str, str] = field(
        default_factory=dict
    )  # of every query there ever was: its results stay readable
    late_schemas: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)  # columns of every table there ever was
    partition_by: str | None = None  # what the user wants state partitioned by
    by_folder: list[str] | None = None  # streams whose folders are kept apart; None: not decided yet
    folders: list[str] = field(default_factory=list)  # of these, in the order of their numbers
    placements: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # aggregation or join -> what its state is partitioned by
    sets: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # label of a table -> the same as sets of its streams

    @property
    def generations(self) -> dict[str, int]:
        return {n: q["generation"] for n, q in self.queries.items()}

    @property
    def retired(self) -> frozenset[str]:
        return frozenset(n for n, q in self.queries.items() if q["retired"])

    @property
    def placed(self) -> dict[str, TablePlacement]:
        return {
            name: TablePlacement(tuple(one["keys"]), tuple(one["sets"].items()), one["numbers"])
            for name, one in self.placements.items()
        }

    def save(self, store: Store) -> None:
        store.write(PATH, seal_json({"format": FORMAT, **vars(self)}))


def load(store: Store) -> PlanFile | None:
    """The plan of a checkpoint, None if it has none yet."""
    if not store.exists(PATH):
        if store.list("manifests"):
            raise CheckpointError(
                f"checkpoint {store.uri}: plan.json is missing; restore it, or use a new checkpoint"
            )
        return None
    try:
        content = store.read(PATH)
        check_format(store.uri, json.loads(content)["format"])
        data = open_json(content)
        del data["format"]
        return PlanFile(**data)
    except (ValueError, TypeError, KeyError) as e:
        raise CheckpointError(
            f"checkpoint {store.uri}: plan.json cannot be read ({e}); restore it, or use a new checkpoint"
        ) from e


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


def find_lost_tables(file: PlanFile, graph: Graph) -> list[StaticTable]:
    """Tables that only removed queries can speak of: nobody reads them any more."""
    return [
        StaticTable(n, tuple((c, t) for c, t in columns))
        for n, columns in file.tables.items()
        if n not in graph.tables
    ]


def take_over(store: Store, old: PlanFile, graph: Graph) -> None:
    """Take over a checkpoint where nothing was committed; Spark's log goes too if it is of other sources."""
    if list(describe_streams(graph).items()) != list(old.streams.items()):
        for path in store.list("spark"):
            store.delete(path)


def reconcile(
    store: Store, old: PlanFile | None, graph: Graph, time_zone: str, partition_by: str | None = None
) -> PlanFile:
    """The plan file for a graph on a checkpoint that may hold an earlier one; refuses what cannot be
    continued.
    """
    where = f"checkpoint {store.uri}"
    probe = hash_probe()
    streams = describe_streams(graph)
    if old is None:
        fresh = {n: {"text": t, "generation": 0, "retired": False} for n, t in graph.queries.items()}
        tables = describe_tables(graph)
        return PlanFile(
            streams,
            fresh,
            hash=probe,
            time_zone=time_zone,
            tables=tables,
            partition_by=partition_by,
        )
    live = {n for n, q in old.queries.items() if not q["retired"]}
    if different := _difference(old.streams, streams):
        raise CheckpointError(f"{where} belongs to other streams: {different}. Use a new checkpoint")
    if partition_by is not None and partition_by != old.partition_by:
        raise CheckpointError(
            f"{where} has its state partitioned by {old.partition_by or 'what was best'}, not by {partition_by!r}; "
            "state is never partitioned anew. Leave the option out, or use a new checkpoint"
        )
    tables = describe_tables(graph)
    for name in old.tables.keys() & tables.keys():
        before, now = ({c: type_ for c, type_ in t[name]} for t in (old.tables, tables))  # noqa: C416
        if changed := [c for c, t in before.items() if now.get(c, t) != t]:
            raise CheckpointError(
                f"{where}: column {changed[0]} of table {name} was {before[changed[0]]} and is {now[changed[0]]}; results of "
                "before would not fit those of now. Declare it as it was, give the table another name, or use a new checkpoint"
            )
    streams = {name: streams[name] for name in old.streams}  # Spark's log knows sources by their place
    if time_zone != old.time_zone:
        raise CheckpointError(
            f"{where} was written with the session time zone {old.time_zone}, this session has {time_zone}; "
            f"a window half of each would be wrong. Set spark.sql.session.timeZone to {old.time_zone}, or use a new checkpoint"
        )
    if live and graph.queries and not live & set(graph.queries):
        raise CheckpointError(
            f"{where} belongs to another query set: it has {', '.join(sorted(live))}, this one has "
            f"{', '.join(sorted(graph.queries))}. Use a new checkpoint for a new set"
        )
    if probe != old.hash:
        raise CheckpointError(
            f"{where} was written with another DuckDB, whose hash function differs from {duckdb.__version__}'s; its state "
            "cannot be continued. Use the version it was written with, or a new checkpoint"
        )
    queries: dict[str, dict[str, Any]] = {n: dict(q) for n, q in old.queries.items()}
    newest = max((q["generation"] for q in queries.values()), default=0)
    for name, text in graph.queries.items():
        known = queries.get(name)
        if known is None:
            queries[name] = {"text": text, "generation": newest + 1, "retired": False}
        elif known["retired"]:
            raise CheckpointError(
                f"{where}: query {name} was removed from this checkpoint before; add it under another name"
            )
        elif _tokens(known["text"]) != _tokens(text):
            raise CheckpointError(
                f"{where}: query {name} has changed.\n  before: {_words(known['text'])}\n  now:    {_words(text)}\n"
                "Its committed results answer the old text: give the new one another name, or use a new checkpoint"
            )
    for name in live - set(graph.queries):
        queries[name]["retired"] = True
    return PlanFile(
        streams,
        queries,
        dict(old.born),
        probe,
        time_zone=time_zone,
        schemas=dict(old.schemas),
        tables={**old.tables, **tables},
        partition_by=old.partition_by,
        by_folder=old.by_folder or [],
        folders=old.folders,
        placements=old.placements,
    )


def settle(store: Store, file: PlanFile, plan: Plan, program: Program, manifest: Manifest | None) -> None:
    """Write the program's nodes and schemas into the file: new nodes are born now."""
    born: dict[str, int | None] = {}
    for node in program.nodes:
        if node.name in file.born:
            born[node.name] = file.born[node.name]
        else:
            states = [(w, manifest.streams[w.stream]) for w in node.waits] if manifest is not None else []
            apart = sum(n.reach for n in program.nodes)
            known = [(w, t) for w, s in states for t in (s.max_seen, s.low_watermark) if t is not None]
            born[node.name] = max((w.look_ahead(t, apart) for w, t in known), default=None)
            _can_begin(store, node, born[node.name])
    file.born = born
    file.by_folder = sorted(plan.settings.by_folder or ())
    file.schemas |= {q: base64.b64encode(s).decode() for q, s in program.schemas.items()}
    file.late_schemas = {s: base64.b64encode(b).decode() for s, b in program.late_schemas.items()}
    file.placements = file.placements | {
        name: {"keys": list(one.keys), "sets": dict(one.sets), "numbers": one.numbers}
        for name, one in plan.placements.items()
    }
    file.sets = _list_sets(plan)
    file.graph, file.labels = draw_plan(plan), program.label_nodes()


def _list_sets(plan: Plan) -> dict[str, dict[str, str]]:
    """By label, what tables over streams are partitioned by; not where tables of one label differ."""
    found: dict[str, list[dict[str, str]]] = {}
    for table in plan.tables.values():
        placed = (
            plan.placements.get(table.members[0])
            if table.id in plan.feeds or table.id in plan.row_feeds
            else None
        )
        found.setdefault(table.label, []).append(dict(placed.sets) if placed is not None else {})
    return {
        label: sets[0] for label, sets in found.items() if sets[0] and all(one == sets[0] for one in sets)
    }


def _can_begin(store: Store, node: Node, born: int | None) -> None:
    """A landmark that has begun cannot be joined later: every one of its windows would lack the rows before. Nor can versions be
    asked for that nobody has kept.
    """
    if born is not None and node.needs_past:
        raise CheckpointError(
            f"checkpoint {store.uri}: a new query asks for versions AS OF a time ({node.label}), but those that were read before "
            "it was there were not kept, so its first answers would be wrong. Use a new checkpoint for it"
        )
    for window in node.windows:
        if born is not None and window.reports_without_rows and window.origin <= born:
            raise CheckpointError(
                f"checkpoint {store.uri}: a new query over {node.label} has a landmark window (RANGE ALL) that begins before "
                "what was already read, so it would never be complete. Give it an ORIGIN after the rows read so far or a "
                "RESET, or use a new checkpoint"
            )


@cache
def hash_probe() -> str:
    """DuckDB's hash of fixed values: mini-partitions depend on it, so it must not change under a checkpoint."""
    sql = "SELECT hash(1::INT), hash('a'), hash(1::BIGINT, 'b'), hash(NULL::DATE)"
    rows = open_scratch().sql(sql).fetchall()
    return "-".join(str(v) for v in rows[0])


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    parts = [f"stream {n} is gone" for n in old if n not in new]
    parts += [f"stream {n} is new" for n in new if n not in old]
    for name in [n for n in old if n in new]:
        before, now = (dict(map(tuple, s[name]["columns"])) for s in (old, new))
        parts += [f"column {name}.{c} is gone" for c in before if c not in now]
        parts += [f"column {name}.{c} is new" for c in now if c not in before]
        parts += [
            f"column {name}.{c} was {t} and is {now[c]}" for c, t in before.items() if now.get(c, t) != t
        ]
        groups = [", ".join(s[name].get("groups", ())) or "none" for s in (old, new)]
        if groups[0] != groups[1]:
            parts.append(
                f"the groups of {name} that make progress by themselves were by {groups[0]} and are by {groups[1]}"
            )
        clauses = [
            s[name].get("partitioned", new[name]["partitioned"]) or "not PARTITIONED BY anything"
            for s in (old, new)
        ]
        if clauses[0] != clauses[1]:
            parts.append(f"{name} was {clauses[0]} and is {clauses[1]}")
        if old[name]["on"] != new[name]["on"]:
            parts.append(f"{name} was PROGRESSING ON {old[name]['on']} and is on {new[name]['on']}")
    return "; ".join(parts)


def _words(text: str) -> str:
    return " ".join(text.split())


def _tokens(text: str) -> list[tuple[object, str]]:
    """What counts of a text: not its spaces, not its comments."""
    return [(t.token_type, t.text) for t in Spark().tokenize(text)]
