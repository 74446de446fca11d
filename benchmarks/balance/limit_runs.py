"""What a slot does not take at once, on Spark: a burst that waits (`--defer`), and mini-partitions that take turns (rotation).

    burst    every eighth batch has six rows in ten on one mini-partition; nothing moves; with and without `--defer`
    memory   windows of two minutes, with some 50 MB of state in each of two slots: with 1 GB of memory, with 64 MB in turns, and
             with 64 MB and no turns, where DuckDB spills by itself, or fails

Peak memory is that of a Python worker since it began, so each run of `memory` has a session of its own, with fresh workers.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.balance.live_runs import LiveCase, open_spark, run_case
from benchmarks.balance.skewed_streams import BURSTS
from headrace.errors import HeadraceError

WIDE = """
SELECT k, s, count(*) AS n, sum(v) AS total FROM events [RANGE 120 SECONDS SLIDE 10 SECONDS] GROUP BY k, s HAVING count(*) > 1
"""
WAITS = "10 seconds"
MEMORY: dict[str, dict[str, str]] = {
    "1 GB": {},
    "64 MB, in turns": {},
    "64 MB, no turns": {"spark.python.daemon.module": "benchmarks.balance.unrotated_daemon"},
}
ROOT = Path(__file__).parents[2]
WARM = 6  # batches before the ones that count


def run_bursts(master: str, folder: Path, rows: int, batches: int, done: Callable[[dict[str, Any]], None]) -> None:
    """Without waiting and with it, after a short warm-up."""
    spark = open_spark(master)
    run_case(spark, LiveCase("even", "static", rows, 4), folder)
    for way, defer in (("at once", None), (f"defer {WAITS}", WAITS)):
        found = run_case(spark, LiveCase("burst", "static", rows, batches, defer=defer), folder)
        done(found | {"way": way})
    spark.stop()


def run_memory(master: str, folder: Path, rows: int, batches: int, done: Callable[[dict[str, Any]], None]) -> None:
    """The same run with much memory and with little, each in a session of its own."""
    for way, settings in MEMORY.items():
        path = {"spark.executorEnv.PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))}
        size = "1g" if way == "1 GB" else "64m"
        spark = open_spark(master, **path, **settings, **{"spark.headrace.slot.memory": size})
        case = LiveCase("even", "static", rows, batches, slots=2, query=WIDE)
        try:
            done(run_case(spark, case, folder) | {"workload": "memory", "way": way})
        except HeadraceError as error:
            done({"workload": "memory", "way": way, "rows": rows, "batches": [], "failed": str(error)[:300]})
        spark.stop()


def measure_limits(run: dict[str, Any]) -> dict[str, Any]:
    """Seconds at the barrier, rows that waited and peak memory, of the batches after the first ones."""
    batches = run["batches"][WARM:]
    if not batches:
        return {"failed": run.get("failed", "no batches")}
    seconds = sorted(b["seconds"] for b in batches)
    bursts = [b["seconds"] for n, b in enumerate(run["batches"]) if n >= WARM and n % BURSTS == BURSTS - 1]
    return {
        "median": statistics.median(seconds),
        "longest": seconds[-1],
        "total": sum(seconds),
        "burst": statistics.fmean(bursts) if bursts else 0.0,
        "waiting": max(b["waiting"] for b in batches),
        "peak_mb": max(b["peak_mb"] for b in batches),
        "results": run["results"],
    }
