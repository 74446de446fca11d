"""What the aggregator of a plan receives and works: measured in a run on Spark, or in this process."""

from __future__ import annotations

import functools
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

import headrace as hr
from benchmarks.partitioning.experiments import COLUMNS, PARTS, PlannedRun
from benchmarks.partitioning.packet_files import split_table
from benchmarks.partitioning.standalone_cluster import ShuffleReader
from headrace.coordinator.driver import Driver
from headrace.kernels.sql_pieces import hash_sql
from headrace.program.messages import SlotReport
from headrace.runtime.start import PREAGGREGATE
from headrace.state.result_parquet import read_results
from headrace.testing import LocalRun

STREAM = f"CREATE STREAM tcp ({COLUMNS}) PROGRESSING ON ts SLACK 1 SECOND FROM "


@dataclass
class Measured:
    """Of one plan. `bytes` and `rows` came to the aggregator, which worked for `cpu` seconds; `split` is what came to
    leaves. `shuffled` are bytes as Spark counts them, compressed.
    """

    bytes: int = 0
    rows: int = 0
    cpu: float = 0.0
    split: int = 0
    split_rows: int = 0
    leaf_cpu: float = 0.0
    shuffled: int = 0
    split_shuffled: int = 0
    seconds: float = 0.0
    nodes: dict[str, int] = field(default_factory=dict)  # bytes by table of the aggregator, or by query it collects
    answers: dict[str, Counter[tuple[Any, ...]]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "answers"}


def measure_on_spark(
    spark: SparkSession, folder: Path, runs: Iterable[PlannedRun], workers: int, preaggregate: bool = False
) -> Measured:
    """Run a plan on the session's cluster, over files, with two slots for each worker."""
    found = Measured()
    spark.conf.set(PREAGGREGATE, "true" if preaggregate else "false")
    shuffles = ShuffleReader(spark)
    started = time.perf_counter()
    for planned in runs:
        checkpoint = tempfile.mkdtemp(prefix="headrace-partitioning-")
        slots = 2 * workers if planned.leaves else 1
        session = hr.Session(spark, checkpoint, slots, partition_by=planned.partition_by, balance="static")
        session.sql(f"{STREAM}'parquet' OPTIONS (path '{folder}');" + planned.sql)
        with aggregate_in_one_slot(planned):
            run = session.start(available_now=True, flush=True)
        reports = record_reports(run.driver)
        run.wait()
        count_reports(found, planned, run.driver, reports)
        for level, read in enumerate(shuffles.read_levels(run.driver.plan.levels)):
            if level or not planned.leaves:
                found.shuffled += read
            else:
                found.split_shuffled += read
        shutil.rmtree(checkpoint)
    found.seconds = time.perf_counter() - started
    return found


def measure_here(table: pa.Table, runs: Iterable[PlannedRun], workers: int, preaggregate: bool = False) -> Measured:
    """The same without Spark."""
    found = Measured()
    for planned in runs:
        slots = 2 * workers if planned.leaves else 1
        with aggregate_in_one_slot(planned):
            script, by = f"{STREAM}'memory';" + planned.sql, planned.partition_by
            run = LocalRun(script, slots, 2 * workers, partition_by=by, preaggregate=preaggregate)
        reports = record_reports(run.driver)
        for part in split_table(table, 2):
            rows = [tuple(r.values()) for r in part.to_pylist()]
            run.push(tcp=rows)
        run.flush()
        count_reports(found, planned, run.driver, reports)
        run.close()
    return found


@contextmanager
def aggregate_in_one_slot(planned: PlannedRun) -> Iterator[None]:
    """Where rows are split by numbers of parts: part i in slot i, and all other mini-partitions, so what the aggregator reads,
    in slot 0 (but for the few that have the hash of a part).
    """
    if planned.partition_by not in PARTS:
        yield
        return

    def place(pids: int, slots: int) -> tuple[int, ...]:
        hashed = duckdb.sql(f"SELECT {hash_sql(['i::INTEGER'])} % {pids} FROM range({slots}) AS t(i) ORDER BY i").fetchall()
        slot_of = {pid: part for part, (pid,) in enumerate(hashed)}
        assert len(slot_of) == slots, "two parts have the same hash"
        return tuple(slot_of.get(pid, 0) for pid in range(pids))

    with mock.patch("headrace.coordinator.commit.initial_route", place):
        yield


def record_reports(driver: Driver) -> list[SlotReport]:
    """What slots report from now on, level by level; a batch's own report adds levels up."""
    found: list[SlotReport] = []
    commit: Callable[..., Any] = driver.commit

    @functools.wraps(commit)
    def record(orders: Any, reports: Sequence[SlotReport], *rest: Any) -> Any:
        found.extend(reports)
        return commit(orders, reports, *rest)

    driver.commit = record  # type: ignore[method-assign]
    return found


def count_reports(found: Measured, planned: PlannedRun, driver: Driver, reports: Sequence[SlotReport]) -> None:
    """Add what the aggregator and the leaves of a run received and worked."""
    labels = {node.name: node.label for node in driver.program.nodes}
    for report in reports:
        rows = sum(sum(a.rows) for a in report.activity if report.received.get(a.node))
        if report.level or not planned.leaves:
            for node, size in report.received.items():
                found.nodes[labels[node]] = found.nodes.get(labels[node], 0) + size
            found.bytes += sum(report.received.values())
            found.rows += rows
            found.cpu += report.timings.cpu if report.slot == 0 else 0
        else:
            found.split += sum(report.received.values())
            found.split_rows += rows
            found.leaf_cpu += report.timings.cpu
    for query in driver.graph.queries:
        parts = driver.log.results(query)
        if query in planned.merged:
            started = time.process_time()
            table = pa.concat_tables([read_results(driver.store, p) for p in parts]) if parts else pa.table({})
            found.cpu += time.process_time() - started
            found.nodes[query] = table.nbytes
            found.bytes += table.nbytes
            found.rows += table.num_rows
        if not query.startswith("sub_"):
            found.answers[query] = count_rows([read_results(driver.store, part) for part in parts])


def count_rows(tables: Sequence[pa.Table]) -> Counter[tuple[Any, ...]]:
    """Results as a multiset, to compare configurations."""
    return Counter(row for t in tables for row in zip(*(c.to_pylist() for c in t.columns), strict=True))
