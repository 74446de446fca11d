"""Numbers at their limits: one bad value must not stop a query set, and gives what Spark gives."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from headrace.testing import LocalRun

LARGEST = (1 << 63) - 1


def results(column: str, values: list[Any], select: str, split: bool = True) -> tuple[Any, ...]:
    """The single result over values of one column, in one batch each."""
    run = LocalRun(
        f"CREATE STREAM s (t BIGINT, v {column}) PROGRESSING ON t SLACK 0 FROM 'none'; "
        f"CREATE QUERY q AS SELECT {select} FROM s [RANGE 100 SLIDE 50];"
    )
    rows = [(i % 50, v) for i, v in enumerate(values)]
    for push in [[r] for r in rows] if split else [rows]:
        run.push(s=push)
    run.flush()
    (row,) = [r for r in run.rows("q") if r[-2] == 0]
    return row[:-2]


@pytest.mark.parametrize("split", [True, False])
def test_sums_of_integers_wrap(split: bool) -> None:
    """A sum that leaves 64 bits wraps, however it is split; an average does not."""
    values = [LARGEST, LARGEST, 5, None]
    found = results("BIGINT", values, "sum(v) AS a, avg(v) AS b, sum(v) + 1 AS c, -sum(v) AS d", split)
    assert found[0] == 3
    assert found[1] == pytest.approx((2 * LARGEST + 5) / 3)
    assert found[2:] == (4, -3)


@pytest.mark.parametrize("split", [True, False])
def test_sums_of_decimals_that_do_not_fit_are_null(split: bool) -> None:
    """A sum of more than 38 digits is NULL, one of 38 is there, and neither stops the query set."""
    large, small = Decimal(10) ** 37 * 6, Decimal(7)
    assert results("DECIMAL(38,0)", [large, large, small], "sum(v) AS a, count(*) AS n", split) == (None, 3)
    assert results("DECIMAL(38,0)", [large], "sum(v) AS a, max(v) AS b", split) == (large, large)
    assert results("DECIMAL(38,0)", [small, None, small], "sum(v) AS a", split) == (Decimal(14),)
    assert results("DECIMAL(12,2)", [None], "sum(v) AS a, avg(v) AS b", split) == (None, None)


def test_averages_of_decimals_are_exact() -> None:
    """Halves go away from zero, and digits a double does not have are there."""
    values = [Decimal("0.01"), Decimal("0.02"), Decimal("0.02")]
    assert results("DECIMAL(10,2)", values, "avg(v) AS a") == (Decimal("0.016667"),)
    wide = [Decimal("12345678901234567.123456789012345678"), Decimal("0.000000000000000001")]
    assert results("DECIMAL(38,18)", wide, "avg(v) AS a") == (
        Decimal("6172839450617283.5617283945061728395000"),
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_not_numbers(bad: float) -> None:
    """NaN and infinities go through every aggregate without an error."""
    names = [
        "sum",
        "avg",
        "min",
        "max",
        "stddev",
        "var_pop",
        "median",
        "mode",
        "first",
        "count",
        "approx_count_distinct",
    ]
    select = ", ".join(f"{n}(v) AS c{i}" for i, n in enumerate(names))
    found = dict(zip(names, results("DOUBLE", [1.0, bad, 2.0, None], select), strict=True))
    assert found["count"] == found["approx_count_distinct"] == 3
    assert found["max"] == (2.0 if bad == -math.inf else pytest.approx(bad, nan_ok=True))
    assert math.isnan(found["stddev"])
    assert math.isnan(found["var_pop"])


def test_keys_that_are_equal() -> None:
    """0.0 and -0.0 are one group, and so are all NaNs."""
    run = LocalRun(
        "CREATE STREAM s (t BIGINT, v DOUBLE) PROGRESSING ON t SLACK 0 FROM 'none'; "
        "CREATE QUERY q AS SELECT v, count(*) AS n FROM s [RANGE 10] GROUP BY v; "
        "CREATE QUERY d AS SELECT count(DISTINCT v) AS n FROM s [RANGE 10];",
        slots=4,
    )
    for t, v in enumerate([0.0, -0.0, math.nan, -math.nan, 1.0]):
        run.push(s=[(t, v)])
    run.flush()
    assert sorted(r[1] for r in run.rows("q")) == [1, 2, 2]
    assert run.rows("d") == [(3, 0, 10)]


def test_texts_that_are_numbers() -> None:
    """Texts are summed as doubles; what is no number counts as NULL."""
    found = results(
        "STRING", ["1", " 2.5 ", "x", None], "sum(v) AS a, avg(v) AS b, count(v) AS c, max(v) AS d"
    )
    assert found == (3.5, 1.75, 3, "x")


def run_grouped(column: str, values: list[Any], select: str) -> list[tuple[Any, ...]]:
    """The results of a SELECT over values of one column in a window of 100 ticks, without its bounds."""
    run = LocalRun(
        f"CREATE STREAM s (t BIGINT, v {column}) PROGRESSING ON t SLACK 0 FROM 'none'; CREATE QUERY q AS {select};"
    )
    for i, value in enumerate(values):
        run.push(s=[(i, value)])
    run.flush()
    return [row[:-2] for row in run.rows("q")]


@pytest.mark.parametrize("column", ["FLOAT", "DOUBLE"])
def test_zeros_of_both_signs_are_one_group(column: str) -> None:
    """As in Spark they are shown as 0.0, over streams and over results, grouped and distinct."""
    values = [-0.0, 0.0, 1.5, -0.0]
    for select in (
        "SELECT v, count(*) AS n FROM s [RANGE 100] GROUP BY v",
        "SELECT v, sum(n) AS n FROM (SELECT v, count(*) AS n FROM s [RANGE 100] GROUP BY v) GROUP BY v",
        "SELECT w AS v, count(*) AS n FROM (SELECT last(v) AS w, t FROM s [RANGE 100] GROUP BY t) GROUP BY w",
    ):
        found = run_grouped(column, values, select)
        assert found == [(0.0, 3), (1.5, 1)], select
        assert math.copysign(1, found[0][0]) == 1
    (only,) = run_grouped(column, values[:2], "SELECT DISTINCT v FROM s [RANGE 100]")
    assert math.copysign(1, only[0]) == 1


def test_a_column_counted_twice_in_one_distinct() -> None:
    """Rows of the same value are one, whether it is named once or twice; a NULL in any of them is none."""
    found = run_grouped("INT", [1, 1, 2, None], "SELECT count(DISTINCT v, v) AS a, count(DISTINCT v, t, v) AS b FROM s [RANGE 100]")
    assert found == [(2, 3)]


def test_approximate_distinct_beyond_its_size() -> None:
    """However values are split, the estimate is the one of all of them at once, and within its error."""
    count, error = 5000, 0.05
    run = LocalRun(
        "CREATE STREAM s (t BIGINT, v INT) PROGRESSING ON t SLACK 0 FROM 'none';"
        f"CREATE QUERY q AS SELECT approx_count_distinct(v, {error}) AS n FROM s [RANGE 100 SLIDE 10];",
        tasks=3,
    )
    for start in range(0, count, 1250):
        run.push(s=[(i % 10, i * 7919) for i in range(start, start + 1250)])
    run.flush()
    whole = LocalRun(
        "CREATE STREAM s (t BIGINT, v INT) PROGRESSING ON t SLACK 0 FROM 'none';"
        f"CREATE QUERY q AS SELECT approx_count_distinct(v, {error}) AS n FROM s [RANGE 100];",
        tasks=1,
        slots=1,
    )
    whole.push(s=[(i % 10, i * 7919) for i in range(count)])
    whole.flush()
    estimates = {row[0] for row in run.rows("q")}
    assert estimates == {row[0] for row in whole.rows("q")}
    (estimate,) = estimates
    assert estimate != count, "the sketch was never full"
    assert abs(estimate - count) <= 3 * error * count
