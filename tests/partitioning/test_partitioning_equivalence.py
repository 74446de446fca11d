"""Whatever a random set is partitioned by, results are the same: as chosen, as forced, all in one place (the partition-agnostic
plan), and plain batch SQL, of DuckDB and of Spark.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (t BIGINT, a INT, b INT, c INT, v INT) PROGRESSING ON t SLACK 3 FROM 'memory';"
KEYS = {"a": "a", "b": "b", "c": "c", "a & 6": "a & 6", "b DIV 2": "b // 2", "c % 3": "c % 3"}  # Spark's, DuckDB's
FORCED = ["a", "b", "c", "a, b", "b, c", "a & 6", "b DIV 2, c", "a & 4", "c % 3", "a, b, c", "v"]
Row = tuple[int, int | None, int | None, int | None, int | None]


@dataclass(frozen=True)
class RandomSet:
    """The same queries for Headrace and for DuckDB."""

    ours: str
    views: dict[str, str]


@st.composite
def random_sets(draw: st.DrawFn, most: int = 2) -> RandomSet:
    """Aggregations of the stream, aggregations of their results, joins of results with those of the window before, and a join
    of the stream with itself.
    """
    ours: list[str] = []
    views: dict[str, str] = {}

    def add(name: str, text: str, view: str) -> None:
        ours.append(f"CREATE QUERY {name} AS {text};")
        views[name] = view

    for number in range(draw(st.integers(1, most))):
        keys = draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3, unique=True))
        where = draw(st.sampled_from(["", " WHERE v > 2"]))
        having = draw(st.sampled_from(["", " HAVING count(*) > 1"]))
        listed = ", ".join(f"{k} AS k{i}" for i, k in enumerate(keys))
        same = ", ".join(f"{KEYS[k]} AS k{i}" for i, k in enumerate(keys))
        grouped = ", ".join(KEYS[k] for k in keys)
        what = "count(*) AS n, sum(v) AS m"
        bounds = "t // 10 * 10 AS window_start, t // 10 * 10 + 10 AS window_end"
        name = f"q{number}"
        add(
            name,
            f"SELECT {listed}, {what} FROM s [RANGE 10]{where} GROUP BY {', '.join(keys)}{having}",
            f"SELECT {same}, {what}, {bounds} FROM s{where} GROUP BY {grouped}, t // 10{having}",
        )
        fewer = draw(st.lists(st.integers(0, len(keys) - 1), max_size=2, unique=True))
        if fewer:
            by = ", ".join(f"k{i}" for i in fewer)
            text = f"SELECT {by}, max(n) AS n, sum(n) AS m"
            view = f"{text}, window_start, window_end FROM {name} GROUP BY {by}, window_start, window_end"
            add(f"over{number}", f"{text} FROM {name} GROUP BY {by}", view)
        if draw(st.booleans()):
            source, on = (f"over{number}", fewer) if fewer and draw(st.booleans()) else (name, range(len(keys)))
            equal = " AND ".join(f"x.k{i} = y.k{i}" for i in on)
            shown = ", ".join(f"x.k{i}" for i in on)
            joined = (
                f"SELECT {shown}, x.window_end AS at, x.n, y.n AS before FROM {source} AS x JOIN {source} AS y "
                f"ON {equal} AND x.window_end = y.window_end + 10"
            )
            add(f"pairs{number}", joined, joined)
    if draw(st.booleans()):
        on = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True))
        equal = " AND ".join(f"x.{k} = y.{k}" for k in on)
        near = f"SELECT x.t, y.t AS u, x.{on[0]} FROM s AS x JOIN s AS y ON {equal} AND y.t > x.t AND y.t <= x.t + 2"
        add("near", near, near)
    return RandomSet("\n".join(ours), views)


def make_rows(seed: int, count: int) -> list[Row]:
    """Up to 3 out of order, with NULLs."""
    rng = random.Random(seed)

    def some(most: int) -> int | None:
        return None if rng.random() < 0.05 else rng.randrange(most)

    return [(3 + i // 4 - rng.randrange(3), some(8), some(5), some(6), some(9)) for i in range(count)]


def answer_in_batch(queries: RandomSet, rows: Sequence[Row]) -> dict[str, Counter[tuple[Any, ...]]]:
    with duckdb.connect(config={"threads": "1"}) as con:
        columns = zip(*rows, strict=True)
        con.register("pushed", pa.table({n: pa.array(v, pa.int32()) for n, v in zip("tabcv", columns, strict=True)}))
        con.execute("CREATE TABLE s AS SELECT t::BIGINT AS t, * EXCLUDE t FROM pushed")
        for name, view in queries.views.items():
            con.execute(f"CREATE TABLE {name} AS {view}")
        return {name: Counter(con.sql(f"FROM {name}").fetchall()) for name in queries.views}


def answer_in_spark(spark: SparkSession, queries: RandomSet, rows: Sequence[Row]) -> dict[str, Counter[tuple[Any, ...]]]:
    """The same by batch SQL of Spark: the queries as they are for DuckDB, with Spark's spelling of integer division."""
    schema = "t BIGINT, a INT, b INT, c INT, v INT"
    spark.createDataFrame(list(rows), schema).coalesce(1).createOrReplaceTempView("s")
    found = {}
    for name, view in queries.views.items():
        table = spark.sql(view.replace("//", "DIV")).toArrow()
        spark.createDataFrame(table).coalesce(1).createOrReplaceTempView(name)  # computed once, for those that read it
        found[name] = Counter(tuple(row.values()) for row in table.to_pylist())
    return found


def answer_in_batches(
    queries: RandomSet, rows: Sequence[Row], slots: int, partition_by: str | None = None, preaggregate: bool = True
) -> dict[str, Counter[tuple[Any, ...]]]:
    run = LocalRun(STREAM + queries.ours, slots=slots, partition_by=partition_by, preaggregate=preaggregate)
    half = len(rows) // 2
    run.push(s=rows[:half])
    run.push(s=rows[half:])
    run.flush()
    assert not run.late("s")
    found = {name: Counter(run.rows(name)) for name in queries.views}
    run.close()
    return found


def compare(
    queries: RandomSet, seed: int, count: int, forced: Sequence[str], spark: SparkSession | None = None
) -> None:
    rows = make_rows(seed, count)
    expected = answer_in_batch(queries, rows)
    if spark is not None:
        assert answer_in_spark(spark, queries, rows) == expected, "Spark's batch SQL"
    assert answer_in_batches(queries, rows, 3) == expected, "as chosen"
    assert answer_in_batches(queries, rows, 1, preaggregate=False) == expected, "all in one slot"
    assert answer_in_batches(queries, rows, 3, "") == expected, "all in one mini-partition: the partition-agnostic plan"
    for by in forced:
        assert answer_in_batches(queries, rows, 3, by, seed % 2 == 0) == expected, by


@given(random_sets(), st.integers(0, 10**6), st.sampled_from(FORCED))
@settings(max_examples=3, deadline=None)
def test_every_partitioning_gives_the_same(queries: RandomSet, seed: int, forced: str) -> None:
    compare(queries, seed, 80, [forced])


ONE_SESSION = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(random_sets(1), st.integers(0, 10**6))
@settings(ONE_SESSION, max_examples=2)
def test_every_partitioning_gives_what_spark_gives(spark: SparkSession, queries: RandomSet, seed: int) -> None:
    """The transformed plan, the agnostic one, and Spark's batch SQL over all rows."""
    compare(queries, seed, 80, [], spark)


@pytest.mark.slow
@given(random_sets(3), st.integers(0, 10**6), st.lists(st.sampled_from(FORCED), min_size=2, max_size=3, unique=True))
@settings(ONE_SESSION, max_examples=25)
def test_every_partitioning_of_larger_sets_gives_the_same(
    spark: SparkSession, queries: RandomSet, seed: int, forced: list[str]
) -> None:
    compare(queries, seed, 400, forced, spark)
