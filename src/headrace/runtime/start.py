"""From a registered set to a running one: check the checkpoint, plan, open the sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.errors import SourceError
from headrace.logical.plan import Graph, Stream
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.explain import drawing
from headrace.physical.lower import lower
from headrace.report.model import BatchReport
from headrace.runtime import plan_file
from headrace.runtime.faults import explained
from headrace.runtime.loop import Run
from headrace.runtime.sinks import Delivery, make_sink
from headrace.runtime.typer import SparkTyper
from headrace.sql import parse_query
from headrace.sql.bind import Binder
from headrace.state import CheckpointLock, ManifestLog, Store

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
    lock = CheckpointLock(store)
    lock.acquire()
    try:
        old = plan_file.load(store)
        plan = plan_file.reconcile(store, old, graph)
        graph = _with_retired(graph, plan, user)
        log = ManifestLog(store)
        latest = log.latest()
        zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
        program, frame = lower(graph, SparkTyper(spark, graph, user), user, plan.generations, plan.retired, time_zone=zone)
        plan_file.settle(plan, program, latest if old is not None else None)
        plan.graph = drawing(graph, program)
        opened = {name: frames.get(name) or open_source(spark, s, bases.get(name)) for name, s in graph.streams.items()}
        if slots is None:
            slots = latest.slots if latest is not None else max(1, spark.sparkContext.defaultParallelism)
        plan.save(store)
        delivery = Delivery(store, log, [make_sink(s, spark) for s in sinks])
        delivery.catch_up()
        run = Run(spark, graph, program, frame, plan, store, lock, slots, delivery, log, on_batch, flush)
        run.start(opened, trigger)
        return run
    except BaseException:
        lock.release()
        raise


def open_source(spark: SparkSession, stream: Stream, base: Path | None) -> DataFrame:
    """The streaming DataFrame a CREATE STREAM describes."""
    options = dict(stream.options)
    path = next((options[k] for k in options if k.lower() == "path"), None)
    assert stream.format is not None
    if stream.format.lower() in _NEED_PATH:
        if path is None:
            raise SourceError(f"stream {stream.name}: a {stream.format} source needs OPTIONS (path '…')")
        if "://" not in path:
            resolved = (base or Path.cwd()) / path
            if not any(c in path for c in "*?[{") and not resolved.exists():
                raise SourceError(f"stream {stream.name}: there is nothing at {resolved}")
            options = {k: v for k, v in options.items() if k.lower() != "path"} | {"path": str(resolved)}
    schema = ", ".join(f"`{c}` {t}" for c, t in stream.columns)
    try:
        return spark.readStream.format(stream.format).schema(schema).options(**options).load()
    except Exception as e:
        error = explained(e, None)
        raise SourceError(f"stream {stream.name}: {error}") from e


def _with_retired(graph: Graph, plan: plan_file.PlanFile, user: dict[str, UserAggregate]) -> Graph:
    """The graph in the order of registration, with removed queries that still share state."""
    if not plan.retired and list(plan.queries) == list(graph.queries):
        return graph
    binder = Binder(user)
    for stream in graph.streams.values():
        binder.add_stream(stream)
    for name, query in plan.queries.items():
        binder.create_query(parse_query(name, query["text"]))
    return binder.graph()
