"""Which function calls are aggregates, and what they are called here.

sqlglot already folds most spellings into one class (`std`, `stddev`, `stddev_samp`); this table maps the
classes and the few names it does not know to one canonical name each. How an aggregate is computed in two
steps (sub and super, document 000 §5.2.2) is `physical/aggregates.py`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from headrace.logical.graph import Call

_CLASSES: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseXorAgg: "bit_xor",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.First: "first",
    exp.FirstValue: "first",
    exp.Last: "last",
    exp.LastValue: "last",
    exp.AnyValue: "first",
    exp.ArgMin: "min_by",
    exp.ArgMax: "max_by",
    exp.Median: "median",
    exp.Mode: "mode",
    exp.CountIf: "count_if",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "percentile_approx",
    exp.Quantile: "percentile",
}

_NAMES = {
    "or_aggr": "bit_or",
    "and_aggr": "bit_and",
    "xor_aggr": "bit_xor",
    "percentile": "percentile",
    "percentile_cont": "percentile",
    "approx_percentile": "percentile_approx",
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
    "std": "stddev_samp",
}

DISTINCT = {"count": "count_distinct", "sum": "sum_distinct", "avg": "avg_distinct"}
NAMES = sorted({*_CLASSES.values(), *_NAMES, "count"})


def aggregate_call(node: exp.Expr, user_defined: Iterable[str] = ()) -> Call | None:
    """The aggregate a node calls, or None if it is no aggregate. FILTER (WHERE …) becomes part of the
    arguments where NULLs are ignored.
    """
    condition: exp.Expr | None = None
    whole = node
    if isinstance(node, exp.Filter):
        condition = node.expression.this
        node = node.this
    ignore_nulls = isinstance(node, exp.IgnoreNulls)
    if ignore_nulls:
        node = node.this
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont):
        ordered = node.expression.expressions[0]
        node = exp.Quantile(this=ordered.this, quantile=node.this.this)
    if isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary):
        node = exp.LogicalOr(this=node.this.unnest())
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        function = _NAMES.get(name) or (name if name in {u.lower() for u in user_defined} else None)
        arguments = list(node.expressions)
    elif isinstance(node, exp.Count):
        function, arguments = "count", [node.this, *node.expressions] if node.this else list(node.expressions)
    else:
        function = _CLASSES.get(type(node))
        arguments = [node.this] if node.this is not None else []
        for key in ("expression", "quantile", "accuracy", "count"):
            if isinstance(extra := node.args.get(key), exp.Expr):
                arguments.append(extra)
        arguments += [e for e in node.expressions if e is not node.this]
    if function is None:
        return None
    if arguments and isinstance(arguments[0], exp.Distinct):
        arguments = list(arguments[0].expressions)
        function = DISTINCT.get(function, function)
    if ignore_nulls and function in ("first", "last"):
        function += "_ignore_nulls"
    if function == "count" and len(arguments) > 1:  # rows in which none of them is null
        present = [exp.Not(this=exp.Is(this=a.copy(), expression=exp.Null())) for a in arguments]
        function, arguments = "count_if", [exp.and_(*present)]
    parameters: list[float | str] = []
    if function in ("percentile", "percentile_approx", "approx_count_distinct"):
        for extra in arguments[1:]:
            parameters.append(_number(extra))
        arguments = arguments[:1]
    if function == "count" and (not arguments or isinstance(arguments[0], (exp.Star, exp.Literal))):
        arguments = []
    where: exp.Expr | None = None
    if condition is not None:
        if function == "count" and not arguments:
            function, arguments = "count_if", [condition]
        elif function in ("first", "last") or function in {u.lower() for u in user_defined}:
            where = condition.copy()
        else:
            arguments = [exp.Case(ifs=[exp.If(this=condition.copy(), true=a.copy())]) for a in arguments]
    return Call(
        function, tuple(a.copy() for a in arguments), tuple(parameters), whole.sql(dialect="spark"), where
    )


def nearest_aggregate(name: str, user_defined: Iterable[str] = ()) -> str | None:
    """The aggregate that was meant by a misspelt name, if it is clear."""
    known = [*NAMES, *(u.lower() for u in user_defined)]
    swapped = next((k for k in known if sorted(k) == sorted(name.lower())), None)
    return swapped or next(iter(get_close_matches(name.lower(), known, n=1, cutoff=0.8)), None)


def _number(node: exp.Expr) -> float | str:
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return node.sql(dialect="spark")
