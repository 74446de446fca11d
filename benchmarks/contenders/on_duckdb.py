"""The floor: DuckDB alone computes the same results from all rows at once, and writes them as Parquet.

It reads no stream, keeps no state and commits nothing, so what it takes is what the query itself
takes. Its results are also the truth that the others' are compared with.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import duckdb


def run(spec: dict[str, Any]) -> dict[str, Any]:
    db = duckdb.connect()
    db.execute(f"SET threads = {spec['cores']}")
    db.execute("SET preserve_insertion_order = false")
    db.execute("SET TimeZone = 'UTC'")
    for stream, files in spec["files"].items():
        db.read_parquet(files).project("*, epoch_us(ts) AS us").create_view(stream)
    results = Path(spec["work"]) / "results"
    results.mkdir(parents=True)
    for statement in spec["queries"].values():
        db.execute(statement)
    started = time.monotonic()
    for name in spec["queries"]:
        db.execute(f"COPY {name} TO '{results}/{name}.parquet' (FORMAT parquet)")
    ended = time.monotonic()
    return {
        "clock": (started, ended),
        "startup_seconds": 0.0,
        "seconds": ended - started,
        "batches": [],
        "results": {q: {"format": "parquet", "paths": [f"{results}/{q}.parquet"]} for q in spec["queries"]},
    }


if __name__ == "__main__":
    spec = json.loads(Path(sys.argv[1]).read_text())
    Path(spec["answer"]).write_text(json.dumps(run(spec)))
