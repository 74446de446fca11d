"""Small stores, segments and manifests for the tests of the state layer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headrace.progress import Frontier, Observation
from headrace.state import Manifest, ResultFile, SegmentMeta, Span, StreamState


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
    return SegmentMeta(path, "flows", 3, 1000, pids, Span(10, 20), 3, 7)


def manifest(version: int, **changes: Any) -> Manifest:
    """A manifest that uses every field."""
    fields: dict[str, Any] = {
        "version": version,
        "batch_id": version - 1,
        "fingerprint": "f00d",
        "streams": {"tcp": StreamState(Observation(100 * version), Frontier(95 * version, ((('a', 1), 99 * version),)), 1000, 3, 1), "new": StreamState()},
        "route": (0, 0, 1, 1),
        "slots": 2,
        "segments": (segment(f"segments/{version}.arrow"),),
        "results": {"flows": (ResultFile(f"results/flows/{version}.parquet", 10, 500),), "heavy": ()},
        "late": {"tcp": (ResultFile(f"late/tcp/{version}.parquet", 1, 50),)},
        "report": {"rows": 1000, "phases": {"source": 0.5}, "größe": None},
        "created_at": 1234.5,
        "flush": version % 2 == 0,
        "engine": {"headrace": "0.1.0"},
    }
    return Manifest(**{**fields, **changes})
