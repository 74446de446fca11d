"""What a large static table costs: held by every slot, or divided by the key it is looked up by.

    python -m benchmarks.table_memory [--rows 8000000] [--batch 200000] [--batches 8]

Each way is a run of its own, in a process of its own, over the same files. Memory is sampled from /proc: what is private to the
driver and to the largest worker while the table is read, and to the largest worker in the batches; beside it what a worker
has mapped of files, which all workers of a machine share and the system takes back when it needs it. Both runs must give the same
results, in number and sum.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import tree

WAYS = {"broadcast": "1t", "divided": "64m"}
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, customer BIGINT, amount INT) PROGRESSING ON ts SLACK 1 SECOND
  FROM 'parquet' OPTIONS (path 'rows', maxFilesPerTrigger 1);
CREATE TABLE customers (id BIGINT, name STRING, credit INT) FROM 'parquet' OPTIONS (path 'customers');
CREATE QUERY q AS SELECT s.ts, s.amount, c.name, c.credit FROM s JOIN customers c ON s.customer = c.id;
"""


def make_data(folder: Path, rows: int, batch: int, batches: int) -> None:
    """A table in eight files, and a stream of which every tenth row finds nobody."""
    rng = np.random.default_rng(1)
    (folder / "customers").mkdir()
    (folder / "rows").mkdir()
    for i, ids in enumerate(np.array_split(rng.permutation(rows), 8)):
        names = pa.array(np.char.add("customer number ", ids.astype(str)))
        table = pa.table({"id": ids, "name": names, "credit": pa.array(ids % 1000, pa.int32())})
        pq.write_table(table, folder / "customers" / f"{i}.parquet")
    for i in range(batches):
        times = pa.array((i * 1_000_000 + rng.integers(0, 1_000_000, batch)), pa.timestamp("us", "UTC"))
        asked = rng.integers(0, rows + rows // 9, batch)
        table = pa.table({"ts": times, "customer": asked, "amount": pa.array(rng.integers(0, 100, batch), pa.int32())})
        pq.write_table(table, folder / "rows" / f"{i:04d}.parquet")


def run_one(folder: Path, way: str) -> None:
    """One run, and what it says of itself as JSON."""
    import headrace as hr
    from headrace.report.model import BatchReport
    from headrace.runtime.spark import make_session

    spark = make_session("local[2]")
    spark.conf.set("spark.headrace.table.broadcast", WAYS[way])
    session = hr.Session(spark, checkpoint=folder / f"checkpoint-{way}", slots=2)
    session.sql(SCRIPT.replace("'rows'", f"'{folder}/rows'").replace("'customers'", f"'{folder}/customers'"))
    began = time.time()
    reports: list[BatchReport] = []
    run = session.start(available_now=True, on_batch=reports.append)
    read = time.time() - began
    print("read", flush=True)
    run.wait()
    found = run.results("q").arrow()
    version = run.manifest.tables["customers"]
    told = {
        "read": read,
        "batch": statistics.median(r.seconds for r in reports[2:]),
        "cpu": statistics.median(sum(slot.cpu for slot in r.slot_loads) for r in reports[2:]),
        "rows": found.num_rows,
        "sum": int(np.sum(found["credit"].to_numpy().astype(np.int64))),
        "divided": version.divided,
        "table_mb": version.bytes >> 20,
        "files": len(version.files),
    }
    print(json.dumps(told), flush=True)
    spark.stop()


def sample(root: int, peaks: dict[str, int], stop: threading.Event) -> None:
    """The most MB of each kind of process until `stop`."""
    while not stop.wait(0.1):
        for pid, program in tree(root).items():
            kind = "jvm" if program == "java" else "driver" if pid == root else "worker"
            try:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                continue
            sizes = {line.split(":")[0]: int(line.split()[1]) >> 10 for line in lines if line.startswith("Rss")}
            for name, size in ((kind, sizes.get("RssAnon", 0)), (f"{kind} mapped", sizes.get("RssFile", 0))):
                peaks[name] = max(peaks.get(name, 0), size)


def measure(folder: Path, way: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.table_memory", "--child", way, "--folder", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peaks: dict[str, int] = {}
    stop = threading.Event()
    sampler = threading.Thread(target=sample, args=(process.pid, peaks, stop))
    sampler.start()
    try:
        assert process.stdout is not None
        reading: dict[str, int] = {}
        said = ""
        for line in process.stdout:
            if line == "read\n":
                reading = {f"{kind} reading": size for kind, size in peaks.items()}
                peaks.clear()
            said = line if line.startswith("{") else said
        process.wait()
    finally:
        stop.set()
        sampler.join()
    if process.returncode:
        raise SystemExit(process.returncode)
    return {**json.loads(said), **reading, **peaks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_000, help="of the table")
    parser.add_argument("--batch", type=int, default=200_000, help="rows in a batch")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_one(given.folder, given.child)
        return
    with tempfile.TemporaryDirectory(prefix="headrace-table-") as name:
        make_data(Path(name), given.rows, given.batch, given.batches)
        found = {way: measure(Path(name), way) for way in WAYS}
    one, other = found.values()
    if (one["rows"], one["sum"]) != (other["rows"], other["sum"]) or one["divided"] or not other["divided"]:
        raise SystemExit(f"the two runs differ: {found}")
    size = f"{given.rows:,} rows, {one['table_mb']} MB"
    print(f"{size}; {given.batches} batches of {given.batch:,}; {one['rows']:,} results\n")
    print("| table | files | read s | batch s | of the processor | driver MB | worker reading MB | worker MB | mapped MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for way, it in found.items():
        sizes = " | ".join(str(it.get(k, 0)) for k in ("driver reading", "worker reading", "worker", "worker mapped"))
        print(f"| {way} | {it['files']} | {it['read']:.1f} | {it['batch']:.2f} | {it['cpu']:.2f} | {sizes} |")


if __name__ == "__main__":
    main()
