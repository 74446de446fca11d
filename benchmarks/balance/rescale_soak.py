"""Another number of slots every few seconds for minutes, and kills in between: results are those of an undisturbed run.

A process of its own runs an aggregation, a query over it, a join and an outer join over two streams, whose files come one by
one. The number of slots is asked for from outside, as `headrace slots` does, 2, 8 and 3 in turn, nine changes a minute; every
twenty seconds or so the process and all it started are killed and it is started again. When all files are read, the same files
go through a second checkpoint at once, with one number of slots and no policy, and the results are compared row for row.

The process tells of each batch it commits; one whose line a kill prevented is not in the figures. How long batches take is told
with and without those that follow a start: Java and the workers begin anew there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.report.model import BatchReport
from headrace.state import ManifestLog, Store
from headrace.state.slot_requests import request_slots

SLOTS = (2, 8, 3)
QUERIES = ("slid", "most", "pairs", "lonely")
SCRIPT = """
CREATE STREAM a (t BIGINT, k INT, v INT) PROGRESSING ON t SLACK 200
  FROM 'parquet' OPTIONS (path '{folder}/a', maxFilesPerTrigger '{files}');
CREATE STREAM b (t BIGINT, k INT, v INT) PROGRESSING ON t SLACK 200
  FROM 'parquet' OPTIONS (path '{folder}/b', maxFilesPerTrigger '{files}');
CREATE QUERY slid AS SELECT k, count(*) AS n, sum(v) AS sv FROM a [RANGE 4000 SLIDE 1000] GROUP BY k;
CREATE QUERY most AS SELECT max(n) AS n, count(*) AS keys FROM slid;
CREATE QUERY pairs AS SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 1000 AND a.t;
CREATE QUERY lonely AS SELECT a.k, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 50 AND a.t;
"""


def soak_rescales(
    folder: Path, minutes: float, every: float = 1.0, rows: int = 4000, change: float = 6.67, kill: float = 20.0
) -> dict[str, Any]:
    """A file of each stream `every` so many seconds, a rescale every `change`, a kill every `kill`; what was seen."""
    shutil.rmtree(folder, ignore_errors=True)
    for stream in "ab":
        (folder / stream).mkdir(parents=True)
    checkpoint = folder / "disturbed"
    put_file(folder, 0, rows)
    child = start_run(folder, checkpoint)
    kills, asked, files = 0, 0, 1
    starts: list[int] = []
    try:
        await_batches(checkpoint, child, 1)
        started = changed = killed = time.monotonic()
        while (now := time.monotonic()) < started + 60 * minutes:
            if child.poll() is not None:
                raise RuntimeError(f"the run has ended; see {folder}/run.txt")
            if now >= started + files * every:
                put_file(folder, files, rows)
                files += 1
            if now >= changed + change:
                request_slots(Store.open(str(checkpoint)), SLOTS[asked % len(SLOTS)])
                asked, changed = asked + 1, now
            if now >= killed + kill and now < started + 60 * minutes - kill / 2:
                end_run(child, signal.SIGKILL)
                starts.append(count_batches(checkpoint))
                kills, child = kills + 1, start_run(folder, checkpoint)
                put_file(folder, files, rows)  # there may be no other that is not read yet
                files += 1
                await_batches(checkpoint, child, starts[-1] + 1)
                killed = time.monotonic()
            time.sleep(0.05)
        await_files(folder, checkpoint, child, files)
    finally:
        end_run(child, signal.SIGTERM)
    quiet = folder / "undisturbed"
    run_once(folder, quiet)
    return describe(checkpoint, starts) | {
        "minutes": minutes,
        "kills": kills,
        "rescales_asked": asked,
        "files": files,
        "results": {q: compare_results(checkpoint, quiet, q) for q in QUERIES},
    }


def describe(checkpoint: Path, starts: list[int]) -> dict[str, Any]:
    """Seconds of batches, and how often the number of slots changed."""
    lines = [json.loads(line) for line in (checkpoint.parent / "batches.txt").read_text().splitlines()]
    busy = [line for line in lines if line["rows"]]
    seconds = [line["seconds"] for line in busy]
    fresh = {start + k for start in [0, *starts] for k in range(2)}  # numbers of batches that follow a start
    warm = [line["seconds"] for line in busy if line["batch"] not in fresh]
    changed = [two for one, two in pairwise(lines) if one["slots"] != two["slots"]]
    moved = {line["batch"] for line in changed} - fresh
    median = statistics.median(warm)
    counts = {line["slots"] for line in busy}
    usual = {n: statistics.median([line["seconds"] for line in busy if line["slots"] == n]) for n in counts}
    return {
        "batches": len(busy),
        "slot_changes": len(changed),
        "median": round(median, 3),
        "longest": round(max(seconds), 3),
        "longest_warm": round(max(warm), 3),
        "above_twice": sum(s > 2 * median for s in seconds),
        "above_twice_warm": sum(s > 2 * median for s in warm),
        "median_by_slots": {str(n): round(usual[n], 3) for n in sorted(usual)},
        "above_twice_of_slots": sum(
            line["seconds"] > 2 * usual[line["slots"]] for line in busy if line["batch"] not in fresh
        ),
        "median_of_changes": round(
            statistics.median([line["seconds"] for line in busy if line["batch"] in moved] or [0.0]), 3
        ),
    }


def put_file(folder: Path, number: int, rows: int) -> None:
    """The next file of both streams, 1000 ticks each, up to 150 out of order, some keys hot; shown in one step."""
    for stream in "ab":
        rng = np.random.default_rng((ord(stream), number))
        ticks = number * 1000 + np.arange(rows) * 1000 // rows - rng.integers(0, 150, rows)
        hot = rng.random(rows) < 0.2  # on a hundred keys, others after twenty files
        keys = np.where(hot, rng.integers(0, 100, rows) + 100 * (number // 20 % 10), rng.integers(1000, 3000, rows))
        table = pa.table(
            {
                "t": pa.array(np.maximum(ticks, 0), pa.int64()),
                "k": pa.array(keys, pa.int32()),
                "v": pa.array(rng.integers(0, 100, rows), pa.int32()),
            }
        )
        hidden = folder / stream / f".{number:06d}"
        pq.write_table(table, hidden)
        os.utime(hidden, (1_700_000_000 + number,) * 2)
        hidden.rename(folder / stream / f"{number:06d}.parquet")


# -- the process that is killed --------------------
def start_run(folder: Path, checkpoint: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.balance.rescale_soak", str(folder), str(checkpoint), "on"]
    with (folder / "run.txt").open("ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)


def run_once(folder: Path, checkpoint: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.balance.rescale_soak", str(folder), str(checkpoint), "once"]
    with (folder / "once.txt").open("ab") as said:
        subprocess.run(command, stdout=said, stderr=said, check=True)


def end_run(child: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """With all it started, Java and workers: the session is its own."""
    if child.poll() is None:
        os.killpg(child.pid, how)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def count_batches(checkpoint: Path) -> int:
    latest = ManifestLog(Store.open(str(checkpoint))).latest() if checkpoint.exists() else None
    return latest.batch_id + 1 if latest is not None else 0


def await_batches(checkpoint: Path, child: subprocess.Popen[bytes], count: int, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while count_batches(checkpoint) < count:
        if child.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"batch {count} of {checkpoint} has not come")
        time.sleep(0.1)


def await_files(folder: Path, checkpoint: Path, child: subprocess.Popen[bytes], files: int) -> None:
    """Until the last file of both streams is in a committed batch; files are read in order."""
    last = [max(pq.read_table(folder / s / f"{files - 1:06d}.parquet").column("t").to_pylist()) for s in "ab"]
    end = time.monotonic() + 60 + files
    while True:
        latest = ManifestLog(Store.open(str(checkpoint))).latest()
        streams = latest.report.get("streams", {}) if latest is not None else {}
        if all(streams.get(s, {}).get("max_value") == value for s, value in zip("ab", last, strict=True)):
            return
        if child.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"not all files were read; see {folder}/run.txt")
        time.sleep(0.5)


def compare_results(one: Path, two: Path, query: str) -> dict[str, int]:
    """How many rows the first has, and how many each has that the other has not, or not as often."""
    import headrace as hr

    first, second = (hr.Session(checkpoint=c).results(query).arrow() for c in (one, two))
    with duckdb.connect() as db:
        db.register("first", first)
        db.register("second", second)
        missing, surplus = (
            db.execute(f"SELECT count(*) FROM (FROM {a} EXCEPT ALL FROM {b})").fetchall()[0][0]
            for a, b in (("second", "first"), ("first", "second"))
        )
    return {"rows": first.num_rows, "missing": missing, "surplus": surplus}


def main(folder: str, checkpoint: str, mode: str) -> None:
    """The run itself, until it is killed or, `once`, until all files are read."""
    import headrace as hr

    once = mode == "once"
    slots = {"slots": 2} if once else {}
    session = hr.Session(checkpoint=checkpoint, master="local[2]", balance="static" if once else "headrace", **slots)
    session.sql(SCRIPT.format(folder=folder, files=20 if once else 1))
    told = Path(folder) / ("once-batches.txt" if once else "batches.txt")

    def tell(report: BatchReport) -> None:
        line = {"batch": report.batch_id, "rows": report.rows, "seconds": report.seconds, "slots": report.slots}
        with told.open("a") as out:
            out.write(json.dumps(line) + "\n")

    session.start(available_now=once, on_batch=tell).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
