"""Which columns of a relation carry progress, and what each of them waits for (document 003, chapters 6 to 8).

A stream has one such column. Selections keep it, projections that copy it too, and functions of it that never fall carry it on
(`apply_function.py`); of several, the one that is copied counts where none is named. A union has those that all its arms have
in the same place; an aggregate has the end of its window; a lookup in a static table has those of the rows that look up.
The results of a join carry the progressing attributes of all its inputs, each complete as far as `TimeBounds.complete` says
(individual punctuation). `greatest` of them all waits for less than the later of the two does: a result still to come has a
row still to come, so its largest value is not behind the least of the inputs' bounds, whatever the width of the band. That
is what joint punctuation says of it (section 7.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn, apply_function, canonical_type
from headrace.logical.graph import (
    Aggregate,
    Branch,
    Derive,
    Graph,
    Join,
    Lookup,
    Merge,
    Rows,
    Stream,
    TemporalJoin,
)
from headrace.logical.join_kind import JoinKind
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.waits import Floor, Wait, Waits, unite_waits

ProgressColumns = Mapping[str, Waits]
Inner = Callable[[str], Mapping[str, "ProgressColumn"]]  # the columns of a relation before


def find_progress(graph: Graph, name: str) -> ProgressColumns:
    """The columns of a relation that carry progress, with what they wait for; for windowed ones the end of the window, which
    stands a tick behind the last row it can hold.
    """
    return {n: found.waits for n, found in find_progress_columns(graph, name).items()}


def find_progress_columns(graph: Graph, name: str, inner_of: Inner | None = None) -> dict[str, ProgressColumn]:
    """The columns of a relation that carry progress, in its unit of time; copies before functions of them. `inner_of` gives those
    of what it reads, with what these are to be called; without it they wait for streams.
    """
    relation = graph.relations[name]
    read: Inner = inner_of or (lambda n: find_progress_columns(graph, n))
    if isinstance(relation, Rows):
        if relation.time is None:
            return {}
        known = read_branches(graph.streams, relation.branches)
        if relation.time not in known:  # a stream that is known by name alone
            waits = unite_waits([Wait(branch.stream) for branch in relation.branches])
            return {relation.time: ProgressColumn(waits, "bigint" if relation.unit == "int" else "timestamp")}
        return _in_order({relation.time: known[relation.time], **known}, relation.unit)
    if isinstance(relation, Aggregate) and relation.joint:
        inner = read(relation.input)
        starts = {}
        for t in relation.joint:
            waits = tuple(w.then(Floor(t.width, t.offset)) for w in inner[t.column].waits)
            starts[f"k{t.key}"] = ProgressColumn(waits, inner[t.column].type)
        return {n: starts[e.name] for n, e in relation.outputs if isinstance(e, exp.Column) and e.name in starts}
    if isinstance(relation, Aggregate):
        return {"window_end": ProgressColumn(find_waits(graph, relation, read), graph.window_type(name))}
    if isinstance(relation, Join):
        each = [read(i.relation)[i.time] for i in relation.inputs]
        times = [c for c in relation.visible if c.column == relation.inputs[c.input].time]
        waits_of = [one.waits for one in each]
        return {c.name: ProgressColumn(relation.bounds.complete(c.input, waits_of), each[c.input].type) for c in times}
    if isinstance(relation, TemporalJoin):
        each = [read(i.relation)[i.time] for i in relation.inputs]
        found = ProgressColumn(unite_waits(*(one.waits for one in each)), each[0].type)
        own = relation.inputs[0].time
        return {c.name: found for c in relation.visible if c.input == 0 and c.column == own}
    if isinstance(relation, Lookup):
        inner = read(relation.input)
        return {c.name: inner[c.column] for c in relation.visible if c.input == 0 and c.column in inner}
    if isinstance(relation, Merge):
        return _meld_arms(graph, relation, read)
    if graph.is_windowed(name):
        return dict(read(relation.input))
    return _in_order(read_outputs(graph, relation, read), relation.unit)


def read_branches(streams: Mapping[str, Stream], branches: Iterable[Branch]) -> dict[str, ProgressColumn]:
    """The columns that carry progress in every branch, in one unit."""
    found: list[dict[str, ProgressColumn]] = []
    for branch in branches:
        each = {n: apply_branch(streams, branch, e) for n, e in branch.columns}
        found.append({n: one for n, one in each.items() if isinstance(one, ProgressColumn)})
    return {n: one for n in found[0] if (one := _meld_columns([each.get(n) for each in found])) is not None}


def apply_branch(streams: Mapping[str, Stream], branch: Branch, node: exp.Expr) -> ProgressColumn | str | None:
    """The progress an expression over a stream carries."""
    stream = streams.get(branch.stream)
    if stream is None:
        return None
    own = ProgressColumn((Wait(stream.name),), canonical_type(dict(stream.columns)[stream.on]))
    return apply_function(node, lambda n: own if isinstance(n, exp.Column) and n.name == stream.on else None)


def find_branch_steps(graph: Graph, branch: Branch, column: str | None) -> tuple[MonotoneStep, ...]:
    """From the progressing value of a stream to that of a column which carries its progress."""
    found = apply_branch(graph.streams, branch, branch.expression(column)) if column is not None else None
    return found.waits[0].functions if isinstance(found, ProgressColumn) else ()


def trace_outputs(relation: Derive, inner: Mapping[str, ProgressColumn]) -> dict[str, Waits]:
    """Where the values of the outputs come from that are functions of columns of what a selection of raw rows reads, or the
    greatest or least of several.
    """
    each = {n: apply_function(e, lambda node: _pass_probe(node, inner)) for n, e in relation.outputs}
    return {n: one.waits for n, one in each.items() if isinstance(one, ProgressColumn)}


def _pass_probe(node: exp.Expr, probe: Mapping[str, ProgressColumn]) -> ProgressColumn | None:
    if isinstance(node, exp.Column):
        return probe.get(node.name)
    if not isinstance(node, (exp.Greatest, exp.Least)):
        return None
    each = [apply_function(part, lambda n: _pass_probe(n, probe)) for part in (node.this, *node.expressions)]
    known = [one for one in each if isinstance(one, ProgressColumn)]
    return ProgressColumn(unite_waits(*(one.waits for one in known)), known[0].type) if known else None


def read_outputs(graph: Graph, relation: Derive, inner_of: Inner | None = None) -> dict[str, ProgressColumn]:
    """The outputs of a selection of raw rows that carry progress, in whatever unit."""
    read = _read_once(graph, relation.input, inner_of)
    each = {n: apply_function(e, lambda node: _pass_node(graph, relation, node, read)) for n, e in relation.outputs}
    return {n: one for n, one in each.items() if isinstance(one, ProgressColumn)}


def _read_once(graph: Graph, name: str, inner_of: Inner | None = None) -> Inner:
    """How the columns of relations are found, of which one will be asked for often."""
    read: Inner = inner_of or (lambda n: find_progress_columns(graph, n))
    found = read(name)
    return lambda n: found if n == name else read(n)


def explain_no_progress(graph: Graph, name: str, column: str | None = None) -> str:
    """Why columns of a relation carry no progress though they are computed of one that does; empty if none is."""
    relation, reasons = graph.relations[name], []
    if isinstance(relation, Rows):
        for branch in relation.branches:
            reasons += [apply_branch(graph.streams, branch, e) for n, e in branch.columns if column in (None, n)]
    elif isinstance(relation, Derive) and not graph.is_windowed(name):
        chosen = [e for n, e in relation.outputs if column in (None, n)]
        inner = _read_once(graph, relation.input)
        reasons += [apply_function(e, lambda node: _pass_node(graph, relation, node, inner)) for e in chosen]
    return next((reason for reason in reasons if isinstance(reason, str)), "")


def choose_time(found: Mapping[str, ProgressColumn], wanted: Iterable[str | None], unit: str) -> str | None:
    """The column that counts where none is named: one that is `wanted`, a copy, a function in the same unit, any."""
    order = [*(n for n in wanted if n in found), *(n for n, one in found.items() if not one.applied)]
    order += [n for n, one in found.items() if one.unit == unit]
    return next(iter([*order, *found]), None)


def _in_order(found: Mapping[str, ProgressColumn], unit: str) -> dict[str, ProgressColumn]:
    mine = {n: one for n, one in found.items() if one.unit == unit}
    return {n: one for applied in (False, True) for n, one in mine.items() if one.applied == applied}


def _meld_columns(each: list[ProgressColumn | None]) -> ProgressColumn | None:
    known = [one for one in each if one is not None]
    if len(known) < len(each) or len({one.unit for one in known}) > 1:
        return None
    types = {one.type for one in known}
    type_ = types.pop() if len(types) == 1 else "bigint" if known[0].unit == "int" else "timestamp"
    return ProgressColumn(unite_waits(*(one.waits for one in known)), type_, all(one.applied for one in known))


def _meld_arms(graph: Graph, relation: Merge, read: Inner) -> dict[str, ProgressColumn]:
    arms = [(read(i), graph.relations[i].columns) for i in relation.inputs]
    windowed = graph.is_windowed(relation.name)
    found = {}
    for place, column in enumerate(relation.columns):
        one = _meld_columns([progress.get(column if windowed else columns[place]) for progress, columns in arms])
        if one is not None:
            found[column] = one
    return found


def find_waits(graph: Graph, aggregate: Aggregate, inner_of: Inner | None = None) -> Waits:
    """What the windows of an aggregation wait for; nothing if no column carries their progress."""
    inner = inner_of(aggregate.input) if inner_of is not None else find_progress_columns(graph, aggregate.input)
    column = find_window_column(graph, aggregate, inner)
    return inner[column].waits if column in inner else ()


def find_window_column(graph: Graph, aggregate: Aggregate, inner: Mapping[str, ProgressColumn] | None = None) -> str:
    """The column of what an aggregation reads that its windows are on; "" if none carries progress."""
    if graph.is_windowed(aggregate.input):
        return "window_end"
    return aggregate.joint[0].column if aggregate.joint else find_time(graph, aggregate, inner) or ""


def find_time(graph: Graph, aggregate: Aggregate, columns: Mapping[str, ProgressColumn] | None = None) -> str | None:
    """The column of raw rows that the windows of an aggregation are on: the one it names, or the only one that is no function of
    another.
    """
    source = graph.relations[aggregate.input]
    if aggregate.on is None and isinstance(source, Rows):
        return source.time
    inner = columns or find_progress_columns(graph, aggregate.input)
    if aggregate.on is not None:
        return next((c for c in inner if c.lower() == aggregate.on.lower()), None)
    plain = [n for n, one in inner.items() if not one.applied] or list(inner)
    return plain[0] if len(plain) == 1 else None


def _pass_node(graph: Graph, relation: Derive, node: exp.Expr, read: Inner) -> ProgressColumn | None:
    """A column, or the greatest or least of several, of what a selection reads."""
    if isinstance(node, exp.Column):
        return read(relation.input).get(node.name)
    if not isinstance(node, (exp.Greatest, exp.Least)):
        return None
    parts = [node.this, *node.expressions]
    each = [apply_function(part, lambda n: _pass_node(graph, relation, n, read)) for part in parts]
    known = [one for one in each if isinstance(one, ProgressColumn)]
    if len(known) < len(each) or len({one.type for one in known}) > 1:
        return None
    source = graph.relations[relation.input]
    if isinstance(node, exp.Greatest) and isinstance(source, Join) and source.kind is JoinKind.INNER:
        named = {part.name for part in parts if isinstance(part, exp.Column)}
        times = [i.time for i in source.inputs]
        if {c.input for c in source.visible if c.name in named and c.column == times[c.input]} == set(
            range(len(times))
        ):
            waits = unite_waits(*(read(i.relation)[i.time].waits for i in source.inputs))
            return ProgressColumn(waits, known[0].type)
    return ProgressColumn(unite_waits(*(one.waits for one in known)), known[0].type)
