"""Small stores, segments and manifests for the tests of the state layer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CheckpointError
from headrace.progress import Frontier, Observation
from headrace.state import (
    Kind,
    Manifest,
    ManifestLog,
    Numbers,
    OutputFile,
    OutputPart,
    SegmentMeta,
    StreamState,
)
from headrace.state.result_parquet import read_results, seal_output
from headrace.state.segment import pids_to_hex


def state_table(pids: list[int], panes: list[int] | None = None) -> pa.Table:
    """State rows with these pids, and a value that tells each row from the others."""
    return pa.table(
        {
            "pid": pa.array(pids, pa.uint16()),
            "pane": pa.array(panes or range(len(pids)), pa.int64()),
            "key": pa.array([f"key {i}" for i in range(len(pids))]),
            "cnt": pa.array(range(len(pids)), pa.int64()),
        }
    )


def segment(path: str = "segments/a.arrow", pids: tuple[int, ...] = (0, 1, 5)) -> SegmentMeta:
    return SegmentMeta(path, "flows", 3, 1000, pids_to_hex(pids), 10, 20, 3, 7, tail=500, crc=1 << 31)


def commit_rows(log: ManifestLog, version: int, at: float = 1234.5, files: int = 2, more: bool = False, **changes: Any) -> list[int]:
    """Commit a version with `files` small files of results of the query flows and one of late rows; the values of `n`. The
    files may have one column `more`."""
    outputs, values = [], []
    for file in range(files):
        rows = [version * 100 + file * 10 + i for i in range(1 + (version + file) % 3)]
        outputs.append(write_numbers(log, f"results/flows/{version:012d}-{file}.parquet", rows, more))
        values += rows
    outputs.append(write_numbers(log, f"late/tcp/{version:012d}-x.parquet", [version], kind=Kind.LATE))
    log.publish(manifest(version, **{"outputs": tuple(outputs), "segments": (), "created_at": at, **changes}))
    return values


def write_numbers(log: ManifestLog, path: str, rows: list[int], more: bool = False, kind: Kind = Kind.RESULT) -> OutputFile:
    table = pa.table({"n": pa.array(rows, pa.int64()), "word": ["a"] * len(rows)})
    if more:
        table = table.append_column("more", pa.nulls(len(rows)))
    with log.store.open_output(path) as out:
        pq.write_table(table, out)
    return seal_output(log.store, path, [OutputPart(0, kind, 0, len(rows))])


def read_numbers(log: ManifestLog, late: bool = False) -> list[int]:
    """All committed values of `n`, in order, as a reader finds them that lists again when a file has gone."""
    try:
        return _read_listed(log, late)
    except CheckpointError:
        log.refresh()
        return _read_listed(log, late)


def _read_listed(log: ManifestLog, late: bool) -> list[int]:
    found: list[int] = []
    for file in log.late("tcp") if late else log.results("flows"):
        rows = read_results(log.store, file)["n"].to_pylist()
        assert len(rows) == file.rows
        found += rows
    return found


def manifest(version: int, **changes: Any) -> Manifest:
    """A manifest that uses every field."""
    fields: dict[str, Any] = {
        "version": version,
        "batch_id": version - 1,
        "epoch": "epochs/000000000001-f00d.json",
        "streams": {"tcp": StreamState(Observation(100 * version), Frontier(95 * version, ((('a', 1), 99 * version),)), 1000, 3, 1), "new": StreamState()},
        "route": (0, 0, 1, 1),
        "slots": 2,
        "segments": (segment(f"segments/{version}.arrow"),),
        "outputs": (
            OutputFile(f"results/flows/{version}.parquet", 500, 400, 7, (OutputPart(0, Kind.RESULT, 0, 10),)),
            OutputFile(f"late/tcp/{version}.parquet", 50, 40, 7, (OutputPart(0, Kind.LATE, 0, 1),)),
        ),
        "numbers": Numbers({"flows": 0, "heavy": 1}, {"tcp": 0}),
        "checkpoint": "c0ffee",
        "report": {"rows": 1000, "phases": {"source": 0.5}, "größe": None},
        "created_at": 1234.5,
        "flush": version % 2 == 0,
        "engine": {"headrace": "0.1.0"},
        "promises": {"flows": {"window_end": Frontier(90 * version)}, "heavy": {"t": Frontier(), "u": Frontier(7)}},
    }
    return Manifest(**{**fields, **changes})
