"""Compatible partitioning sets of every node of a query graph (document 000 §3.5).

Inputs come first in a graph, so one pass suffices: each relation's columns are traced to source attributes
(`trace_sources.py`), and what an aggregation or a join requires is said in these (`requirement.py`). Group-by values that
are temporal, or results of aggregates below, are ignored: they stay part of the group, but cannot partition a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.logical.graph import Aggregate, Derive, Graph, Join, Merge, Rows
from headrace.partitioning.infer_join import JoinDescription, infer_join, trace_join
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.recognize_key import find_undo, recognize_key
from headrace.partitioning.requirement import KeyView, Requirement
from headrace.partitioning.stream_partitioning import Types
from headrace.partitioning.trace_sources import (
    Views,
    trace_aggregate,
    trace_derive,
    trace_given,
    trace_merge,
    trace_rows,
)


@dataclass(frozen=True)
class GivenRows:
    """A relation whose rows count as those of a stream of that name, wherever they come from, and the types of its columns."""

    relation: str
    types: Mapping[str, str]


def infer_requirements(
    graph: Graph, relations: Iterable[str] | None = None, given: GivenRows | None = None
) -> dict[str, Requirement]:
    """What each relation (all, or these, inputs first) requires, in the order of the graph."""
    types = collect_types(graph, given)
    names = list(graph.relations if relations is None else relations)
    joins = read_joins(graph, names)
    views: dict[str, Views] = {}
    found: dict[str, Requirement] = {}
    for name in names:
        relation = graph.relations[name]
        if (join := joins.get(name)) is not None:
            sides = {alias: views[read] for alias, read in join.sides.items()}
            views[name], found[name] = trace_join(join, sides), infer_join(name, join, sides, types)
        elif isinstance(relation, Aggregate):
            views[name] = trace_aggregate(relation, views[relation.input])
            found[name] = infer_aggregation(relation, views[relation.input], types)
        elif isinstance(relation, Merge):
            views[name] = trace_merge(relation, views)
            found[name] = Requirement(name, "union", relation.inputs, None)
        elif isinstance(relation, Derive):
            views[name] = trace_derive(relation, views[relation.input])
            found[name] = Requirement(name, "selection", (relation.input,), None)
        elif not isinstance(relation, Rows):  # lookups: nothing is known of what their rows are partitioned by
            views[name] = ()
            found[name] = Requirement(name, "lookup", relation.reads, None)
        else:
            views[name] = trace_rows(graph, relation)
            kind = "union" if len(relation.branches) > 1 else "selection"
            found[name] = Requirement(name, kind, relation.reads, None)
        if given is not None and name == given.relation:
            views[name] = trace_given(relation, views[name])
            found[name] = Requirement(name, "selection", (), None)
        found[name] = replace(found[name], sources=tuple(sorted({s for v in views[name] for s in v.streams})))
    return found


def read_joins(graph: Graph, names: Iterable[str]) -> dict[str, JoinDescription]:
    """Those of these relations that are joins, as plain data: the i-th keys of all inputs are equal.

    Rows of a distinct come from one input, and those that are alike must meet: its keys equal themselves.
    """
    return {name: describe_join_keys(r) for name in names if isinstance(r := graph.relations[name], Join)}


def describe_join_keys(join: Join) -> JoinDescription:
    """A join of the query graph as plain data."""
    aliases = [i.alias for i in join.inputs]
    assert len(set(aliases)) == len(aliases), f"{join.name}: two inputs have one name"
    positions = tuple(
        dict(zip(aliases, keys, strict=True)) for keys in zip(*(i.keys for i in join.inputs), strict=True)
    )
    first = aliases[0]
    equalities = tuple(
        ((first, keys[first]), (other, keys[other])) for keys in positions for other in (aliases[1:] or aliases)
    )
    outputs = tuple((c.name, (aliases[c.input], exp.column(c.column))) for c in join.visible)
    padded = [aliases[1 - i] for i in join.kind.kept]
    sides = {i.alias: i.relation for i in join.inputs}
    return JoinDescription(sides, equalities, outputs, frozenset(padded), positions)


def infer_aggregation(relation: Aggregate, views: Views, types: Types) -> Requirement:
    """An aggregation requires its group-by values together that are functions of source attributes."""
    alone = len(views) == 1 and len(views[0].streams) == 1
    usable: list[exp.Expr] = []
    numbers: list[int] = []
    ignored: list[str] = []
    for number, key in enumerate(relation.keys):
        reasons = [t for v in views if isinstance(t := v.trace(key), str)]
        if reasons:
            ignored.append(f"{key.sql(dialect='spark')}: {reasons[0]}")
        else:
            usable.append(key)
            numbers.append(number)
    found = []
    for view in views:
        traced = [view.trace(key) for key in usable]
        by_stream, values = [], []
        for stream in view.streams:
            expressions = [t.get(stream) for t in traced if not isinstance(t, str)]
            of = types.get(stream, {})
            values = [recognize_key(e, of, as_value=True) if e is not None else None for e in expressions]
            keys = [_find_finest(e, of) if e is not None else None for e in expressions] if alone else values
            by_stream.append((stream, tuple(keys)))
        found.append(KeyView(tuple(by_stream), tuple(values) if alone and tuple(values) != by_stream[0][1] else ()))
    return Requirement(
        relation.name,
        "aggregation",
        (relation.input,),
        tuple(found) if usable else (),
        tuple(ignored),
        numbers=tuple(numbers),
    )


def _find_finest(expression: exp.Expr, types: Mapping[str, str]) -> PartitioningKey | None:
    """The key an expression tells apart, if it can be computed of its values; else the expression itself."""
    key = recognize_key(expression, types)
    if key is None or key.column is None or find_undo(expression, types) is not None:
        return key
    return recognize_key(expression, types, as_value=True)


def collect_types(graph: Graph, given: GivenRows | None = None) -> dict[str, dict[str, str]]:
    """Spark's types of the attributes of each stream."""
    found = {s.name: dict(s.columns) for s in graph.streams.values()}
    return found if given is None else found | {given.relation: dict(given.types)}


__all__ = [
    "GivenRows",
    "collect_types",
    "describe_join_keys",
    "infer_aggregation",
    "infer_requirements",
    "read_joins",
]
