"""From a registered set to a running one: check the checkpoint, plan, open the sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.coordinator.driver import open_driver
from headrace.coordinator.epoch import reads_in_tasks
from headrace.coordinator.run_options import Engine, RunOptions
from headrace.errors import CheckpointError, OptionError
from headrace.kernels.scan import Scan
from headrace.logical.graph import Graph, Stream
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import Plan
from headrace.physical.lower_scan import lower_scan
from headrace.report.model import BatchReport
from headrace.runtime.file_schemas import FileSchemas
from headrace.runtime.loop import Run, Scans
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
from headrace.sql.check_functions import SAFE_ONLY, OpenFunctions
from headrace.state import Manifest, Store

TABLE_BROADCAST = "spark.headrace.table.broadcast"
PREAGGREGATE = "spark.headrace.source.preaggregate"
_CHANGED_BY = (  # settings under which Spark's reader would do other than ours
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.int96TimestampConversion",
)


@dataclass(frozen=True)
class RegisteredSet:
    """What a session has registered: the set, and what only this program can give it."""

    graph: Graph
    user: Mapping[str, UserAggregate] = field(default_factory=dict)
    frames: Mapping[str, DataFrame] = field(default_factory=dict)  # streams that are DataFrames
    bases: Mapping[str, Path] = field(default_factory=dict)  # of relative paths, by stream and table
    bounds: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # told beside streams
    tables: Mapping[str, Any] = field(default_factory=dict)  # that are DataFrames, or functions that give one
    opened: OpenFunctions = SAFE_ONLY  # functions that texts may call


def start(
    spark: SparkSession,
    queries: RegisteredSet,
    store: Store,
    options: RunOptions,
    sinks: Sequence[Any] = (),
    on_batch: Callable[[BatchReport], object] | None = None,
) -> Run:
    """A started run; every check comes before the first batch, and the checkpoint's lock before every check."""
    warm_up(spark)
    options = replace(
        options,
        preaggregate=read_preaggregation(spark),
        limits=replace(options.limits, broadcast_bytes=read_broadcast_limit(spark, options.limits.broadcast_bytes)),
    )
    typers: list[SparkTyper] = []

    def make_typer(ordered: Graph) -> SparkTyper:
        typers.append(SparkTyper(spark, ordered, queries.user))
        return typers[-1]

    driver = open_driver(store, queries.graph, _make_engine(spark, queries, store, make_typer, sinks), options)
    try:
        plan, bases = driver.plan, queries.bases
        files = reads_in_tasks(plan)
        opened = {
            n: queries.frames[n] if n in queries.frames else open_source(spark, s, bases.get(n), files)
            for n, s in plan.graph.streams.items()
        }
        if plan.by_folder and not files:
            raise _refuse_spark_reader(store, plan)
        drop_torn_logs(store, driver.manifest.batch_id)
        trim_source_logs(store, [dict(stream.options) for stream in plan.graph.streams.values()])
        driver.begin()
        make_scans = lambda plan: _make_scans(plan, typers[-1])  # noqa: E731
        run = Run(spark, driver, make_scans, FileSchemas(spark, plan.graph, opened, bases), on_batch)
        run.start(opened, list_folders(plan.graph, bases))
        if not options.trigger.available_now:  # a run that goes on: results expire even if no batch comes
            driver.compact()
        return run
    except BaseException:
        driver.close()
        raise


def _make_engine(
    spark: SparkSession,
    queries: RegisteredSet,
    store: Store,
    make_typer: Callable[[Graph], SparkTyper],
    sinks: Sequence[Any],
) -> Engine:
    """What Spark gives a run."""
    ask = lambda q: [tuple(r) for r in spark.sql(q).collect()]  # noqa: E731
    return Engine(
        make_typer,
        queries.user,
        queries.opened,
        spark.conf.get("spark.sql.session.timeZone") or "UTC",
        max(1, spark.sparkContext.defaultParallelism),
        _spark_must_read(spark),
        _find_folders(queries.graph, queries.bases),
        flat=find_flat_streams(queries.graph, queries.bases),
        memory=find_slot_memory(spark),
        read_bounds=BoundsReader(queries.graph, queries.bounds, queries.bases, ask).read,
        read_capacity=lambda: read_capacity(spark),
        tables=StaticReader(spark, queries.tables, queries.bases),
        sinks=tuple(make_sink(s, spark) for s in sinks),
        check=lambda latest: _check_offsets(store, latest),
    )


def read_broadcast_limit(spark: SparkSession, usual: int) -> int:
    """Bytes of the largest static table that every slot holds; larger ones are divided by key."""
    said = spark.conf.get(TABLE_BROADCAST, None)
    return usual if said is None else read_size(said, TABLE_BROADCAST)


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


def _find_folders(graph: Graph, bases: Mapping[str, Path]) -> dict[str, str]:
    """The folders of streams of Parquet files, where a path names one."""
    found = {}
    for name, stream in graph.streams.items():
        if stream.format == "parquet":
            folder = os.path.normpath(unliteral(local_path(resolve_options(stream, bases.get(name))["path"])))
            if os.path.isdir(folder):
                found[name] = folder
    return found


def _make_scans(plan: Plan, typer: SparkTyper) -> Scans:
    """How tasks read the files of a set, if they do."""
    streams = list(plan.graph.streams.values())
    scans = tuple(_scan(plan, s, typer) for s in streams) if reads_in_tasks(plan) else None
    own = tuple(_scan(plan, s, typer, by_folder=True) for s in streams) if plan.by_folder else None
    return Scans(scans, own)


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
