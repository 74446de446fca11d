"""Runs that last: a steady load for an hour, and no load at all.

`soak` starts `headrace run` in processes of their own, feeds it files at a steady rate, and samples what could grow: the
memory of the JVM, of the driver and of its workers, open files, the files and bytes of the checkpoint, and the time of a
batch. It prints a straight line through each: its slope per hour, and what that is over the run, in parts of the mean.
Batches of the first fifth, in which Java compiles, are left out of the lines.

`idle` starts the same run, gives it nothing to read, and measures the processor time of all its processes; then it puts
single files there and measures how long it takes until their batch begins.

Old input files are deleted, as whoever runs for months would do; Spark lists the folder before every batch.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import resident_mb, tree

KEPT_FILES = 100  # of the input
QUERIES = """
CREATE STREAM s (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts SLACK 2 SECONDS FROM 'parquet' OPTIONS (path 'input');
CREATE QUERY per_key AS SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE QUERY sliding AS SELECT k % 100 AS g, max(v) AS highest FROM s [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY k % 100;
CREATE QUERY whole AS SELECT count(*) AS ks, sum(n) AS n FROM per_key;
"""
_LINE = re.compile(r"batch=(\d+) rows=(\d+) seconds=([\d.]+)")


@dataclass
class LastingRun:
    """`headrace run` on a folder of input, and the batches it has told of: when, rows, seconds."""

    folder: Path
    process: subprocess.Popen[str]
    batches: list[tuple[float, int, float]] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := _LINE.match(line):
                self.batches.append((time.time(), int(found[2]), float(found[3])))

    def await_batches(self, count: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        while len(self.batches) < count:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the run has not made batch {count}; its files are in {self.folder}")
            time.sleep(0.005)

    def processes(self) -> dict[str, list[int]]:
        """Process numbers by kind."""
        found: dict[str, list[int]] = {"java": [], "driver": [self.process.pid], "workers": []}
        for pid, program in tree(self.process.pid).items():
            if pid != self.process.pid:
                found["java" if program == "java" else "workers"].append(pid)
        return found


@contextmanager
def lasting_run(folder: Path, retain: str | None, grace: float | None) -> Iterator[LastingRun]:
    """A run over `folder`/input, ended in the end."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "input").mkdir(parents=True)
    (folder / "queries.sql").write_text(QUERIES)
    code = "from headrace.cli import main; main()"
    if grace is not None:  # the command has no option for it: readers are to have their time
        code = f"""
from functools import partial
import headrace.session as session
from headrace.cli import main
from headrace.program.limits import Limits
from headrace.state import Retention
session.Session = partial(session.Session, limits=Limits(compaction=Retention(grace={grace})))
main()"""
    command = [sys.executable, "-c", code, "run", str(folder / "queries.sql")]
    command += ["--checkpoint", str(folder / "checkpoint"), *(["--retain", retain] if retain else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=(folder / "errors.txt").open("w"), text=True)
    run = LastingRun(folder, process)
    threading.Thread(target=run.listen, daemon=True).start()
    try:
        yield run
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def put_file(folder: Path, number: int, rows: int) -> None:
    """A file of rows of this moment, shown in one step; old ones go."""
    rng = np.random.default_rng(number)
    now = int(time.time() * 1e6)
    table = pa.table(
        {
            "ts": pa.array(now - rng.integers(0, 1_000_000, rows), pa.timestamp("us", "UTC")),
            "k": pa.array(rng.integers(0, 1000, rows), pa.int32()),
            "v": pa.array(rng.integers(0, 100, rows), pa.int32()),
        }
    )
    hidden = folder / "input" / f".{number:09d}"
    pq.write_table(table, hidden)
    hidden.rename(folder / "input" / f"{number:09d}.parquet")
    (folder / "input" / f"{number - KEPT_FILES:09d}.parquet").unlink(missing_ok=True)


# -- load --------------------
def soak(
    folder: Path, minutes: float, rows: int, files_per_second: float, retain: str, grace: float
) -> list[dict[str, float]]:
    """Samples of a run under steady load, one every ten seconds or so."""
    samples: list[dict[str, float]] = []
    with lasting_run(folder, retain, grace) as run:
        put_file(folder, 0, rows)
        run.await_batches(1, 120)
        started, number = time.time(), 1
        every = max(2.0, min(10.0, minutes * 60 / 60))
        next_sample = started + every
        while time.time() < started + minutes * 60:
            if run.process.poll() is not None:
                raise RuntimeError(f"the run has ended: {(folder / 'errors.txt').read_text()[-2000:]}")
            put_file(folder, number, rows)
            number += 1
            if time.time() >= next_sample:
                samples.append(take_sample(run, started, every))
                next_sample += every
            time.sleep(max(0.0, started + number / files_per_second - time.time()))
    return samples


def take_sample(run: LastingRun, started: float, every: float) -> dict[str, float]:
    now, kinds = time.time(), run.processes()
    recent = [seconds for at, _, seconds in run.batches if at >= now - every]
    sizes = [size for size in map(size_of, files_below(run.checkpoint)) if size is not None]
    found = {"minutes": (now - started) / 60}
    found |= {f"{kind} MB": sum(map(resident_mb, pids)) for kind, pids in kinds.items()}
    found["open files"] = sum(count_open(pid) for pids in kinds.values() for pid in pids)
    found |= {"checkpoint files": len(sizes), "checkpoint MB": sum(sizes) / 1e6}
    found["batch seconds"] = statistics.fmean(recent) if recent else float("nan")
    found["batches"] = len(run.batches)
    return found


def fit_lines(samples: list[dict[str, float]]) -> list[dict[str, float | str]]:
    """For each quantity its mean, slope per hour, and that over the run in parts of the mean."""
    settled = samples[len(samples) // 5 :]
    hours = np.array([sample["minutes"] / 60 for sample in settled])
    lines: list[dict[str, float | str]] = []
    for name in settled[0]:
        if name in ("minutes", "batches"):
            continue
        values = np.array([sample[name] for sample in settled])
        sound = np.isfinite(values)
        slope = float(np.polyfit(hours[sound], values[sound], 1)[0]) if sound.sum() > 1 else float("nan")
        mean = float(values[sound].mean()) if sound.any() else float("nan")
        growth = slope * float(hours[-1] - hours[0]) / mean if mean else 0.0
        lines.append({"name": name, "mean": mean, "per_hour": slope, "over_run": growth})
    return lines


def files_below(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        yield from (os.path.join(root, name) for name in names)


def size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


def count_open(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


# -- no load --------------------
def idle(folder: Path, seconds: float, files: int, there: int = 1) -> dict[str, float]:
    """Processor time of a run without input, in parts of a core, and seconds until a new file's batch begins."""
    with lasting_run(folder, None, None) as run:
        for number in range(there):
            put_file(folder, 2 * KEPT_FILES * number + 1, 100)  # odd numbers, so that none is deleted
        run.await_batches(1, 120)
        time.sleep(20)
        before, started = processor_seconds(run), time.monotonic()
        time.sleep(seconds)
        used = (processor_seconds(run) - before) / (time.monotonic() - started)
        waits = []
        rng = np.random.default_rng(1)
        for number in range(files):
            time.sleep(1 + float(rng.random()))
            known = len(run.batches)
            put_file(folder, 2 * KEPT_FILES * (there + number) + 1, 100)
            shown = time.time()
            run.await_batches(known + 1, 30)
            ended, _, took = run.batches[-1]
            waits.append(max(0.0, ended - took - shown))
    return {"core": used, "median_wait": statistics.median(waits), "longest_wait": max(waits)}


def processor_seconds(run: LastingRun) -> float:
    """Of all processes of a run, so far."""
    total = 0.0
    for pids in run.processes().values():
        for pid in pids:
            try:
                spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            except OSError:
                continue
            total += sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
    return total
