"""Operators bind as in Spark.

sqlglot reads `&`, `^`, `|`, `<<` and `>>` on one level, from left to right, and `=` less tightly than `<`. In Spark shifts
bind first, then `&`, `^` and `|`, and all comparisons are one level. What sqlglot has read is put together anew, with
parentheses, so that whoever reads it again, Spark or we, reads the same.
"""

from __future__ import annotations

from sqlglot import exp

_LEVELS: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.BitwiseLeftShift, exp.BitwiseRightShift),
    (exp.BitwiseAnd,),
    (exp.BitwiseXor,),
    (exp.BitwiseOr,),
)
_BITS = tuple(kind for level in _LEVELS for kind in level)
_EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def as_spark_binds(tree: exp.Expr) -> exp.Expr:
    """The same text, bound as Spark binds it."""
    for node in list(tree.walk(bfs=False)):
        if isinstance(node, _BITS) and not (isinstance(node.parent, _BITS) and node.arg_key == "this"):
            bound = _bits(node)
        elif isinstance(node, _EQUALITIES) and isinstance(node.expression, _ORDERS):
            bound = _compared(node)
        else:
            continue
        if node is tree:
            tree = bound
        else:
            node.replace(bound)
    return tree


def _bits(node: exp.Expr) -> exp.Expr:
    """A chain of bit operators, by level."""
    operands: list[exp.Expr] = []
    operators: list[type[exp.Expr]] = []
    while isinstance(node, _BITS):
        operands.insert(0, node.expression)
        operators.insert(0, type(node))
        node = node.this
    operands.insert(0, node)
    if len(set(operators)) == 1:
        return _joined(operands, operators)
    for level in _LEVELS:
        at = 0
        while at < len(operators):
            if operators[at] not in level:
                at += 1
                continue
            end = at
            while end < len(operators) and operators[end] in level:
                end += 1
            whole = end - at == len(operators)
            part = _joined(operands[at : end + 1], operators[at:end])
            operands[at : end + 1] = [part if whole else exp.paren(part, copy=False)]
            operators[at:end] = []
    return operands[0]


def _joined(operands: list[exp.Expr], operators: list[type[exp.Expr]]) -> exp.Expr:
    out = operands[0]
    for operator, operand in zip(operators, operands[1:], strict=True):
        out = operator(this=out, expression=operand)
    return out


def _compared(node: exp.Expr) -> exp.Expr:
    """`a = b < c`, read as a = (b < c), is (a = b) < c."""
    order = node.expression
    first = _joined([node.this, order.this], [type(node)])
    return _joined([exp.paren(first, copy=False), order.expression], [type(order)])


__all__ = ["as_spark_binds"]
