"""Expressions over rows, traced to the columns of the stream they come from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from sqlglot import exp

from headrace.dialect.duck_expression import spark_sql
from headrace.logical.graph import Branch, Graph, Rows


def trace_to_stream(source: Rows, branch: Branch, expression: exp.Expr, types: Mapping[str, str]) -> exp.Expr:
    """An expression over the columns of `source` (of these Spark types) as one over those of a branch's
    stream.

    The branches of a union are made alike: each is cast to the type of the whole.
    """
    inner = dict(branch.columns)
    cast = types if len(source.branches) > 1 else {}

    def visit(child: exp.Expr) -> exp.Expr:
        if isinstance(child, exp.Column) and child.name in inner:
            traced = inner[child.name].copy()
            if child.name in cast:
                return exp.Cast(this=traced, to=exp.DataType.build(cast[child.name], dialect="spark"))
            return traced if isinstance(traced, (exp.Column, exp.Literal)) else exp.paren(traced)
        return child

    return expression.copy().transform(visit)


def find_leaves(graph: Graph, name: str) -> list[Rows]:
    """The relations over streams that a relation is, or unites."""
    return list(graph.relations[name].find_leaves(graph))


def describe_rows(graph: Graph, name: str) -> Hashable:
    """What relations must agree on to be the same rows: for those over streams, streams and filters."""
    relation = graph.relations[name]
    if not isinstance(relation, Rows):
        return name
    return tuple(
        (b.stream, spark_sql(b.where) if b.where is not None else None, *((c, spark_sql(e)) for c, e in b.columns))
        for b in relation.branches
    )


def has_columns_of_streams(graph: Graph, name: str) -> bool:
    """Whether a relation has all columns of its streams, under their names."""
    relation = graph.relations[name]
    return isinstance(relation, Rows) and all(
        tuple(c for c, _ in graph.streams[b.stream].columns) == tuple(c for c, _ in b.columns)
        and all(isinstance(e, exp.Column) and e.name == c for c, e in b.columns)
        for b in relation.branches
    )


def name_column(column: str) -> exp.Column:
    return exp.column(exp.to_identifier(column, quoted=True))


def cast_to(expression: exp.Expr, have: str | None, want: str | None) -> exp.Expr:
    """The expression as a value of another type."""
    if have == want or want is None:
        return expression
    return exp.Cast(this=expression, to=exp.DataType.build(want, dialect="spark"))
