"""What it costs to tell the tasks of a batch what to do, with many slots and much state: `python -m benchmarks.orders`.

State is real: a set of aggregations over windows that no row closes, so that every batch adds a segment for each node and
slot. Then, for the next batch, bytes and seconds are measured twice: as one message that every task is sent whole, pickled
and compressed once, and as one file of which each task reads its part (`program/order_file.py`). Both are done here in full,
by as many tasks as the batch has. `--cluster` runs the set on local-cluster[2,1,1024] and gives the seconds of its batches.
"""

from __future__ import annotations

import argparse
import base64
import pickle
import statistics
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.program.order_file import OrderReader, cut_orders
from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (ts BIGINT, k INT, v INT) PROGRESSING ON ts ORDERED FROM '{source}'"
QUERY = "CREATE QUERY q{i} AS SELECT k, sum(v) AS n FROM s [RANGE 1000000] WHERE v > {i} GROUP BY k"
TOTAL = "CREATE QUERY total AS SELECT sum(n) AS n FROM q0 [RANGE 1000000]"
KEYS, TASKS = 2000, 4


def write_script(queries: int, source: str, options: str = "") -> str:
    listed = [STREAM.format(source=source) + options, *(QUERY.format(i=i) for i in range(queries)), TOTAL]
    return "; ".join(listed)


def make_rows(batch: int) -> list[tuple[int, int, int]]:
    return [(batch, k, 1000) for k in range(KEYS)]


def measure_here(slots: int, segments: int, queries: int) -> dict[str, Any]:
    """Both ways, for one batch of a run in this process."""
    run = LocalRun(write_script(queries, "memory"), slots=slots, tasks=TASKS)
    batch = 0
    while len(run.manifest.segments) < segments:
        run.push(s=make_rows(batch))
        batch += 1
    orders = run.driver.make_orders()
    levels = len(run.program.levels)
    whole = measure_whole(orders, TASKS + slots * levels)
    parts = measure_parts(run.program, orders, TASKS, slots, levels)
    found = {"slots": slots, "segments": len(orders.segments), "tasks": TASKS + slots * levels}
    return found | {"whole": whole, "parts": parts}


def measure_whole(orders: Any, tasks: int) -> dict[str, float]:
    """Everything, to every task."""
    started = time.perf_counter()
    text = base64.b85encode(zlib.compress(pickle.dumps(orders), 1)).decode()
    written = time.perf_counter()
    for _ in range(tasks):
        pickle.loads(zlib.decompress(base64.b85decode(text)))
    return {"bytes": len(text) * tasks, "write": written - started, "read": time.perf_counter() - written}


def measure_parts(program: Any, orders: Any, sources: int, slots: int, levels: int) -> dict[str, float]:
    """A file, and its part to every task."""
    read = 0
    started = time.perf_counter()
    cut = cut_orders(program, orders)
    written = time.perf_counter()

    def take(start: int, size: int) -> bytes:
        nonlocal read
        read += size
        return cut.content[start : start + size]

    for task in range(sources):
        OrderReader(take, cut.head).read_splits(task)
    for level in range(levels):
        for slot in range(slots):
            OrderReader(take, cut.head).read_slot(level, slot)
    return {"bytes": read, "write": written - started, "read": time.perf_counter() - written}


def measure_cluster(slots: int, batches: int, queries: int) -> list[float]:
    """Seconds of the batches on Spark's local cluster, which sends what it sends."""
    import headrace as hr

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "s"
        source.mkdir()
        for batch in range(batches):
            ts, k, v = zip(*make_rows(batch), strict=True)
            table = pa.table({"ts": pa.array(ts, pa.int64()), "k": pa.array(k, pa.int32()), "v": pa.array(v, pa.int32())})
            pq.write_table(table, source / f"{batch:05d}.parquet")
        options = f" OPTIONS (path '{source}', maxFilesPerTrigger 1)"
        session = hr.Session(checkpoint=f"{folder}/c", master="local-cluster[2,1,1024]", slots=slots)
        run = session.sql(write_script(queries, "parquet", options)).start(available_now=True)
        run.wait()
        print(f"{len(run.manifest.segments):,} segments after {len(run.reports)} batches")
        seconds = [report.seconds for report in run.reports]
        session.spark.stop()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--slots", type=int, default=200)
    parser.add_argument("--segments", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--batches", type=int, default=6, help="on the cluster")
    given = parser.parse_args()
    if given.cluster:
        seconds = measure_cluster(given.slots, given.batches, given.queries)
        print("seconds of a batch:", " ".join(f"{s:.2f}" for s in seconds), f"median {statistics.median(seconds[2:]):.2f}")
        return
    found = measure_here(given.slots, given.segments, given.queries)
    print(f"{found['slots']} slots, {found['segments']:,} segments, {found['tasks']} tasks")
    print("| orders | bytes to all tasks | writing, s | reading, all tasks, s |\n| --- | ---: | ---: | ---: |")
    for way in ("whole", "parts"):
        one = found[way]
        print(f"| {way} | {one['bytes']:,} | {one['write']:.3f} | {one['read']:.3f} |")
    whole, parts = found["whole"], found["parts"]
    spent = [one["write"] + one["read"] for one in (whole, parts)]
    print(f"{whole['bytes'] / parts['bytes']:.1f}x fewer bytes, {spent[0] / spent[1]:.1f}x less time")


if __name__ == "__main__":
    main()
