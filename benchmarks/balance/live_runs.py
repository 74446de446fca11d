"""Policies on real Spark: the same batches with and without moving, on two executors pinned to a core each.

One Spark session serves all runs of a call, one after the other, so that none pays for starting Java; the first run is a warm-up
and thrown away. Of each batch is kept: its seconds from trigger to commit, the seconds of each slot, the slowest slot over the
mean, how many mini-partitions had moved before it, and which executor each slot ran on.

Windows of 20 seconds that slide by one give slots twenty times the work of a source task, so a batch is mostly its slots.
Spark's own streaming runs on the same executors, with as many state partitions as there are slots, and Flink beside it with two
task slots; both on the same streams with fewer rows in a batch, as Spark copies a row for each of its twenty windows.

The stream `hot` is joined with another: its hot key meets forty rows of the other, of which one in sixteen is a result.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from benchmarks import flink_env
from benchmarks.balance.pinned_cluster import cluster_settings
from benchmarks.balance.skewed_streams import COLUMNS, make_stream
from benchmarks.contenders.batches import Batches
from benchmarks.datasets import linked
from headrace.report.model import BatchReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """
SELECT k, s, count(*) AS n, sum(v) AS total FROM events [RANGE 20 SECONDS SLIDE 1 SECOND] GROUP BY k, s HAVING count(*) > 1
"""
JOIN = """
SELECT l.k, l.s, r.s AS t FROM events l JOIN other r
ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL 2 SECONDS AND l.ts AND (l.s + r.s) % 16 = 0
"""
RARER = 200  # times fewer rows the other stream of a join has
LOADED_FROM = 10  # the batch before which the competing process starts


@dataclass(frozen=True)
class LiveCase:
    """What is run: a stream, a policy, and whether something else wants a core."""

    stream: str
    policy: str
    rows: int = 400_000
    batches: int = 24
    slots: int = 8
    compete: bool = False
    defer: str | None = None
    query: str = QUERY

    @property
    def workload(self) -> str:
        return "competing" if self.compete else self.stream


def open_spark(master: str, **settings: str) -> SparkSession:
    """A session on the pinned cluster, with the settings Headrace gives its own."""
    from headrace.runtime.spark import make_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = make_session(master, **(cluster_settings() | settings))
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:  # type: ignore[union-attr]
        time.sleep(0.1)
    return spark


def run_case(spark: SparkSession, case: LiveCase, folder: Path) -> dict[str, Any]:
    """One run, from an empty checkpoint."""
    import headrace as hr

    checkpoint, joined = folder / "checkpoint", case.stream == "hot"
    shutil.rmtree(checkpoint, ignore_errors=True)
    session = hr.Session(spark, checkpoint, case.slots, balance=case.policy, partition_by="k", defer=case.defer)
    streams = {"events": (case.stream, case.rows)} | ({"other": ("few", case.rows // RARER)} if joined else {})
    for name, (stream, rows) in streams.items():
        inputs = linked(make_stream(folder / "data", stream, rows, case.batches), folder / f"input-{name}")
        session.sql(
            f"""CREATE STREAM {name} (ts TIMESTAMP, k INT, s INT, v INT) PROGRESSING ON ts ORDERED
            FROM 'parquet' OPTIONS (path '{inputs}', maxFilesPerTrigger '1')"""
        )
    session.query("pairs", JOIN if joined else case.query)
    rival, batches = Rival() if case.compete else None, Batches()

    def disturb(report: BatchReport) -> None:
        if rival is not None and report.batch_id == LOADED_FROM - 1:
            rival.start()

    spark.streams.addListener(batches)
    try:
        running = session.start(available_now=True, on_batch=disturb)
        running.wait()
        triggers = {batch["id"]: batch["seconds"] for batch in batches.of_ended(1)}
    finally:
        spark.streams.removeListener(batches)
        if rival is not None:
            rival.stop()
    return {
        "workload": case.workload,
        "policy": case.policy,
        "rows": case.rows,
        "results": running.results("pairs").arrow().num_rows,
        "batches": [
            summarize_batch(BatchReport.from_json(m.report), m.load, triggers.get(m.batch_id))
            for m in running.driver.log.since(0)
        ],
    }


def summarize_batch(report: BatchReport, load: Mapping[str, Any], trigger: float | None) -> dict[str, Any]:
    """What is kept of a batch; executors are numbered."""
    executors = load["by_slot"]["executor"]
    places = {name: number for number, name in enumerate(sorted(set(executors)))}
    return {
        "seconds": round(trigger or report.seconds, 3),
        "slots": [round(s, 3) for s in report.slot_seconds],
        "cpu": [round(one.cpu, 3) for one in report.slot_loads],
        "on": [places[name] for name in executors],
        "imbalance": round(report.imbalance, 3),
        "moves": report.moved,
        "job": round(report.phases.get("job", 0.0), 3),
        "waiting": report.waiting_rows,
        "peak_mb": max(load["by_slot"]["peak_memory"]) >> 20,
    }


_SPIN = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # it does not outlive who started it


class Rival:
    """A process that uses as much of the second core as the system gives it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._process is None:
            self._process = subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", _SPIN])

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def run_cases(
    spark: SparkSession, cases: Sequence[LiveCase], folder: Path, done: Callable[[dict[str, Any]], None]
) -> None:
    """All of them after a short warm-up."""
    first = cases[0]
    run_case(spark, LiveCase("even", "static", first.rows, 6, first.slots), folder)
    for case in cases:
        done(run_case(spark, case, folder))


def run_spark(spark: SparkSession, case: LiveCase, folder: Path) -> dict[str, Any]:
    """The same query by Spark's own streaming, on the same executors; the policy names the state store."""
    provider = {"spark-rocksdb": "RocksDBStateStoreProvider", "spark-default": "HDFSBackedStateStoreProvider"}[case.policy]
    spark.conf.set("spark.sql.shuffle.partitions", str(case.slots))
    spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass", f"org.apache.spark.sql.execution.streaming.state.{provider}"
    )
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "false")
    files = make_stream(folder / "data", case.stream, case.rows, case.batches)
    inputs, work = linked(files, folder / "input"), folder / "spark-run"
    shutil.rmtree(work, ignore_errors=True)
    source = spark.readStream.schema("ts TIMESTAMP, k INT, s INT, v INT").option("maxFilesPerTrigger", 1)
    source.parquet(str(inputs)).withWatermark("ts", "0 seconds").createOrReplaceTempView("events")
    frame = spark.sql(
        "SELECT window.start AS window_start, k, s, count(*) AS n, sum(v) AS total FROM events "
        "GROUP BY window(ts, '20 seconds', '1 second'), k, s HAVING count(*) > 1"
    )
    batches = Batches()
    spark.streams.addListener(batches)
    writer = frame.writeStream.outputMode("append").option("checkpointLocation", str(work / "checkpoint"))
    query = writer.format("parquet").option("path", str(work / "results")).trigger(availableNow=True).start()
    query.awaitTermination()
    found = [{"seconds": round(b["seconds"], 3)} for b in batches.of_ended(1) if b["rows"]]
    spark.streams.removeListener(batches)
    return {"workload": case.workload, "policy": case.policy, "rows": case.rows, "batches": found}


def run_flink(case: LiveCase, folder: Path) -> dict[str, Any]:
    """The same query by Flink on two cores, from CSV, all windows closed at the end; it has no batches."""
    files = make_stream(folder / "data", case.stream, case.rows, case.batches)
    work, target = folder / "flink-run", files[0].parent.with_name(files[0].parent.name + "-csv")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if not target.exists():
        target.mkdir()
        with duckdb.connect() as db:
            for reader in range(2):
                rows = (
                    "SELECT epoch_us(ts) // 1000, k, s, v FROM read_parquet($1, file_row_number = true) "
                    f"WHERE file_row_number % 2 = {reader}"
                )
                db.execute(f"COPY ({rows}) TO '{target}/reader-{reader}.csv' (HEADER false)", [[str(f) for f in files]])
    query = (
        "CREATE VIEW pairs AS SELECT window_start, k, s, count(*) AS n, sum(v) AS total FROM TABLE("
        "HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '20' SECOND)) "
        "GROUP BY window_start, window_end, k, s HAVING count(*) > 1"
    )
    spec = {
        "cores": 2,
        "settings": {"mini_batch": False},
        "columns": COLUMNS,
        "csv": {"events": str(target.absolute())},
        "slack_us": 1_000_000,  # two readers of one stream are not in step to the millisecond
        "work": str(work),
        "queries": {"pairs": query},
        "answer": str(work / "answer.json"),
    }
    (work / "spec.json").write_text(json.dumps(spec))
    script = Path(__file__).parents[1] / "contenders" / "on_flink.py"
    command = [str(flink_env.python()), str(script), str(work / "spec.json")]
    with (work / "log.txt").open("wb") as said:
        subprocess.run(command, env=os.environ | flink_env.variables("4g"), stdout=said, stderr=said, check=True)
    seconds = json.loads((work / "answer.json").read_text())["seconds"]
    whole = {"seconds": round(seconds, 2)}
    return {"workload": case.workload, "policy": "flink", "rows": case.rows * case.batches, "batches": [whole]}
