"""Spark Structured Streaming as its manual has it: watermark, window(), append mode, Parquet sink.

A set of queries is that many streaming queries, started together in one session, each with its own
checkpoint and read of the source; Spark has no other way. The settings are in Spark's favour: two cores and
as few state partitions, no interface, no count of RocksDB's keys (which costs a read for every write); the
number of partitions, RocksDB's changelog and the format of a join's state in it are chosen by `benchmarks
tune`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.contenders.batches import Batches

_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
_ROCKSDB = "spark.sql.streaming.stateStore.rocksdb"


def session_settings(spec: dict[str, Any]) -> dict[str, str]:
    settings = {
        "spark.driver.memory": spec["memory"],
        "spark.sql.shuffle.partitions": str(spec["settings"]["partitions"]),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    if spec["contender"] == "spark-rocksdb":
        settings["spark.sql.streaming.stateStore.providerClass"] = f"{_PROVIDERS}.RocksDBStateStoreProvider"
        settings[f"{_ROCKSDB}.changelogCheckpointing.enabled"] = str(spec["settings"]["changelog"]).lower()
        settings[f"{_ROCKSDB}.trackTotalNumberOfRows"] = "false"
        settings["spark.sql.streaming.join.stateFormatVersion"] = str(spec["settings"]["join_format"])
    else:
        settings["spark.sql.streaming.stateStore.providerClass"] = (
            f"{_PROVIDERS}.HDFSBackedStateStoreProvider"
        )
    return settings


def run(spec: dict[str, Any]) -> dict[str, Any]:
    from pyspark.sql import SparkSession

    born = time.monotonic()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{spec['cores']}]").appName("benchmark")
    for key, value in session_settings(spec).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    batches = Batches()
    spark.streams.addListener(batches)
    source = spark.readStream.schema(spec["schema"]).option("maxFilesPerTrigger", spec["files_per_batch"])
    for stream, folder in spec["inputs"].items():
        source.parquet(folder).withWatermark("ts", spec["slack"]).createOrReplaceTempView(stream)
    for statement in spec["queries"].values():
        spark.sql(statement)
    root = Path(spec["work"]).absolute()
    writers = [
        spark.table(name)
        .writeStream.queryName(name)
        .format("parquet")
        .outputMode("append")
        .option("path", str(root / "results" / name))
        .option("checkpointLocation", str(root / "checkpoint" / name))
        .trigger(availableNow=True)
        for name in spec["queries"]
    ]
    started = time.monotonic()
    running = [writer.start() for writer in writers]
    for query in running:
        query.awaitTermination()
    ended = time.monotonic()
    return {
        "clock": (started, ended),
        "startup_seconds": started - born,
        "seconds": ended - started,
        "batches": batches.of_ended(len(running)),
        "results": {
            q: {"format": "parquet", "paths": [str(p) for p in (root / "results" / q).glob("*.parquet")]}
            for q in spec["queries"]
        },
    }


if __name__ == "__main__":
    spec = json.loads(Path(sys.argv[1]).read_text())
    Path(spec["answer"]).write_text(json.dumps(run(spec)))
