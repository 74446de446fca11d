"""From a registered set to a running one: check the checkpoint, plan, open the sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.errors import CheckpointError, SourceError
from headrace.kernels.scan import Scan
from headrace.logical.plan import Graph, Stream
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.explain import drawing
from headrace.physical.frame import Frame
from headrace.physical.lower import lower
from headrace.physical.scan import scan_of
from headrace.report.model import BatchReport
from headrace.runtime import plan_file
from headrace.runtime.faults import explained, quiet
from headrace.runtime.frame import local_path
from headrace.runtime.loop import Run
from headrace.runtime.sinks import Delivery, make_sink
from headrace.runtime.spark import literal, unliteral
from headrace.runtime.typer import SparkTyper
from headrace.runtime.warm import warm_up
from headrace.sql import parse_query
from headrace.sql.bind import Binder
from headrace.state import CheckpointLock, Manifest, ManifestLog, Store

_FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_CHANGED_BY = (  # settings under which Spark's reader would do other than ours
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.int96TimestampConversion",
)
_NEED_PATH = {"parquet", "csv", "json", "orc", "text", "avro", "delta", "binaryfile", "xml"}


def start(
    spark: SparkSession,
    graph: Graph,
    user: dict[str, UserAggregate],
    frames: dict[str, DataFrame],
    bases: dict[str, Path],
    store: Store,
    slots: int | None,
    trigger: dict[str, Any],
    flush: bool,
    sinks: list[Any],
    on_batch: Callable[[BatchReport], object] | None,
) -> Run:
    """A started run; every check comes before the first batch, and the checkpoint's lock before every check."""
    warm_up(spark)
    lock = CheckpointLock(store)
    lock.acquire()
    try:
        zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
        old = plan_file.load(store)
        log = ManifestLog(store)
        latest = log.latest()
        if old is not None and latest is None:
            plan_file.unbound(store, old, graph)
            old = None
        _has_offsets(store, latest)
        plan = plan_file.reconcile(store, old, graph, zone)
        graph = _as_planned(graph, plan, user)
        typer = SparkTyper(spark, graph, user)
        program, frame = lower(graph, typer, user, plan.generations, plan.retired, time_zone=zone)
        plan_file.settle(store, plan, program, latest)
        plan.graph = drawing(graph, program)
        scans = None if frames else _scans(spark, graph, frame, typer, bases)
        opened = {
            n: frames[n] if n in frames else open_source(spark, s, bases.get(n), files=scans is not None)
            for n, s in graph.streams.items()
        }
        if slots is None:
            slots = latest.slots if latest is not None else max(1, spark.sparkContext.defaultParallelism)
        plan.save(store)
        delivery = Delivery(store, log, [make_sink(s, spark) for s in sinks])
        delivery.catch_up()
        run = Run(
            spark, graph, program, frame, plan, store, lock, slots, delivery, log, scans, on_batch, flush
        )
        run.start(opened, trigger)
        return run
    except BaseException:
        lock.release()
        raise


def _has_offsets(store: Store, latest: Manifest | None) -> None:
    """Spark must know the last batch we know; otherwise it would begin again, and we would skip what it reads."""
    if latest is not None and latest.batch_id >= 0 and not store.exists(f"spark/offsets/{latest.batch_id}"):
        raise CheckpointError(
            f"checkpoint {store.uri}: {store.uri}/spark/offsets has no batch {latest.batch_id}, the last one committed; without "
            "Spark's log nobody knows how far the sources were read. Restore the folder spark, or use a new checkpoint"
        )


def _scans(
    spark: SparkSession, graph: Graph, frame: Frame, typer: SparkTyper, bases: dict[str, Path]
) -> tuple[Scan, ...] | None:
    """How tasks read the files of every stream; None if Spark must read one of them."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    if not hadoop.get("fs.defaultFS").startswith("file:"):
        return None
    if any(spark.conf.get(k) != "false" for k in _CHANGED_BY):
        return None
    found = []
    for name, stream in graph.streams.items():
        path = dict(_options(stream, bases.get(name)))["path"] if stream.format == "parquet" else ""
        folder = os.path.normpath(unliteral(local_path(path)))
        scan, _ = scan_of(stream, frame, typer, folder if os.path.isdir(folder) else "")
        if scan is None:
            return None
        found.append(scan)
    return tuple(found)


def open_source(spark: SparkSession, stream: Stream, base: Path | None, files: bool = False) -> DataFrame:
    """The streaming DataFrame a CREATE STREAM describes: its rows, or only its `files`."""
    options = _options(stream, base)
    schema = _FILES if files else ", ".join(f"`{c}` {t}" for c, t in stream.columns)
    assert stream.format is not None
    try:
        with quiet():
            reader = spark.readStream.format("binaryFile" if files else stream.format)
            return reader.schema(schema).options(**options).load()
    except Exception as e:
        error = explained(e, None)
        raise SourceError(f"stream {stream.name}: {error}") from e


def _options(stream: Stream, base: Path | None) -> dict[str, str]:
    """The source's options, with a path that does not depend on where we are."""
    options = dict(stream.options)
    path = next((options[k] for k in options if k.lower() == "path"), None)
    if (stream.format or "").lower() not in _NEED_PATH:
        return options
    if path is None:
        raise SourceError(f"stream {stream.name}: a {stream.format} source needs OPTIONS (path '…')")
    options = {k: v for k, v in options.items() if k.lower() != "path"} | {"path": path}
    if "://" not in path and not path.startswith("file:"):
        folder = os.path.abspath(base or Path.cwd())
        resolved = os.path.normpath(os.path.join(folder, path))
        if os.path.exists(resolved):
            options["path"] = literal(resolved)
        elif any(c in path for c in "*?[{"):
            options["path"] = os.path.join(literal(folder), path)
        else:
            raise SourceError(f"stream {stream.name}: there is nothing at {resolved}")
    return options


def _as_planned(graph: Graph, plan: plan_file.PlanFile, user: dict[str, UserAggregate]) -> Graph:
    """The graph in the order of the plan, with removed queries that still share state."""
    if (
        not plan.retired
        and list(plan.queries) == list(graph.queries)
        and list(plan.streams) == list(graph.streams)
    ):
        return graph
    binder = Binder(user)
    for name in plan.streams:
        binder.add_stream(graph.streams[name])
    for name, query in plan.queries.items():
        binder.create_query(parse_query(name, query["text"]))
    return binder.graph()
