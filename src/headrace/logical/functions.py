"""Which function calls are aggregates, and what they are called here.

sqlglot already folds most spellings into one class (`std`, `stddev`, `stddev_samp`); this table maps the
classes and the few names it does not know to one canonical name each. How an aggregate is computed in two
steps (sub and super, document 000 §5.2.2) is `physical/aggregates.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches

from sqlglot import exp

from headrace.errors import HeadraceError, SqlError
from headrace.logical.graph import Call

MOST_BEST = 100_000  # of max_by and min_by, as in Spark

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
    exp.Median: "median",
    exp.Mode: "mode",
    exp.CountIf: "count_if",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "percentile_approx",
}

_NAMES = {
    "or_aggr": "bit_or",
    "and_aggr": "bit_and",
    "xor_aggr": "bit_xor",
    "percentile": "percentile",
    "min_by": "min_by",
    "max_by": "max_by",
    "approx_percentile": "percentile_approx",
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
    "std": "stddev_samp",
}

# Those to which it makes a difference that each value counts once. To the others it makes none, as of min and max.
_DISTINCT = {
    *("count", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "bit_xor", "count_if"),
    *("median", "percentile", "percentile_approx", "max_by", "min_by"),
}
_ARITIES = {  # how many arguments there can be, if not one
    "count": (0, 1_000),
    "percentile": (2, 3),
    "percentile_approx": (2, 3),
    "approx_count_distinct": (1, 2),
    "min_by": (2, 3),
    "max_by": (2, 3),
}
_READ = ("this", "expressions", "quantile", "accuracy")  # arguments of a node that are the call's, in order
_FLAGS = ("big_int", "deterministic")  # of equally frequent values `mode` gives the least, asked for or not
NAMES = sorted({*_CLASSES.values(), *_NAMES, "count", "percentile_cont"})
PARAMETERS = {"percentile": 1, "percentile_approx": 1, "approx_count_distinct": 1, "max_by": 2, "min_by": 2}  # from where on

Fail = Callable[[exp.Expr | None, str], HeadraceError]  # an error that points at an expression


def _fail(node: exp.Expr | None, message: str) -> HeadraceError:
    return SqlError(message)


def aggregate_call(node: exp.Expr, user_defined: Iterable[str] = (), fail: Fail = _fail) -> Call | None:
    """The aggregate a node calls, or None if it is no aggregate. FILTER (WHERE …) becomes part of the
    arguments where NULLs are ignored. What is written in the call and nobody obeys is refused.
    """
    condition: exp.Expr | None = None
    whole, users = node, {u.lower() for u in user_defined}
    if isinstance(node, exp.Filter):
        condition, node = node.expression.this, node.this
    ignore_nulls = isinstance(node, exp.IgnoreNulls)
    if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
        node = node.this
    if isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary):
        node = exp.LogicalOr(this=node.this.unnest())
    if isinstance(node, exp.WithinGroup):
        function, arguments = _read_within_group(node, fail)
    else:
        function, arguments = _read_call(node, users, fail)
    if function is None:
        return None
    if distinct := bool(arguments) and isinstance(arguments[0], exp.Distinct):
        arguments = [*arguments[0].expressions, *arguments[1:]]
    least, most = _ARITIES.get(function.removesuffix("_desc"), (1, 2 if function == "mode" else 1))
    if not least <= len(arguments) <= most:
        wanted = f"{least} or {most} arguments" if least < most else f"{most} argument{'s' * (most > 1)}"
        raise fail(whole, f"{function} takes {wanted}, got {len(arguments)}")
    if distinct and (function in users or function.startswith("mode")):
        raise fail(whole, f"{function}(DISTINCT …) is not supported; leave DISTINCT out")
    if distinct and isinstance(arguments[0], exp.Star):
        raise fail(whole, "count(DISTINCT *): name the columns")
    if ignore_nulls:
        if function not in ("first", "last"):
            raise fail(whole, "IGNORE NULLS is for first and last; the other aggregates ignore NULLs anyway")
        function += "_ignore_nulls"
    if function == "count" and len(arguments) > 1 and not distinct:  # rows in which none of them is null
        present = [exp.Not(this=exp.Is(this=a.copy(), expression=exp.Null())) for a in arguments]
        function, arguments = "count_if", [exp.and_(*present)]
    function, arguments, parameters = _take_parameters(function, arguments, whole, fail)
    if distinct and function.removesuffix("_k").removesuffix("_weighted") in _DISTINCT and not function.endswith("_by"):
        function += "_distinct"
    if arguments and isinstance(arguments[0], exp.Star) and any(arguments[0].args.values()):
        raise fail(whole, "count(*) counts rows; EXCEPT, REPLACE and RENAME say nothing here")
    if function == "count" and (not arguments or isinstance(arguments[0], (exp.Star, exp.Literal))):
        arguments = []
    where: exp.Expr | None = None
    if condition is not None:
        if function == "count" and not arguments:
            function, arguments = "count_if", [condition]
        elif function in ("first", "last") or function in users:
            where = condition.copy()
        else:
            arguments = [exp.Case(ifs=[exp.If(this=condition.copy(), true=a.copy())]) for a in arguments]
    return Call(
        function, tuple(a.copy() for a in arguments), tuple(parameters), whole.sql(dialect="spark"), where
    )


def _read_call(node: exp.Expr, users: Collection[str], fail: Fail) -> tuple[str | None, list[exp.Expr]]:
    """The canonical name of what a node calls, None if that is no aggregate, and all arguments."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return _NAMES.get(name) or (name if name in users else None), list(node.expressions)
    function = "count" if isinstance(node, exp.Count) else _CLASSES.get(type(node))
    if function is None:
        return None, []
    arguments = []
    for key, value in node.args.items():
        if value is None or value is False or key in _FLAGS:
            continue
        if key not in _READ:
            raise fail(node, f"{function}: {key.strip('_').replace('_', ' ')} is not supported; leave it out")
        arguments += value if isinstance(value, list) else [value]
    return function, arguments


def _read_within_group(node: exp.WithinGroup, fail: Fail) -> tuple[str | None, list[exp.Expr]]:
    """`percentile_cont(q)` or `mode()` WITHIN GROUP (ORDER BY x): x comes first, and DESC has a name of its own."""
    order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if not isinstance(node.this, (exp.PercentileCont, exp.Mode)):
        return None, []
    if len(order) != 1:
        raise fail(node, "WITHIN GROUP (ORDER BY x) orders by one value here")
    if isinstance(node.this.this, exp.Distinct):
        raise fail(node, "DISTINCT does not go with WITHIN GROUP; write percentile(DISTINCT x, q)")
    function = "percentile" if isinstance(node.this, exp.PercentileCont) else "mode"
    if (function == "mode") != (node.this.this is None) or node.this.args.get("expression") is not None:
        raise fail(node, "expected percentile_cont(q) or mode() before WITHIN GROUP (ORDER BY x)")
    first = order[0].this if isinstance(order[0], exp.Ordered) else order[0]
    descends = isinstance(order[0], exp.Ordered) and order[0].args.get("desc")
    return f"{function}_desc" if descends else function, [first, *filter(None, [node.this.this])]


def _take_parameters(
    function: str, arguments: list[exp.Expr], whole: exp.Expr, fail: Fail
) -> tuple[str, list[exp.Expr], list[float | str]]:
    """Constants among the arguments: percentages, precision, how many are wanted."""
    start = PARAMETERS.get(function.removesuffix("_desc"), len(arguments))
    values, constants = arguments[:start], arguments[start:]
    if function.endswith("_by") and constants:
        k = _number(constants[0])
        if not isinstance(k, float) or k != int(k) or not 1 <= k <= MOST_BEST:
            raise fail(whole, f"{function}: the third argument is how many are wanted, a whole number from 1 to {MOST_BEST}")
        return f"{function}_k", values, [int(k)]
    if function == "percentile" and len(constants) > 1:
        return "percentile_weighted", [*values, constants[1]], [_number(constants[0])]
    return function, values, [_number(c) for c in constants]


def there_is() -> str:
    """The aggregates, for a message."""
    return f" There is: {', '.join(NAMES)}."


def nearest_aggregate(name: str, user_defined: Iterable[str] = ()) -> str | None:
    """The aggregate that was meant by a misspelt name, if it is clear."""
    known = [*NAMES, *(u.lower() for u in user_defined)]
    swapped = next((k for k in known if sorted(k) == sorted(name.lower())), None)
    return swapped or next(iter(get_close_matches(name.lower(), known, n=1, cutoff=0.8)), None)


def _number(node: exp.Expr) -> float | str:
    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return node.sql(dialect="spark")
