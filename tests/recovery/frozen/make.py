"""Make the checkpoint that is kept beside this file: `python tests/recovery/frozen/make.py`, only when the format changes."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from headrace.program.limits import Limits
from headrace.state import FORMAT
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (ts BIGINT, k STRING, v INT) PROGRESSING ON ts SLACK 3 FROM 'memory';
CREATE STREAM r (ts BIGINT, k STRING) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE TABLE t (k STRING, name STRING) FROM 'memory';
CREATE QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k;
CREATE QUERY joined AS SELECT s.v, r.ts FROM s LEFT JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts AND s.ts + 5;
CREATE QUERY named AS SELECT t.name, sum(v) AS total FROM s [RANGE 10] JOIN t ON s.k = t.k GROUP BY t.name;
"""
ADDED = "CREATE QUERY later AS SELECT count(*) AS n FROM s [RANGE 20]"
TABLE = [("a", "Anna"), ("b", None)]
BATCHES = [
    {"s": [(1, "a", 1), (4, "b", 2), (12, "a", 3)], "r": [(2, "a"), (9, "b")]},
    {"s": [(2, "a", 4), (15, "b", 5), (31, "c", 6)], "r": [(16, "b")]},
    {"s": [(33, "a", 7), (45, "b", 8)], "r": [(46, "b")]},
]


def start(path: str, script: str = SCRIPT) -> LocalRun:
    return LocalRun(script, slots=2, path=path, tables={"t": TABLE}, limits=Limits(mini_partitions=2))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = start(f"{folder}/checkpoint")
        run.push(**BATCHES[0])
        run.change(ADDED)
        run.push(**BATCHES[1])
        run.close()
        run.store.delete("lock")
        with tarfile.open(Path(__file__).with_name(f"format-{FORMAT}.tar.xz"), "w:xz") as archive:
            archive.add(run.store.uri, "checkpoint", filter=lambda info: info if not info.name.endswith("/lock") else None)


if __name__ == "__main__":
    main()
