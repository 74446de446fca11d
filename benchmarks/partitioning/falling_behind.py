"""Overload: what the document's naive plan drops, a run here falls behind by (document 000, sections 6.1 and 6.3).

Files of suspicious flows come at one pace for both plans, half again as many rows a second as the naive plan takes of a
backlog. Nothing is dropped: rows that are not taken yet are in their files. How far a run is behind is the rows that have come
less the rows of committed batches.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import headrace as hr
from benchmarks.partitioning.experiments import EXPERIMENTS, PlannedRun
from benchmarks.partitioning.measure_plan import STREAM, aggregate_in_one_slot
from benchmarks.partitioning.packet_files import make_packets, split_for, write_packets
from benchmarks.partitioning.standalone_cluster import StandaloneCluster
from headrace.report.model import BatchReport
from headrace.runtime.start import PREAGGREGATE

WORKERS = 4
FILE_ROWS = 50_000
OVERLOAD = 1.5
PLANS = ("naive", "full")


def measure_backlogs(seconds: float) -> dict[str, Any]:
    """Backlogs by plan, second by second of what came."""
    with tempfile.TemporaryDirectory(prefix="headrace-behind-") as work:
        count = max(8, int(seconds * 8))
        write_packets(split_for(make_packets(count * FILE_ROWS, 3_000, 3 * count // 12 + 1), WORKERS), Path(work) / "all", count)
        files = sorted((Path(work) / "all").iterdir(), key=lambda f: int(f.stem))
        with StandaloneCluster(Path(work) / "cluster") as cluster:
            for _ in range(WORKERS):
                cluster.add_worker()
            spark = cluster.open_session(WORKERS)
            spark.conf.set(PREAGGREGATE, "false")
            plans = {name: EXPERIMENTS["suspicious"].configurations[name][0] for name in PLANS}
            run_paced(spark, plans["naive"], files[:8], 1e9, Path(work))  # workers of Python start
            taken = run_paced(spark, plans["naive"], files[:40], 1e9, Path(work))
            rate = OVERLOAD * taken["came"] / taken["seconds"]
            most = int(rate * seconds / FILE_ROWS) + 1
            found = {name: run_paced(spark, plan, files[:most], rate, Path(work)) for name, plan in plans.items()}
            spark.stop()
    return {"rate": rate, "seconds": seconds, "runs": found}


def run_paced(spark: SparkSession, planned: PlannedRun, files: list[Path], rate: float, work: Path) -> dict[str, Any]:
    """One run over files that come at so many rows a second, until all are taken. Gives the rows that had come and those that
    were committed at the end of each batch.
    """
    inputs = Path(tempfile.mkdtemp(dir=work))
    session = hr.Session(spark, inputs / "checkpoint", 2 * WORKERS, partition_by=planned.partition_by, balance="static")
    came, points, done = 0, [], 0
    (inputs / "packets").mkdir()
    session.sql(f"{STREAM}'parquet' OPTIONS (path '{inputs / 'packets'}');" + planned.sql)

    def note(report: BatchReport) -> None:
        nonlocal done
        done += report.rows
        points.append((round(time.monotonic() - started, 2), came, done))

    started = time.monotonic()
    with aggregate_in_one_slot(planned):
        run = session.start(on_batch=note)

    def feed() -> None:
        nonlocal came
        for number, file in enumerate(files):
            time.sleep(max(0.0, started + number * FILE_ROWS / rate - time.monotonic()))
            os.link(file, inputs / "packets" / file.name)
            came += FILE_ROWS

    started = time.monotonic()
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    feeder.join()
    while done < len(files) * FILE_ROWS and not run.wait(0.05):  # it raises what ends the run
        pass
    run.stop()
    shutil.rmtree(inputs)
    return {"came": came, "seconds": points[-1][0], "points": points}
