"""Aggregates over a list of rows, as Spark SQL defines them, in plain Python."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from benchmarks.simulate.window_model import Row

Call = Callable[[list[Row]], Any]


def values(column: str, rows: list[Row]) -> list[Any]:
    return [r[column] for r in rows if r[column] is not None]


def over(column: str, function: Callable[[list[Any]], Any]) -> Call:
    """An aggregate that ignores NULLs and is NULL where nothing is left."""
    return lambda rows: function(v) if (v := values(column, rows)) else None


def where(condition: Callable[[Row], Any], call: Call) -> Call:
    return lambda rows: call([r for r in rows if condition(r)])


def avg_decimal(v: list[Decimal], scale: int) -> Decimal:
    exact = sum(map(Fraction, v)) / len(v)
    with localcontext() as context:
        context.prec = 80
        quotient = Decimal(exact.numerator) / Decimal(exact.denominator)
        return quotient.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def percentile(v: list[Any], q: float) -> float:
    v = sorted(map(float, v))
    at = q * (len(v) - 1)
    low, high = math.floor(at), math.ceil(at)
    return v[low] if low == high else v[low] * (high - at) + v[high] * (at - low)


def percentile_disc(v: list[Any], q: float) -> Any:
    return sorted(v)[max(1, math.ceil(q * len(v))) - 1]


def mode(v: list[Any]) -> Any:
    """The most frequent value, the smallest of several."""
    counts = Counter(v)
    return min(x for x in counts if counts[x] == max(counts.values()))


def first(column: str, time: str = "_t") -> Call:
    """The value of the earliest row; of several the smallest, NULL only if there is no other."""
    return lambda rows: (
        min(((r[time], r[column] is None, r[column]) for r in rows), key=_nulls_last)[2] if rows else None
    )


def last(column: str, time: str = "_t") -> Call:
    return lambda rows: (
        max(((r[time], r[column] is None, r[column]) for r in rows), key=_nulls_last)[2] if rows else None
    )


def _nulls_last(item: tuple[Any, bool, Any]) -> tuple[Any, ...]:
    return (item[0], True) if item[1] else (item[0], False, item[2])


def by(column: str, order: str, pick: Callable[..., Any]) -> Call:
    """min_by and max_by: of equal orders the smallest (largest) value."""

    def call(rows: list[Row]) -> Any:
        found = [(r[order], r[column] is None, r[column]) for r in rows if r[order] is not None]
        return pick(found, key=_nulls_last)[2] if found else None

    return call


def count_distinct(*columns: str) -> Call:
    return lambda rows: len(
        {tuple(r[c] for c in columns) for r in rows if all(r[c] is not None for c in columns)}
    )


AGGREGATES: dict[str, Call] = {
    "count(*)": len,
    "count(1)": len,
    "count(v)": lambda rows: len(values("v", rows)),
    "count(v, x)": lambda rows: sum(r["v"] is not None and r["x"] is not None for r in rows),
    "count_if(b)": lambda rows: sum(r["b"] is True for r in rows),
    "count_if(v > 40)": lambda rows: sum(r["v"] is not None and r["v"] > 40 for r in rows),
    "sum(v)": over("v", sum),
    "sum(g)": over("g", sum),
    "sum(x)": over("x", math.fsum),
    "sum(d)": over("d", sum),
    "sum(DISTINCT v)": over("v", lambda v: sum(set(v))),
    "sum(DISTINCT d)": over("d", lambda v: sum(set(v))),
    "min(v)": over("v", min),
    "max(x)": over("x", max),
    "min(s)": over("s", lambda v: min(v, key=lambda s: s.encode())),
    "max(s)": over("s", lambda v: max(v, key=lambda s: s.encode())),
    "min(d)": over("d", min),
    "max(b)": over("b", max),
    "min(t)": lambda rows: min(r["_t"] for r in rows),
    "avg(v)": over("v", lambda v: sum(v) / len(v)),
    "avg(x)": over("x", lambda v: math.fsum(v) / len(v)),
    "avg(d)": over("d", lambda v: avg_decimal(v, 7)),
    "avg(DISTINCT v)": over("v", lambda v: sum(set(v)) / len(set(v))),
    "avg(DISTINCT d)": over("d", lambda v: avg_decimal(list(set(v)), 7)),
    "variance(x)": over("x", lambda v: statistics.variance(v) if len(v) > 1 else None),
    "var_pop(x)": over("x", statistics.pvariance),
    "stddev(v)": over("v", lambda v: statistics.stdev(v) if len(v) > 1 else None),
    "stddev_pop(v)": over("v", lambda v: float(statistics.pstdev(v))),
    "std(x)": over("x", lambda v: statistics.stdev(v) if len(v) > 1 else None),
    "var_samp(d)": over("d", lambda v: float(statistics.variance(v)) if len(v) > 1 else None),
    "bit_or(v)": over("v", lambda v: reduce(or_, v)),
    "bit_and(v)": over("v", lambda v: reduce(and_, v)),
    "bit_xor(g)": over("g", lambda v: reduce(xor, v)),
    "OR_AGGR(g)": over("g", lambda v: reduce(or_, v)),
    "bool_and(b)": over("b", all),
    "every(b)": over("b", all),
    "bool_or(b)": over("b", any),
    "some(b)": over("b", any),
    "any(b)": over("b", any),
    "bool_or(v > 90)": over("v", lambda v: any(x > 90 for x in v)),
    "first(v)": first("v"),
    "last(s)": last("s"),
    "first_value(k)": first("k"),
    "last_value(x)": last("x"),
    "first(v) IGNORE NULLS": lambda rows: first("v")([r for r in rows if r["v"] is not None]),
    "last(s) IGNORE NULLS": lambda rows: last("s")([r for r in rows if r["s"] is not None]),
    "first(v, true)": lambda rows: first("v")([r for r in rows if r["v"] is not None]),
    "any_value(g)": first("g"),
    "min_by(s, v)": by("s", "v", min),
    "max_by(s, v)": by("s", "v", max),
    "max_by(v, t)": lambda rows: by("v", "_t", max)(rows),
    "count(DISTINCT v)": count_distinct("v"),
    "count(DISTINCT s)": count_distinct("s"),
    "count(DISTINCT g, b)": count_distinct("g", "b"),
    "median(v)": over("v", lambda v: percentile(v, 0.5)),
    "median(d)": over("d", lambda v: percentile(v, 0.5)),
    "percentile(x, 0.9)": over("x", lambda v: percentile(v, 0.9)),
    "percentile(v, array(0.25, 0.75))": over("v", lambda v: [percentile(v, 0.25), percentile(v, 0.75)]),
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY x)": over("x", lambda v: percentile(v, 0.3)),
    "percentile_approx(v, 0.5)": over("v", lambda v: percentile_disc(v, 0.5)),
    "approx_percentile(v, 0.8, 100)": over("v", lambda v: percentile_disc(v, 0.8)),
    "percentile_approx(d, array(0.1, 0.9))": over(
        "d", lambda v: [percentile_disc(v, 0.1), percentile_disc(v, 0.9)]
    ),
    "mode(g)": over("g", mode),
    "mode(s)": over("s", mode),
    "approx_count_distinct(v)": count_distinct("v"),
    "approx_count_distinct(s, 0.1)": count_distinct("s"),
    # FILTER leaves rows out, it does not turn them into NULLs
    "count(*) FILTER (WHERE v > 30)": where(lambda r: r["v"] is not None and r["v"] > 30, len),
    "sum(v) FILTER (WHERE b)": where(lambda r: r["b"], over("v", sum)),
    "avg(d) FILTER (WHERE g = 1)": where(lambda r: r["g"] == 1, over("d", lambda v: avg_decimal(v, 7))),
    "first(v) FILTER (WHERE g > 1)": where(lambda r: r["g"] is not None and r["g"] > 1, first("v")),
    "last(s) FILTER (WHERE g > 1)": where(lambda r: r["g"] is not None and r["g"] > 1, last("s")),
    "count(DISTINCT s) FILTER (WHERE b)": where(lambda r: r["b"], count_distinct("s")),
    "max_by(s, v) FILTER (WHERE NOT b)": where(lambda r: r["b"] is False, by("s", "v", max)),
    "bool_and(v < 50) FILTER (WHERE b)": where(lambda r: r["b"], over("v", lambda v: all(x < 50 for x in v))),
    "count_if(b) FILTER (WHERE g = 2)": where(
        lambda r: r["g"] == 2, lambda rows: sum(r["b"] is True for r in rows)
    ),
    "median(v) FILTER (WHERE b)": where(lambda r: r["b"], over("v", lambda v: percentile(v, 0.5))),
}
