"""Chains of aggregations by expressions, run: whatever they are partitioned by, results are those of batch SQL."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.dialect.duck import translate
from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (t BIGINT, x INT, y SMALLINT, k STRING) PROGRESSING ON t SLACK 5 FROM 'memory';"
EXPRESSIONS = [
    "x", "x & 65280", "x & -4096", "x div 60", "x div 90", "x % 1000", "pmod(x, 300)", "floor(x / 70)", "shiftright(x, 3)", "-x", "x + 1",
    "y", "y & 1023", "x + y", "abs(x)", "lower(k)", "k", "substring(k, 1, 2)", "cast(x AS STRING)", "cast(y AS BIGINT)",
]  # fmt: skip
TYPES = {"x": "int", "y": "smallint", "k": "string"}


def make_rows(seed: int, count: int) -> list[tuple[int, int | None, int | None, str | None]]:
    rng = random.Random(seed)
    words = ["Ab", "aB", "abc", "", "ßx", None]
    xs = [rng.randint(-70_000, 70_000) for _ in range(30)] + [None, -(2**31), 2**31 - 1 - 1]
    return [(t // 4, rng.choice(xs), rng.choice([None, *range(-9, 900, 53)]), rng.choice(words)) for t in range(count)]


def expect(rows: list[tuple[int, int | None, int | None, str | None]], key: str, window: int) -> list[tuple[object, ...]]:
    """(key, rows) by window, from scratch."""
    con = duckdb.connect(config={"threads": "1"})
    columns = dict(zip(("t", "x", "y", "k"), zip(*rows, strict=True), strict=True))
    con.register("pushed", pa.table({n: pa.array(v) for n, v in columns.items()}))
    con.sql("CREATE TABLE s AS SELECT t, x::INT AS x, y::SMALLINT AS y, k FROM pushed")
    f = translate(sqlglot.parse_one(key, dialect="spark"), TYPES).sql
    return con.sql(f"SELECT v, n, w FROM (SELECT t // {window} * {window} AS w, {f} AS v, count(*) AS n FROM s GROUP BY ALL)").fetchall()


def sort(rows: list[tuple[object, ...]]) -> list[str]:
    return sorted(repr((r[0], int(r[1]), int(r[2]))) for r in rows)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("keys", "seed"),
    [(["x & 65280", "x div 60"], 1), (["pmod(x, 300)", "x + y", "lower(k)"], 2)],
)
def test_aggregations_of_expressions(keys: list[str], seed: int) -> None:
    """Over a query by attributes, in its window and in windows of their own, through batches and slots."""
    compare_with_batch(keys, seed, 200)


@pytest.mark.slow
@given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=3, unique=True), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_aggregations_of_any_expressions(keys: list[str], seed: int) -> None:
    """The same for expressions of all kinds, in all combinations."""
    compare_with_batch(keys, seed, 500)


def compare_with_batch(keys: list[str], seed: int, count: int) -> None:
    base = "CREATE QUERY base AS SELECT x, y, k, count(*) AS n FROM s [RANGE 10] GROUP BY x, y, k;"
    queries = [
        f"CREATE QUERY same{i} AS SELECT {e} AS v, sum(n) AS m FROM base GROUP BY {e};\n"
        f"CREATE QUERY own{i} AS SELECT {e} AS v, sum(n) AS m FROM base [RANGE 40] GROUP BY {e};"
        for i, e in enumerate(keys)
    ]
    rows = make_rows(seed, count)
    run = LocalRun("\n".join([STREAM, base, *queries]), slots=3, tasks=2)
    for start in range(0, len(rows), 125):
        run.push(s=rows[start : start + 125])
    run.flush()
    for i, key in enumerate(keys):
        for name, window in ((f"same{i}", 10), (f"own{i}", 40)):
            assert sort([r[:3] for r in run.rows(name)]) == sort(expect(rows, key, window)), (key, name)
    run.close()


@pytest.mark.parametrize("window", ["", " [RANGE 40]"])
def test_an_expression_of_a_key_needs_one_exchange(window: str) -> None:
    """A network of addresses is computed in the slots where the addresses are."""
    text = f"""{STREAM}
      CREATE QUERY hosts AS SELECT x, count(*) AS n FROM s [RANGE 10] GROUP BY x;
      CREATE QUERY nets AS SELECT x & 65280 AS net, sum(n) AS n FROM hosts{window} GROUP BY x & 65280;"""
    run = LocalRun(text, partition_by="x & 65280")  # unmeasured, a mask that may have one value is not chosen
    assert run.plan.levels == 1
    assert [e.by for e in run.plan.exchanges] == [("x & 65280",)]
    run.close()


@pytest.mark.parametrize(
    ("key", "by"),
    [
        ("abs(x - 5)", "abs(`x` - 5)"),
        ("abs(-x)", "abs(-`x`)"),
        ("CAST(CAST(x AS BIGINT) * y AS STRING)", "CAST(CAST(`x` AS BIGINT) * `y` AS STRING)"),
        ("lower(CAST(y AS STRING))", "lower(CAST(`y` AS STRING))"),
    ],
)
def test_a_function_of_what_loses_nothing_needs_one_exchange(key: str, by: str) -> None:
    """State is partitioned by the value of the expression as it is written, not by that of what tells the same rows apart."""
    text = f"""{STREAM}
      CREATE QUERY base AS SELECT x, y, count(*) AS n FROM s [RANGE 10] GROUP BY x, y;
      CREATE QUERY same AS SELECT {key} AS v, sum(n) AS m FROM base GROUP BY {key};
      CREATE QUERY own AS SELECT {key} AS v, sum(n) AS m FROM base [RANGE 40] GROUP BY {key};"""
    run = LocalRun(text, slots=3)
    assert run.plan.levels == 1
    assert [e.by[0].lower() for e in run.plan.exchanges] == [by.replace("`", "").lower()]
    rows = make_rows(5, 160)
    run.push(s=rows[:80])
    run.rescale(2)
    run.push(s=rows[80:])
    run.flush()
    for name, window in (("same", 10), ("own", 40)):
        assert sort([r[:3] for r in run.rows(name)]) == sort(expect(rows, key, window))
    run.close()


@pytest.mark.parametrize(
    ("key", "above"), [("x + 7", "abs(d)"), ("CAST(y AS STRING)", "lower(d)"), ("x >> 4", "abs(d)"), ("x & 65280", "d % 7 + d")]
)
def test_a_function_of_a_key_that_is_an_expression(key: str, above: str) -> None:
    """What a query gives is a key as it is written: a function of it stays in its slots."""
    text = f"""{STREAM}
      CREATE QUERY base AS SELECT {key} AS d, count(*) AS n FROM s [RANGE 10] GROUP BY {key};
      CREATE QUERY up AS SELECT {above} AS v, sum(n) AS m FROM base GROUP BY {above};"""
    run = LocalRun(text, slots=3)
    assert run.plan.levels == 1
    rows = make_rows(6, 120)
    run.push(s=rows)
    run.flush()
    written = above.replace("d ", f"({key}) ").replace("+ d", f"+ ({key})").replace("(d)", f"({key})")
    assert sort([r[:3] for r in run.rows("up")]) == sort(expect(rows, written, 10))
    run.close()
