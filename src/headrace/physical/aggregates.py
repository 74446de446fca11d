"""Every aggregate as a sub-/super-aggregate pair, in DuckDB SQL (document 000 §5.2.2, document 003 §6.2).

An aggregate is taken apart into *partials*: columns that can be computed over any part of the rows (`sub`),
merged with each other in any order (`merge`, same type in and out), and turned into the answer once
(`final`). Pre-aggregation in the source stage, pane state, closing a window and chaining queries all use
the same three expressions, so an aggregate that is right in one place is right in all.

* Distributive and algebraic aggregates keep a few numbers. Variance keeps (n, mean, M2) and merges by
  Chan's formula; the products with 0 make it NaN after an infinity, as it is when nothing is split.
* `first`, `last`, `min_by`, `max_by` keep the winning (order, value) pair; ties go to the smaller (larger)
  value, so that the answer does not depend on how rows were split into batches.
* Holistic aggregates (exact distinct, median, percentiles, mode) keep the values themselves, as a list;
  their state is as large as their input. `percentile_approx` is answered exactly that way too, and so is every aggregate
  to which DISTINCT makes a difference.
* `max_by(x, y, k)` and `min_by(x, y, k)` keep the k best pairs.
* `approx_count_distinct(x[, rsd])` keeps the k smallest distinct hashes (a KMV sketch, k = 1/rsd² + 2):
  exact below k, bounded state above.

Types follow Spark: sum of integers is BIGINT, of DECIMAL(p,s) DECIMAL(p+10,s), avg of DECIMAL(p,s)
DECIMAL(p+4,s+4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from headrace.dialect.duck_arithmetic import divide_exactly, scale_to_decimal
from headrace.dialect.duck_cast import cast, duck_type, spark_name, wrap_integer
from headrace.dialect.duck_order import is_nested, order_key
from headrace.dialect.spark_types import INTEGERS, NUMBERS, decimal, decimal_of, is_decimal, scale
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate, Call
from headrace.logical.user_aggregate import UserAggregate


@dataclass(frozen=True)
class Partial:
    """`sub` over arguments {0}, {1}, the tick {t} and a condition {w}; `merge` over the partial {p}."""

    sub: str
    merge: str


@dataclass(frozen=True)
class Decomposed:
    partials: tuple[Partial, ...]
    final: str  # over {0}, {1}, … the partials' columns
    type: str = ""  # of the answer, as Spark has it


def decompose(call: Call, types: tuple[str, ...], user: Mapping[str, UserAggregate]) -> Decomposed:
    """The partials and the final expression of one aggregate call, given Spark's types of its arguments."""
    function = call.function
    type_ = result_type(call, types, user)
    if function in user:
        if len(types) != 1:
            raise PlanError(f"{call.text}: the aggregate {function} takes one argument, got {len(types)}")
        sub = f"hr_{function}_sub(list({{0}}){_filter(call)})"
        merge = f"hr_{function}_super(list({{p}}) FILTER (WHERE {{p}} IS NOT NULL))"
        return Decomposed((Partial(sub, merge),), f"hr_{function}_final({{0}})", type_)
    if not function.startswith("count") and (kept := next((x for x in types if "map<" in x), None)):
        raise PlanError(
            f"{call.text}: a window cannot keep values of type {kept}; take an element of the map, like m['key']"
        )
    builder = _BUILDERS.get(function)
    if builder is None:
        raise PlanError(f"the aggregate {call.text or function} is not supported")
    try:
        found = builder(call, types)
    except IndexError:
        raise PlanError(f"{call.text}: an argument is missing") from None
    final = f"TRY_CAST({found.final} AS {duck_type(type_)})" if is_decimal(type_) else found.final
    return Decomposed(found.partials, final, type_)


def check_keys(relation: Aggregate, types: Sequence[str]) -> None:
    """Refuse to group by maps: two equal ones may have their entries in different orders."""
    for key, type_ in zip(relation.keys, types, strict=True):
        if "map<" in type_:
            raise PlanError(
                f"query {relation.name.split('$')[0]}: groups by {key.sql(dialect='spark')} of type {type_} are not "
                "possible; group by an element of the map, like m['key']"
            )


def result_type(call: Call, types: Sequence[str], user: Mapping[str, UserAggregate]) -> str:
    """Spark's type of an aggregate's answer."""
    function = call.function
    if function in user:
        return spark_name(user[function].returns)
    if function.startswith("count") or function == "approx_count_distinct":
        return "bigint"
    if not types:
        raise PlanError(f"{call.text}: an argument is missing")
    kind = types[0]
    if function.startswith(("max_by_k", "min_by_k")):
        return f"array<{kind}>"
    exact = function.startswith("percentile") and not function.startswith("percentile_approx")
    if function.startswith("percentile") and call.parameters and isinstance(call.parameters[0], str):
        return f"array<{'double' if exact else kind}>"
    if function.startswith(("var", "stddev", "median")) or exact:
        return "double"
    if function.startswith(("sum", "avg")):
        if is_decimal(kind):
            precision, digits = decimal_of(kind) or (38, 0)
            if function.startswith("sum"):
                return decimal(min(38, precision + 10), digits)
            return decimal(min(38, precision + 4), min(38, digits + 4))
        return "bigint" if function.startswith("sum") and kind in INTEGERS else "double"
    return kind


def _filter(call: Call) -> str:
    return " FILTER (WHERE {w})" if call.where is not None else ""


def _same(aggregate: str) -> Callable[[Call, tuple[str, ...]], Decomposed]:
    def build(call: Call, types: tuple[str, ...]) -> Decomposed:
        return Decomposed((Partial(f"{aggregate}({{0}})", f"{aggregate}({{p}})"),), "{0}")

    return build


def _count(call: Call, types: tuple[str, ...]) -> Decomposed:
    return Decomposed((_counter("count({0})" if types else "count(*)"),), "coalesce({0}, 0)")


def _counter(sub: str) -> Partial:
    return Partial(sub, "sum({p})::BIGINT")


def _count_if(call: Call, types: tuple[str, ...]) -> Decomposed:
    return Decomposed((_counter("count(*) FILTER (WHERE {0})"),), "coalesce({0}, 0)")


def _total(type_: str) -> tuple[tuple[Partial, ...], str]:
    """Partials of a sum, and the sum. Integers wrap as Spark's do, the same in whatever order they are added."""
    if type_ in INTEGERS:
        return (Partial(wrap_integer("sum({0})", "bigint"), wrap_integer("sum({p})", "bigint")),), "{0}"
    if not is_decimal(type_):
        return (Partial(f"sum({_double(type_)})", "sum({p})"),), "{0}"
    (precision, digits), wide = decimal_of(type_) or (38, 0), f"DECIMAL(38,{scale(type_)})"
    exact = Partial(f"sum({{0}})::{wide}", f"sum({{p}})::{wide}")
    if precision <= 28:
        return (exact,), "{0}"
    # A sum of more than 38 digits is an error to DuckDB: values of more than 28 are added in two halves.
    limit = "1" + "0" * (28 - digits) if digits <= 28 else "0." + "0" * (digits - 29) + "1"
    integer, half = "CAST(replace(CAST({0} AS VARCHAR), '.', '') AS HUGEINT)", f"1{'0' * 19}::HUGEINT"
    small = f"sum(CASE WHEN abs({{0}}) < {limit} THEN {{0}} END)::{wide}"
    high, low = (
        f"sum(CASE WHEN abs({{0}}) >= {limit} THEN {integer} {operator} {half} END)::DECIMAL(38,0)"
        for operator in ("//", "%")
    )
    merge = "sum({p})::DECIMAL(38,0)"
    together = f"({{1}})::HUGEINT * {half} + ({{2}})::HUGEINT + coalesce({integer}, 0)"
    total = (
        f"CASE WHEN ({{1}}) IS NULL THEN ({{0}}) ELSE {scale_to_decimal(f'TRY({together})', decimal(38, digits))} END"
    )
    return (Partial(small, exact.merge), Partial(high, merge), Partial(low, merge)), total


def _double(type_: str) -> str:
    return cast("{0}", type_, "double")


def _sum(call: Call, types: tuple[str, ...]) -> Decomposed:
    return Decomposed(*_total(types[0]))


def _avg(call: Call, types: tuple[str, ...]) -> Decomposed:
    partials, total = _total("double" if types[0] == "bigint" else types[0])  # a wrapped sum has no average
    counted = _double(types[0]) if types[0] == "string" else "{0}"
    count = f"{{{len(partials)}}}"
    return Decomposed((*partials, _counter(f"count({counted})")), _quotient(total, count, types[0]))


def _quotient(total: str, count: str, type_: str) -> str:
    """total / count; for decimals with the digits Spark keeps."""
    if not is_decimal(type_):
        return f"({total})::DOUBLE / nullif({count}, 0)"
    precision, digits = decimal_of(type_) or (38, 0)
    result = decimal(min(38, precision + 4), min(38, digits + 4))
    return scale_to_decimal(divide_exactly(f"({total})", count, digits, 0, scale(result)), result)


_CHAN = (
    "list_reduce(list({p}) FILTER (WHERE {p}.n > 0), lambda hr_x, hr_y: {"
    "'n': hr_x.n + hr_y.n, "
    "'m': hr_x.m + (hr_y.m - hr_x.m) * hr_y.n / (hr_x.n + hr_y.n), "
    "'s': hr_x.s + hr_y.s + (hr_y.m - hr_x.m) * 0 + (hr_y.m - hr_x.m) * (hr_y.m - hr_x.m) * hr_x.n * hr_y.n / (hr_x.n + hr_y.n)})"
)


def _variance(final: str) -> Callable[[Call, tuple[str, ...]], Decomposed]:
    def build(call: Call, types: tuple[str, ...]) -> Decomposed:
        x = _double(types[0])
        sub = f"{{'n': count({x})::DOUBLE, 'm': avg({x}), 's': var_pop({x}) * count({x}) + avg({x}) * 0}}"
        return Decomposed((Partial(sub, _CHAN),), final)

    return build


def _variance_distinct(final: str) -> Callable[[Call, tuple[str, ...]], Decomposed]:
    moments = "{'n': len({0})::DOUBLE, 's': list_aggregate({0}, 'var_pop') * len({0}) + list_avg({0}) * 0}"

    def build(call: Call, types: tuple[str, ...]) -> Decomposed:
        return _keep_values(_double(types[0]), fill(final, {"0": moments}), distinct=True)

    return build


def _by_order(pick: str, order: str, value: str, where: str = "") -> Decomposed:
    pair = f"{pick}({{'o': {order}, 'v': {value}}}){where}"
    return Decomposed((Partial(pair, f"{pick}({{p}})"),), "({0}).v")


def _extreme(pick: str) -> Callable[[Call, tuple[str, ...]], Decomposed]:
    """min and max; arrays and structs in Spark's order."""

    def build(call: Call, types: tuple[str, ...]) -> Decomposed:
        if not is_nested(types[0]):
            return _same(pick)(call, types)
        return _by_order(pick, order_key("{0}", types[0]), "{0}", " FILTER (WHERE {0} IS NOT NULL)")

    return build


def _best_by(descending: bool) -> Callable[[Call, tuple[str, ...]], Decomposed]:
    """The values of the k largest (smallest) orders, best first; ties go to the larger (smaller) value."""

    def build(call: Call, types: tuple[str, ...]) -> Decomposed:
        pair = f"{{'o': {order_key('{1}', types[1])}, 'v': {{0}}}}"
        (values,) = _keep_values(pair, "", call.function.endswith("_distinct"), "{1} IS NOT NULL").partials
        best = f"list_slice(list_sort(%s, '{'DESC' if descending else 'ASC'}'), 1, {call.parameters[0]})"
        return Decomposed((Partial(best % values.sub, best % values.merge),), "list_transform({0}, lambda hr_x: hr_x.v)")

    return build


def _keep_values(value: str, final: str, distinct: bool, where: str = "") -> Decomposed:
    """The values themselves, or each of them once, where they are not NULL or `where` says so."""
    sub = f"list({'DISTINCT ' if distinct else ''}{value}) FILTER (WHERE {where or f'{value} IS NOT NULL'})"
    merge = "list_distinct(flatten(list({p})))" if distinct else "flatten(list({p}))"
    return Decomposed((Partial(sub, merge),), final)


def _values(final: str, distinct: bool = False) -> Callable[[Call, tuple[str, ...]], Decomposed]:
    return lambda call, types: _keep_values("{0}", final, distinct)


def _count_distinct(call: Call, types: tuple[str, ...]) -> Decomposed:
    if len(types) == 1:
        return _values("coalesce(len({0}), 0)", distinct=True)(call, types)
    columns = [f"{{{i}}}" for i in range(len(types))]
    row = "{" + ", ".join(f"'c{i}': {c}" for i, c in enumerate(columns)) + "}"
    present = " AND ".join(f"{c} IS NOT NULL" for c in columns)
    sub = f"list(DISTINCT {row}) FILTER (WHERE {present})"
    return Decomposed((Partial(sub, "list_distinct(flatten(list({p})))"),), "coalesce(len({0}), 0)")


def _sum_distinct(call: Call, types: tuple[str, ...]) -> Decomposed:
    total = wrap_integer("list_sum({0})", "bigint") if types[0] in INTEGERS else "list_sum({0})"
    return _keep_values(_summand(types[0]), total, distinct=True)


def _avg_distinct(call: Call, types: tuple[str, ...]) -> Decomposed:
    if not is_decimal(types[0]):
        return _keep_values(_summand(types[0]), "list_avg({0})", distinct=True)
    return _values(_quotient("list_sum({0})", "nullif(len({0}), 0)", types[0]), distinct=True)(call, types)


def _summand(type_: str) -> str:
    """What is added up or ordered: numbers as they are, anything else as the number it is or can be read as."""
    return "{0}" if type_ in NUMBERS or is_decimal(type_) else _double(type_)


def _percentile(call: Call, types: tuple[str, ...]) -> Decomposed:
    q, distinct = call.parameters[0] if call.parameters else 0.5, call.function.endswith("_distinct")
    final = f"list_aggregate(({{0}})::DOUBLE[], 'quantile_cont', {_fractions(q, call)})"
    return _keep_values(_double(types[0]) if distinct else _summand(types[0]), final, distinct)


def _percentile_desc(call: Call, types: tuple[str, ...]) -> Decomposed:
    """Of values in falling order: the same positions, counted from the largest."""
    values = "list_sort(({0})::DOUBLE[], 'DESC')"

    def at(q: float) -> str:
        place = f"({q!r} * (len({{0}}) - 1))"
        low, high = (f"({values})[{function}({place})::BIGINT + 1]" for function in ("floor", "ceil"))
        return _interpolate(low, high, place)

    final = f"CASE WHEN {{0}} IS NOT NULL THEN {_of_each(call, at)} END"
    return _keep_values(_summand(types[0]), final, distinct=False)


def _percentile_weighted(call: Call, types: tuple[str, ...]) -> Decomposed:
    """Each value as often as its frequency says; NULL if one is negative."""
    if types[1] not in INTEGERS:
        raise PlanError(f"{call.text}: the frequency is a whole number, not {types[1]}")
    row, wanted = f"{{'v': {_double(types[0])}, 'f': {{1}}}}", f"{_double(types[0])} IS NOT NULL AND {{1}} <> 0"

    def at(q: float) -> str:
        place = f"({q!r} * (hr_n - 1))"
        low, high = (f"min(hr_v) FILTER (WHERE hr_until > {function}({place}))" for function in ("floor", "ceil"))
        return _interpolate(low, high, f"max({place})")

    counted = (
        "SELECT hr_r.v AS hr_v, hr_r.f AS hr_f, sum(hr_r.f) OVER (ORDER BY hr_r.v) AS hr_until, sum(hr_r.f) OVER () AS hr_n "
        "FROM (SELECT unnest({0}) AS hr_r)"
    )
    final = f"(SELECT CASE WHEN min(hr_f) > 0 THEN {_of_each(call, at)} END FROM ({counted}))"
    return _keep_values(row, final, call.function.endswith("_distinct"), wanted)


def _interpolate(low: str, high: str, place: str) -> str:
    """Between the values at the places before and after, as Spark does."""
    between = f"(ceil({place}) - {place}) * {low} + ({place} - floor({place})) * {high}"
    return f"CASE WHEN {low} = {high} THEN {low} ELSE {between} END"


def _of_each(call: Call, at: Callable[[float], str]) -> str:
    """What `at` says of the percentage, or a list of it for each of several."""
    found = json.loads(_fractions(call.parameters[0], call))
    return f"[{', '.join(map(at, found))}]" if isinstance(found, list) else at(found)


def _percentile_approx(call: Call, types: tuple[str, ...]) -> Decomposed:
    final = f"list_aggregate({{0}}, 'quantile_disc', {_fractions(call.parameters[0], call)})"
    return _keep_values("{0}", final, call.function.endswith("_distinct"))


def _fractions(q: float | str, call: Call) -> str:
    text = q if isinstance(q, str) else repr(q)
    inner = text.upper().removeprefix("ARRAY(").removesuffix(")")
    try:
        numbers = [float(n) for n in inner.split(",")]
    except ValueError:
        raise PlanError(f"{call.text}: the percentage is a number or an array of numbers") from None
    if not all(0 <= n <= 1 for n in numbers):
        raise PlanError(f"{call.text}: a percentage is between 0 and 1")
    return repr(numbers[0]) if not isinstance(q, str) else repr(numbers)


def _approx_distinct(call: Call, types: tuple[str, ...]) -> Decomposed:
    rsd = call.parameters[0] if call.parameters else 0.05
    if not isinstance(rsd, float) or not 0.005 <= rsd <= 0.5:
        raise PlanError(f"{call.text}: the relative error is a number between 0.005 and 0.5")
    k = ceil(1 / rsd**2) + 2
    sub = f"list_slice(list_sort(list(DISTINCT hash({{0}})) FILTER (WHERE {{0}} IS NOT NULL)), 1, {k})"
    merge = f"list_slice(list_sort(list_distinct(flatten(list({{p}})))), 1, {k})"
    estimate = f"round({k - 1} / (({{0}})[{k}]::DOUBLE / 18446744073709551616.0))::BIGINT"
    final = f"CASE WHEN {{0}} IS NULL THEN 0 WHEN len({{0}}) < {k} THEN len({{0}}) ELSE {estimate} END"
    return Decomposed((Partial(sub, merge),), final)


_SPREADS = {
    "var_samp": "CASE WHEN ({0}).n > 1 THEN ({0}).s / (({0}).n - 1) END",
    "var_pop": "CASE WHEN ({0}).n > 0 THEN ({0}).s / ({0}).n END",
    "stddev_samp": "CASE WHEN ({0}).n > 1 THEN sqrt(({0}).s / (({0}).n - 1)) END",
    "stddev_pop": "CASE WHEN ({0}).n > 0 THEN sqrt(({0}).s / ({0}).n) END",
}
_BUILDERS: dict[str, Callable[[Call, tuple[str, ...]], Decomposed]] = {
    "count": _count,
    "count_if": _count_if,
    "sum": _sum,
    "avg": _avg,
    **{name: _extreme(name) for name in ("min", "max")},
    **{name: _same(name) for name in ("bit_or", "bit_and", "bit_xor", "bool_and", "bool_or")},
    **{name: _variance(final) for name, final in _SPREADS.items()},
    **{f"{name}_distinct": _variance_distinct(final) for name, final in _SPREADS.items()},
    "first": lambda c, t: _by_order("min", "{t}", "{0}", _filter(c)),
    "last": lambda c, t: _by_order("max", "{t}", "{0}", _filter(c)),
    "first_ignore_nulls": lambda c, t: _by_order("min", "{t}", "{0}", " FILTER (WHERE {0} IS NOT NULL)"),
    "last_ignore_nulls": lambda c, t: _by_order("max", "{t}", "{0}", " FILTER (WHERE {0} IS NOT NULL)"),
    "min_by": lambda c, t: _by_order("min", order_key("{1}", t[1]), "{0}", " FILTER (WHERE {1} IS NOT NULL)"),
    "max_by": lambda c, t: _by_order("max", order_key("{1}", t[1]), "{0}", " FILTER (WHERE {1} IS NOT NULL)"),
    **{f"{name}_k{end}": _best_by(name == "max_by") for name in ("max_by", "min_by") for end in ("", "_distinct")},
    "count_distinct": _count_distinct,
    "sum_distinct": _sum_distinct,
    "avg_distinct": _avg_distinct,
    "bit_xor_distinct": _values("list_aggregate({0}, 'bit_xor')", distinct=True),
    "count_if_distinct": lambda c, t: Decomposed((Partial("bool_or({0})", "bool_or({p})"),), "coalesce({0}, false)::BIGINT"),
    **dict.fromkeys(("median", "median_distinct", "percentile", "percentile_distinct"), _percentile),
    "percentile_desc": _percentile_desc,
    **dict.fromkeys(("percentile_weighted", "percentile_weighted_distinct"), _percentile_weighted),
    **dict.fromkeys(("percentile_approx", "percentile_approx_distinct"), _percentile_approx),
    "mode": _values("list_aggregate(list_sort({0}), 'mode')"),
    "mode_desc": _values("list_aggregate(list_sort({0}, 'DESC'), 'mode')"),
    "approx_count_distinct": _approx_distinct,
}


def fill(template: str, columns: Mapping[str, str]) -> str:
    """A template with {0}, {1}, {t}, {w} replaced in one pass; other braces are SQL's."""
    return re.sub(r"\{(\w+)\}", lambda m: columns.get(m[1], m[0]), template)
