"""Conditions of one stream, as the SQL front end has sorted them out, with the selectivity the catalog knows or guesses.

As in `filter_text.py`, `column = value`, `column IN (…)` and comparisons with numbers can be compared with those of other
queries; anything else is kept as text. The front end takes BETWEEN apart, and what both sides of an OR demand out of it;
where the catalog declares how much the whole keeps, the whole is what counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.network.filter_text import range_condition, text_condition, value_condition
from headrace.network.stream_catalog import Catalog
from headrace.network.stream_filters import Condition, StreamFilter, conjoin_conditions
from headrace.sql.join_conditions import split_conjuncts

_COMPARISONS: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def read_filter(catalog: Catalog, stream: str, conditions: Sequence[exp.Expr]) -> StreamFilter:
    """The filter of a stream from conditions over its columns that must all hold."""

    def declared(node: exp.Expr) -> bool:
        return catalog.filter(stream, node.sql("spark")) is not None

    whole: list[exp.Expr] = []
    for node in conditions:
        between = _join_between(whole[-1], node) if whole else None
        if between is not None and declared(between):
            whole[-1] = between
        else:
            whole.append(node)
    alternatives = [node for node in whole if isinstance(node, exp.Or) and declared(node)]
    implied = [part for node in alternatives for part in split_conjuncts(node)[:-1]]
    return conjoin_conditions(read_condition(catalog, stream, node) for node in whole if node not in implied)


def read_condition(catalog: Catalog, stream: str, node: exp.Expr) -> Condition:
    """One condition over the columns of a stream."""
    if isinstance(node, exp.In) and isinstance(node.this, exp.Column):
        values = [read_literal(v) for v in node.expressions]
        if values and None not in values:
            return value_condition(catalog, stream, node.this.name, [str(v) for v in values])
    if isinstance(node, exp.EQ):
        for left, right in ((node.this, node.expression), (node.expression, node.this)):
            value = read_literal(right)
            if isinstance(left, exp.Column) and value is not None:
                return value_condition(catalog, stream, left.name, [value])
    if type(node) in _COMPARISONS:
        left, right, op = node.this, node.expression, _COMPARISONS[type(node)]
        if read_literal(left) is not None:
            left, right, op = right, left, _FLIPPED[op]
        number = _read_number(right)
        if number is not None:
            text = left.name if isinstance(left, exp.Column) else left.sql("spark")
            return range_condition(catalog, stream, text, _columns(node), op, number)
    return text_condition(catalog, stream, node.sql("spark"), _columns(node))


def read_literal(node: exp.Expr) -> str | None:
    """The text of a value that is written out."""
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return f"-{node.this.this}"
    return str(node.this) if isinstance(node, exp.Literal) else None


def _read_number(node: exp.Expr) -> float | None:
    try:
        return float(read_literal(node) or "")
    except ValueError:
        return None


def _join_between(low: exp.Expr, high: exp.Expr) -> exp.Between | None:
    """The BETWEEN that two conditions may have been."""
    if not isinstance(low, exp.GTE) or not isinstance(high, exp.LTE) or low.this != high.this:
        return None
    return exp.Between(this=low.this.copy(), low=low.expression.copy(), high=high.expression.copy())


def _columns(node: exp.Expr) -> frozenset[str]:
    return frozenset(c.name for c in node.find_all(exp.Column))
