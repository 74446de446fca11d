"""Columns of a relation, traced to attributes of the source streams (document 000 §3.5.2).

Rows of a relation come from streams along one or several ways: each arm of a union is a way of its own, a join makes one
way of two. A `SourceView` is one such way, and says of every column what it is on each stream it is a function of, or
why it is none: it is time (§3.5.1: temporal attributes never partition), the result of an aggregate, or filled with
NULLs by an outer join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.logical.graph import WINDOW_COLUMNS, Aggregate, Derive, Graph, Merge, Output, Relation, Rows
from headrace.partitioning.partitioning_key import needs_quotes
from headrace.partitioning.recognize_key import is_volatile

TEMPORAL = "temporal"
AGGREGATED = "the result of an aggregate"
CONSTANT = "constant"
VOLATILE = "not the same twice"
SEPARATE = "a function of attributes of different streams"

Traced = Mapping[str, exp.Expr] | str  # by stream; or why there is no such expression


@dataclass(frozen=True)
class SourceView:
    """One way from streams to a relation's rows."""

    streams: tuple[str, ...]
    columns: Mapping[str, Traced] = field(default_factory=dict)

    def trace(self, expression: exp.Expr) -> Traced:
        """An expression over the columns as one over attributes, for each stream that has them all."""
        names = list(dict.fromkeys(c.name for c in expression.find_all(exp.Column)))
        if any(call.name == "_bucket" for call in expression.find_all(exp.Anonymous)):
            return TEMPORAL  # GSQL's time/60
        if is_volatile(expression):
            return VOLATILE
        if not names:
            return CONSTANT
        found: list[Mapping[str, exp.Expr]] = []
        for name in names:
            traced = self.columns.get(name, f"an unknown column {name}")
            if isinstance(traced, str):
                return traced
            found.append(traced)
        streams = [s for s in self.streams if all(s in t for t in found)]
        if not streams:
            return SEPARATE
        return {s: _substitute(expression, {n: t[s] for n, t in zip(names, found, strict=True)}) for s in streams}


Views = tuple[SourceView, ...]


def trace_rows(graph: Graph, relation: Rows) -> Views:
    views = []
    for branch in relation.branches:
        time = graph.streams[branch.stream].on.lower()
        columns: dict[str, Traced] = {}
        for name, expression in branch.columns:
            used = {c.name.lower() for c in expression.find_all(exp.Column)}
            columns[name] = TEMPORAL if time in used else {branch.stream: expression} if used else CONSTANT
        views.append(SourceView((branch.stream,), columns))
    return tuple(views)


def trace_aggregate(relation: Aggregate, views: Views) -> Views:
    return tuple(_trace_outputs(relation.outputs, _group_view(relation, view)) for view in views)


def trace_derive(relation: Derive, views: Views) -> Views:
    windows = dict.fromkeys(WINDOW_COLUMNS, TEMPORAL)
    return tuple(
        _trace_outputs(relation.outputs, SourceView(v.streams, {**v.columns, **windows})) for v in views
    )


def trace_merge(relation: Merge, arms: Mapping[str, Views]) -> Views:
    return tuple(view for name in relation.inputs for view in arms[name])


def trace_given(relation: Relation, views: Views) -> Views:
    """The rows of a relation as if they were those of a stream: every column but time is an attribute."""
    temporal = {*WINDOW_COLUMNS, *(n for v in views for n, traced in v.columns.items() if traced == TEMPORAL)}
    columns: dict[str, Traced] = dict.fromkeys(WINDOW_COLUMNS, TEMPORAL)
    for name in relation.columns:
        columns[name] = TEMPORAL if name in temporal else {relation.name: exp.column(name, quoted=needs_quotes(name))}
    return (SourceView((relation.name,), columns),)


def _group_view(relation: Aggregate, view: SourceView) -> SourceView:
    """What an aggregation's outputs are over: k0…, a0… and the window."""
    columns: dict[str, Traced] = {f"k{i}": view.trace(k) for i, k in enumerate(relation.keys)}
    columns |= {f"a{i}": AGGREGATED for i in range(len(relation.calls))}
    columns |= dict.fromkeys(WINDOW_COLUMNS, TEMPORAL)
    return SourceView(view.streams, columns)


def _trace_outputs(outputs: tuple[Output, ...], view: SourceView) -> SourceView:
    return SourceView(view.streams, {name: view.trace(e) for name, e in outputs})


def _substitute(expression: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            value = values[node.name].copy()
            return value if isinstance(value, (exp.Column, exp.Literal)) else exp.paren(value)
        return node

    return expression.copy().transform(visit)
