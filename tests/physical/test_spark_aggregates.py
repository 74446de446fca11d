"""Aggregates give what Spark's batch SQL gives, types and values, for every type of argument they take."""

from __future__ import annotations

import random
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from test_spark_parity import _plain, _same

from headrace.runtime.typer import SparkTyper
from headrace.testing import LocalRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "t": "BIGINT",
    "k": "STRING",
    "sh": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "x": "DOUBLE",
    "d": "DECIMAL(12,3)",
    "w": "DECIMAL(38,18)",
    "s": "STRING",
    "num": "STRING",
    "b": "BOOLEAN",
    "ts": "TIMESTAMP",
    "dt": "DATE",
}
AGGREGATES = [
    *(f"{a}({c})" for a in ("count", "min", "max") for c in ("sh", "i", "l", "f", "x", "d", "w", "s", "b", "ts", "dt")),
    *(f"{a}({c})" for a in ("sum", "avg") for c in ("sh", "i", "l", "x", "d", "w", "num")),
    *(f"{a}({c})" for a in ("var_samp", "var_pop", "stddev", "stddev_pop") for c in ("sh", "l", "x", "d", "num")),
    *(f"{a}(DISTINCT {c})" for a in ("count", "sum", "avg") for c in ("i", "l", "d", "x")),
    *(f"{a}({c})" for a in ("bit_or", "bit_and", "bit_xor") for c in ("sh", "i", "l")),
    *(f"{a}({c})" for a in ("first", "last") for c in ("i", "s", "d", "ts")),
    *(f"median({c})" for c in ("sh", "l", "x", "d", "num")),
    *(f"percentile(num, {q})" for q in ("0.25", "array(0.25, 0.5)")),
    *(f"{a}(DISTINCT {c})" for a in ("sum", "avg") for c in ("num", "ts")),
    *(f"percentile({c}, {q})" for c in ("i", "x", "d") for q in ("0.1", "0.99", "array(0.25, 0.5)")),
    *(f"percentile_approx({c}, {q})" for c in ("i", "x", "d") for q in ("0.1", "0.5", "array(0.25, 1.0)")),
    *(f"{a}(DISTINCT {c})" for a in ("var_samp", "var_pop", "stddev", "stddev_pop", "median") for c in ("i", "x", "d", "num")),
    *(f"bit_xor(DISTINCT {c})" for c in ("sh", "i", "l")), "count_if(DISTINCT b)", "count_if(DISTINCT i > 3)",
    *(f"{a}(DISTINCT {c})" for a in ("min", "bit_and", "bit_or") for c in ("sh", "l")), "bool_or(DISTINCT b)",
    *(f"percentile(DISTINCT {c}, {q})" for c in ("i", "x") for q in ("0.1", "array(0.25, 0.5)")),
    *(f"percentile_approx(DISTINCT {c}, {q})" for c in ("i", "x") for q in ("0.5", "array(0.25, 1.0)")),
    *(f"percentile({c}, {q}, abs(sh))" for c in ("i", "x", "d") for q in ("0.1", "array(0.25, 0.99)")),
    "percentile(DISTINCT i, 0.3, u)", "percentile(x, 0.5, 2)", "percentile(i, 0.4, u) FILTER (WHERE b)",
    *(f"percentile_cont({q}) WITHIN GROUP (ORDER BY {c} {o})" for c in ("i", "x") for q in ("0.1", "array(0.25, 1.0)")
      for o in ("DESC", "ASC")),
    *(f"{a}({c}, t, {k})" for a in ("max_by", "min_by") for c in ("i", "s") for k in (1, 3, 200)),
    "max_by(DISTINCT i, t, 2)", "max_by(i, t, 2) FILTER (WHERE b)", "max_by(s, array(sh, t), 2)",
    "mode() WITHIN GROUP (ORDER BY u)", "mode() WITHIN GROUP (ORDER BY sh DESC)", "mode(sh, true)",
    "bool_and(b)", "bool_or(b)", "every(b)", "some(b)", "count_if(b)", "count_if(i > 3)",
    "min_by(s, t)", "max_by(d, t)", "max_by(x, l)", "mode(u)",
    "count(i, s)", "count(DISTINCT i, b)", "count(*)", "count(NULL)",
    "sum(l) FILTER (WHERE b)", "first(i) FILTER (WHERE b)", "avg(d) FILTER (WHERE i > 100)",
    "first(i) IGNORE NULLS", "last(s) IGNORE NULLS",
    "sum(big)", "avg(big)", "sum(-big)",
    *(f"{a}({c})" for a in ("min", "max") for c in ("ar", "st", "nest")),
    *(f"{a}(i, {c})" for a in ("min_by", "max_by") for c in ("array(sh, t)", "named_struct('a', sh, 'b', t)")),
]  # fmt: skip


def _rows(rng: random.Random) -> list[tuple[Any, ...]]:
    rows = []
    for t in range(120):
        n = lambda v: None if rng.random() < 0.15 else v  # noqa: E731
        x = rng.choice([rng.uniform(-1e3, 1e3), rng.randrange(9) / 4])
        rows.append(
            (
                t,
                n(rng.choice("aaabbc")) if t else "only",
                n(rng.randrange(-50, 50)),
                n(rng.randrange(-9, 9)),
                n(rng.randrange(-(10**12), 10**12)),
                n(rng.randrange(-8, 8) / 4),
                n(x),
                n(Decimal(rng.randrange(-(10**9), 10**9)) / 1000),
                n(Decimal(rng.randrange(-(10**20), 10**20)) / 10**18),
                n(rng.choice(["", "a", "B", "é", "zz"])),
                n(rng.choice(["1", " 2.5", "x", "-3e1"])),
                n(rng.random() < 0.6),
                n(datetime(2024, 3, 9, tzinfo=UTC) + timedelta(seconds=rng.randrange(10**6))),
                n(date(2024, 3, 9) + timedelta(days=rng.randrange(99))),
                n(rng.choice([1, 1, 1, 2])),
                n(9223372036854775807 - rng.randrange(9)),
                n([n(rng.randrange(3)) for _ in range(rng.randrange(4))]),
                n({"a": n(rng.randrange(3)), "b": n(rng.choice("xy"))}),
                n(
                    [
                        n([n(rng.randrange(2)) for _ in range(rng.randrange(3))])
                        for _ in range(rng.randrange(3))
                    ]
                ),
            )
        )
    return rows


@pytest.mark.slow
def test_aggregates_equal_batch_sql(spark: SparkSession) -> None:
    """Groups of a hundred, of one and of NULLs only; overflowing sums; texts that are numbers and that are not."""
    columns = {**COLUMNS, "u": "INT", "big": "BIGINT"}
    columns |= {"ar": "ARRAY<INT>", "st": "STRUCT<a: INT, b: STRING>", "nest": "ARRAY<ARRAY<INT>>"}
    rows = _rows(random.Random(3))
    listed = ", ".join(f"{a} AS c{i}" for i, a in enumerate(AGGREGATES))
    declared = ", ".join(f"{c} {t}" for c, t in columns.items())
    run = LocalRun(
        f"CREATE STREAM s ({declared}) PROGRESSING ON t SLACK 9 FROM 'none'; "
        f"CREATE QUERY q AS SELECT k, {listed} FROM s [RANGE 1000 SLIDE 500] GROUP BY k;"
    )
    for at in range(0, len(rows), 50):
        run.push(s=rows[at : at + 50])
    run.flush()
    spark.createDataFrame(rows, declared).createOrReplaceTempView("aggregated")
    answer = spark.sql(f"SELECT k, {by_time(listed)} FROM aggregated GROUP BY k")
    expected = {row["k"]: row for row in answer.collect()}
    found = {row[0]: row for row in run.rows("q", times=True) if row[-2] == 0}
    assert set(found) == set(expected)
    wrong = []
    for i, text in enumerate(["k", *AGGREGATES]):
        for k, row in expected.items():
            ours, theirs = _plain(found[k][i]), _plain(row[i])
            if not (_close(ours, theirs) if isinstance(ours, (float, list)) else _same(ours, theirs)):
                wrong.append(f"{text} of group {k}: {ours!r}, Spark has {theirs!r}")
    assert not wrong, "\n".join(wrong)
    typer = SparkTyper(spark, run.graph, {})
    theirs = pa.ipc.read_schema(pa.py_buffer(typer.result_schema("q")))
    ours = pa.ipc.read_schema(pa.py_buffer(run.program.schemas["q"]))
    differ = [
        (a, m, t)
        for a, m, t in zip(["k", *AGGREGATES], ours.types, theirs.types, strict=False)
        if _kind(m) != _kind(t)
    ]
    assert not differ, "types differ from Spark's"


def _kind(type_: pa.DataType) -> Any:
    """A type without the names and null marks of list elements, which every engine chooses for itself."""
    return [_kind(type_.value_type)] if pa.types.is_list(type_) else type_


def by_time(text: str) -> str:
    """first and last mean the first and last by time here; to Spark, those of the rows as they happen to come."""
    for name, by in (("first", "min_by"), ("last", "max_by")):
        text = re.sub(rf"\b{name}\((\w+)\) IGNORE NULLS", rf"{by}(\1, t) FILTER (WHERE \1 IS NOT NULL)", text)
        text = re.sub(rf"\b{name}\((\w+)\)", rf"{by}(\1, t)", text)
    return text


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_close, a, b))
    return type(a) is type(b) and (a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)))
