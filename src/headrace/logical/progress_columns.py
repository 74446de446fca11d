"""Which columns of a relation carry progress, and what each of them waits for (document 003, chapters 6 to 8).

A stream has one such column. Selections keep it, projections that copy it too; a union has those that all its arms have
in the same place; an aggregate has the end of its window. The results of a join carry the progressing attributes of all
its inputs, each complete as far as `TimeBounds.complete` says (individual punctuation). `greatest` of them all waits
for less than the later of the two does: a result still to come has a row still to come, so its largest value is not behind
the least of the inputs' bounds, whatever the width of the band. That is what joint punctuation says of it (section 7.2).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headrace.logical.graph import Aggregate, Derive, Graph, Join, Merge, Rows
from headrace.progress.waits import Wait, Waits, unite_waits

ProgressColumns = Mapping[str, Waits]


def find_progress(graph: Graph, name: str) -> ProgressColumns:
    """The columns of a relation that carry progress; for windowed ones the end of the window, which stands a tick behind
    the last row it can hold.
    """
    relation = graph.relations[name]
    if isinstance(relation, Rows):
        waits = unite_waits([Wait(branch.stream) for branch in relation.branches])
        return {} if relation.time is None else {relation.time: waits}
    if isinstance(relation, Aggregate):
        return {"window_end": find_waits(graph, relation)}
    if isinstance(relation, Join):
        waits_of = [find_progress(graph, i.relation)[i.time] for i in relation.inputs]
        times = [c for c in relation.visible if c.column == relation.inputs[c.input].time]
        return {c.name: relation.bounds.complete(c.input, waits_of) for c in times}
    if isinstance(relation, Merge):
        arms = [(find_progress(graph, i), graph.relations[i].columns) for i in relation.inputs]
        found = {}
        for place, column in enumerate(relation.columns):
            each = [progress.get(columns[place]) for progress, columns in arms]
            if graph.is_windowed(name):
                each = [progress.get(column) for progress, _ in arms]
            if all(each):
                found[column] = unite_waits(*(w for w in each if w is not None))
        return found
    inner = find_progress(graph, relation.input)
    if graph.is_windowed(name):
        return inner
    return {n: waits for n, e in relation.outputs if (waits := _pass_expression(graph, relation, e, inner))}


def find_waits(graph: Graph, aggregate: Aggregate) -> Waits:
    """What the windows of an aggregation wait for; nothing if no column carries their progress."""
    inner = find_progress(graph, aggregate.input)
    if graph.is_windowed(aggregate.input):
        return inner["window_end"]
    return inner.get(find_time(graph, aggregate) or "", ())


def find_time(graph: Graph, aggregate: Aggregate) -> str | None:
    """The column of raw rows that the windows of an aggregation are on: the one it names, or the only one."""
    inner = find_progress(graph, aggregate.input)
    if aggregate.on is not None:
        return next((c for c in inner if c.lower() == aggregate.on.lower()), None)
    return next(iter(inner)) if len(inner) == 1 else None


def _pass_expression(graph: Graph, relation: Derive, node: exp.Expr, inner: ProgressColumns) -> Waits:
    if isinstance(node, exp.Paren):
        return _pass_expression(graph, relation, node.this, inner)
    if isinstance(node, exp.Column):
        return inner.get(node.name, ())
    if not isinstance(node, (exp.Greatest, exp.Least)):
        return ()
    parts = [node.this, *node.expressions]
    each = [_pass_expression(graph, relation, part, inner) for part in parts]
    if not all(each):
        return ()
    source = graph.relations[relation.input]
    if isinstance(node, exp.Greatest) and isinstance(source, Join) and source.kind == "inner":
        named = {part.name for part in parts if isinstance(part, exp.Column)}
        times = [i.time for i in source.inputs]
        if {c.input for c in source.visible if c.name in named and c.column == times[c.input]} == set(
            range(len(times))
        ):
            return unite_waits(*(find_progress(graph, i.relation)[i.time] for i in source.inputs))
    return unite_waits(*each)
