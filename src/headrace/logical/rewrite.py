"""Expressions put into others."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp


def both(left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    """Both conditions, where there are two."""
    if left is None or right is None:
        return right if left is None else left
    return exp.and_(left.copy(), right.copy())


def substitute(node: exp.Expr, columns: dict[str, exp.Expr]) -> exp.Expr:
    """The expression with what the columns stand for in their place."""

    def visit(child: exp.Expr) -> exp.Expr:
        if isinstance(child, exp.Column) and child.name in columns:
            inner = columns[child.name].copy()
            if isinstance(inner, exp.Column):
                inner.meta.update(child.meta)  # the place it has in its own text
            return inner if isinstance(inner, (exp.Column, exp.Literal, exp.Func)) else exp.paren(inner)
        return child

    return top_down(node, visit)


def top_down(node: exp.Expr, visit: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Replace from the root; what is replaced is not visited again."""
    root = node.copy()
    if (new := visit(root)) is not root:
        return new
    todo = list(root.iter_expressions(reverse=True))
    while todo:  # no recursion: an expression may be some hundred operators deep
        child = todo.pop()
        if (new := visit(child)) is not child:
            child.replace(new)
        else:
            todo += child.iter_expressions(reverse=True)
    return root
