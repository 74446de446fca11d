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
