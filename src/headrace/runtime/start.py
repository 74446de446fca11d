"""From a registered set to a running one: check the checkpoint, plan, open the sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.coordinator.delivery import Delivery
from headrace.coordinator.driver import BALANCE, open_driver
from headrace.coordinator.slot_follower import SlotFollower
from headrace.coordinator.table_versions import BROADCAST
from headrace.errors import CheckpointError, OptionError
from headrace.kernels.scan import Scan
from headrace.logical.graph import Graph, Stream
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import Plan
from headrace.physical.lower_scan import lower_scan
from headrace.report.model import BatchReport
from headrace.runtime.file_schemas import FileSchemas
from headrace.runtime.loop import Run, read_interval
from headrace.runtime.open_source import open_source
from headrace.runtime.read_static import StaticReader
from headrace.runtime.slot_memory import find_slot_memory, read_size
from headrace.runtime.spark_capacity import read_capacity
from headrace.runtime.typer import SparkTyper
from headrace.runtime.warm import warm_up
from headrace.sinks.sinks import make_sink
from headrace.sources.offset_log import drop_torn_logs
from headrace.sources.read_bounds import BoundsReader
from headrace.sources.source_log import trim_source_logs
from headrace.sources.source_path import (
    find_flat_streams,
    list_folders,
    local_path,
    resolve_options,
    unliteral,
)
from headrace.state import Manifest, Retention, Store
from headrace.state.slot_requests import AUTO, forget_requests

TABLE_BROADCAST = "spark.headrace.table.broadcast"
PREAGGREGATE = "spark.headrace.source.preaggregate"
_CHANGED_BY = (  # settings under which Spark's reader would do other than ours
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.int96TimestampConversion",
)


def start(
    spark: SparkSession,
    graph: Graph,
    user: dict[str, UserAggregate],
    frames: dict[str, DataFrame],
    bases: dict[str, Path],
    store: Store,
    slots: int | str | None,
    trigger: dict[str, Any],
    flush: bool,
    sinks: list[Any],
    on_batch: Callable[[BatchReport], object] | None,
    bounds: dict[str, Callable[[], Any]] | None = None,
    retain: float | None = None,
    tables: dict[str, Any] | None = None,
    balance: str | None = None,
    partition_by: str | None = None,
    absorb: int | None = None,
    share: str | None = None,
) -> Run:
    """A started run; every check comes before the first batch, and the checkpoint's lock before every check."""
    warm_up(spark)
    typers: list[SparkTyper] = []

    def make_typer(ordered: Graph) -> SparkTyper:
        typers.append(SparkTyper(spark, ordered, user))
        return typers[0]

    driver = open_driver(
        store,
        graph,
        make_typer,
        user,
        None if isinstance(slots, str) else slots,
        max(1, spark.sparkContext.defaultParallelism),
        spark.conf.get("spark.sql.session.timeZone") or "UTC",
        _spark_must_read(spark),
        _find_folders(graph, bases),
        lambda latest: _check_offsets(store, latest),
        balance or BALANCE,
        partition_by,
        flat=find_flat_streams(graph, bases),
        share=share,
    )
    try:
        plan = driver.plan
        files = all(reading.in_tasks for reading in plan.readings.values())
        opened = {
            n: frames[n] if n in frames else open_source(spark, s, bases.get(n), files)
            for n, s in plan.graph.streams.items()
        }
        streams = list(plan.graph.streams.values())
        scans = tuple(_scan(plan, s, typers[0]) for s in streams) if files else None
        own = tuple(_scan(plan, s, typers[0], by_folder=True) for s in streams) if plan.by_folder else None
        if own is not None and not files:
            raise _refuse_spark_reader(store, plan)
        driver.memory = find_slot_memory(spark)
        if slots == AUTO:
            forget_requests(store)
            driver.follower = SlotFollower(lambda: read_capacity(spark), driver.program.pids, read_interval(trigger))
        driver.preaggregate = read_preaggregation(spark)
        if absorb is not None:
            driver.absorb_bursts(absorb)
        driver.retention = Retention(retain=retain)
        driver.file.save(store)
        drop_torn_logs(store, driver.manifest.batch_id)
        trim_source_logs(store, [dict(stream.options) for stream in plan.graph.streams.values()])
        driver.delivery = Delivery(store, driver.log, [make_sink(s, spark) for s in sinks])
        driver.delivery.catch_up()
        driver.read_bounds = BoundsReader(graph, bounds or {}, bases, lambda q: [tuple(r) for r in spark.sql(q).collect()]).read
        driver.use_tables(StaticReader(spark, tables or {}, bases), read_broadcast_limit(spark))
        driver.listen()
        run = Run(spark, driver, scans, on_batch, flush, FileSchemas(spark, plan.graph, opened, bases), own)
        run.start(opened, trigger, list_folders(plan.graph, bases))
        if "availableNow" not in trigger:  # a run that goes on: results expire even if no batch comes
            driver.compact()
        return run
    except BaseException:
        driver.close()
        raise


def read_broadcast_limit(spark: SparkSession) -> int:
    """Bytes of the largest static table that every slot holds; larger ones are divided by key."""
    said = spark.conf.get(TABLE_BROADCAST, None)
    return BROADCAST if said is None else read_size(said, TABLE_BROADCAST)


def read_preaggregation(spark: SparkSession) -> bool:
    """Whether source tasks send a partial row for each group; else one for each row, to measure what that saves."""
    said = (spark.conf.get(PREAGGREGATE, "true") or "").strip().lower()
    if said not in ("true", "false"):
        raise OptionError(f"{PREAGGREGATE}: expected true or false, got {said!r}")
    return said == "true"


def _check_offsets(store: Store, latest: Manifest | None) -> None:
    """Spark must know the last batch we know; otherwise it would begin again, and we would skip what it reads."""
    if latest is not None and latest.batch_id >= 0 and not store.exists(f"spark/offsets/{latest.batch_id}"):
        raise CheckpointError(
            f"checkpoint {store.uri}: {store.uri}/spark/offsets has no batch {latest.batch_id}, the last one committed; without "
            "Spark's log nobody knows how far the sources were read. Restore the folder spark, or use a new checkpoint"
        )


def _spark_must_read(spark: SparkSession) -> str:
    """Why this session's own reader must read all files, if it must."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    if not hadoop.get("fs.defaultFS").startswith("file:"):
        return "the session's file system is not local"
    changed = next((k for k in _CHANGED_BY if spark.conf.get(k) != "false"), None)
    return f"the session sets {changed}" if changed else ""


def _find_folders(graph: Graph, bases: dict[str, Path]) -> dict[str, str]:
    """The folders of streams of Parquet files, where a path names one."""
    found = {}
    for name, stream in graph.streams.items():
        if stream.format == "parquet":
            folder = os.path.normpath(unliteral(local_path(resolve_options(stream, bases.get(name))["path"])))
            if os.path.isdir(folder):
                found[name] = folder
    return found


def _scan(plan: Plan, stream: Stream, typer: SparkTyper, by_folder: bool = False) -> Scan:
    """How tasks read the files of a stream."""
    folder = plan.settings.folders.get(stream.name, "")
    return lower_scan(plan, stream, typer.result_schema(stream.name), folder, by_folder)


def _refuse_spark_reader(store: Store, plan: Plan) -> CheckpointError:
    """State by folder can only be continued by tasks that read the folders."""
    name, reading = next((n, r) for n, r in plan.readings.items() if not r.in_tasks)
    return CheckpointError(
        f"checkpoint {store.uri} keeps state by the folders of {', '.join(sorted(plan.settings.by_folder or ()))}, which tasks "
        f"read by themselves; now Spark must read {name}: {reading.reason}. Leave that out, or use a new checkpoint"
    )
