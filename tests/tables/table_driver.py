"""A run over a table that is another at every reading, to be killed: `… CHECKPOINT READINGS LIMIT`.

Every reading of the table appends a letter to the file READINGS, whose length is the version. Batch i is made from its number; the
manifest says which one is next.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun

SECOND = 1_000_000
BATCHES, ROWS = 8, 6
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING, id INT) PROGRESSING ON ts SLACK 2 SECONDS FROM 'memory';
CREATE STREAM r (ts TIMESTAMP, k STRING, rate INT) PROGRESSING ON ts SLACK 2 SECONDS FROM 'memory';
CREATE TABLE t (k STRING, version INT) FROM 'memory' REFRESH EVERY 1 MICROSECOND;
CREATE QUERY q AS SELECT s.id, t.version FROM s JOIN t ON s.k = t.k;
CREATE QUERY n AS SELECT count(*) AS n FROM s [RANGE 3 SECONDS] JOIN t ON s.k = t.k;
CREATE QUERY v AS SELECT s.id, v.rate FROM s LEFT JOIN r FOR SYSTEM_TIME AS OF s.ts v ON s.k = v.k;
"""


def make_batch(number: int) -> dict[str, list[tuple[object, ...]]]:
    ids = range(number * ROWS, (number + 1) * ROWS)
    rows: list[tuple[object, ...]] = [(i * SECOND // 2 - (i % 3) * SECOND // 2 + SECOND, "ab"[i % 2], i) for i in ids]
    rates: list[tuple[object, ...]] = [(i * SECOND // 2, "ab"[i // 2 % 2], i) for i in ids]
    return {"s": rows, "r": rates}


def run_batches(checkpoint: str, readings: Path, limit: int | None = None) -> LocalRun:
    def read() -> list[tuple[str, int]]:
        with readings.open("a") as file:
            file.write("x")
        version = readings.stat().st_size
        return [("a", version), ("b", version)]

    run = LocalRun(SCRIPT, slots=2, path=checkpoint, tables={"t": read}, limits=SHIPPED if limit is None else Limits(broadcast_bytes=limit))
    print("started", flush=True)
    while run.manifest.batch_id + 1 < BATCHES:
        run.push(**make_batch(run.manifest.batch_id + 1))
    if not run.manifest.flush:
        run.flush()
    print("done", flush=True)
    return run


if __name__ == "__main__":
    run_batches(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
