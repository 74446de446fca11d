"""A selection and projection of one relation that is not just rows of streams: raw or windowed as what it
reads.

Functions of what carries progress, as far as they never fall, carry it on (`apply_function.py`). `greatest`
of the times of all inputs of a join waits for less than the later of the two does: a result still to come has
a row still to come, so its largest value is not behind the least of the inputs' bounds, whatever the width of
the band. That is what joint punctuation says of it (document 003 §7.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn, apply_function
from headrace.logical.join import Join
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import Inner, find_progress_columns, order_columns
from headrace.logical.relation import WINDOW_COLUMNS, ColumnTyper, Output, Relation, Selection, T_co
from headrace.progress.waits import Waits, unite_waits

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class Derive(Relation):
    name: str
    input: str
    unit: str
    outputs: tuple[Output, ...]
    where: exp.Expr | None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.input,)

    def find_windows(self, graph: Graph) -> tuple[str, ...]:
        return graph.relations[self.input].find_windows(graph)

    def has_equal(self, graph: Graph, one: str, other: str) -> bool:
        left, right = (dict(self.outputs)[c] for c in (one, other))
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            return graph.relations[self.input].has_equal(graph, left.name, right.name)
        return bool(left == right)

    def trace_window_end(self, graph: Graph, column: str) -> tuple[int, int] | None:
        found = dict(self.outputs).get(column)
        if column == "window_end" or not isinstance(found, exp.Column):
            return super().trace_window_end(graph, column)
        return graph.relations[self.input].trace_window_end(graph, found.name)

    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        if graph.is_windowed(self.name):
            return dict(read(self.input))
        return order_columns(self.read_outputs(graph, read), self.unit)

    def read_outputs(self, graph: Graph, read: Inner | None = None) -> dict[str, ProgressColumn]:
        """The outputs over raw rows that carry progress, in whatever unit."""
        read = self._read_once(graph, read)
        each = {n: apply_function(e, lambda node: self._pass_node(graph, node, read)) for n, e in self.outputs}
        return {n: one for n, one in each.items() if isinstance(one, ProgressColumn)}

    def find_values(self, graph: Graph, column: str, waits: Waits, read: Inner) -> Waits:
        if graph.is_windowed(self.name):
            return waits
        inner = read(self.input)
        found = apply_function(dict(self.outputs)[column], lambda node: _pass_probe(node, inner))
        assert isinstance(found, ProgressColumn)
        return found.waits

    def explain_no_progress(self, graph: Graph, column: str | None) -> str:
        if graph.is_windowed(self.name):
            return ""
        read = self._read_once(graph)
        chosen = [e for n, e in self.outputs if column in (None, n)]
        reasons = [apply_function(e, lambda node: self._pass_node(graph, node, read)) for e in chosen]
        return next((reason for reason in reasons if isinstance(reason, str)), "")

    def find_passed_streams(self, graph: Graph) -> set[str]:
        return graph.relations[self.input].find_passed_streams(graph)

    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        more = dict.fromkeys(WINDOW_COLUMNS, graph.window_type(self.name)) if graph.is_windowed(self.name) else {}
        return typer.select(self.name, Selection(self.input, self.outputs, self.where), more)

    def describe(self, graph: Graph) -> str:
        return graph.relations[self.input].describe_selection()

    def _read_once(self, graph: Graph, inner_of: Inner | None = None) -> Inner:
        """How the columns of relations are found, of which that of its input will be asked for often."""
        read: Inner = inner_of or (lambda n: find_progress_columns(graph, n))
        found = read(self.input)
        return lambda n: found if n == self.input else read(n)

    def _pass_node(self, graph: Graph, node: exp.Expr, read: Inner) -> ProgressColumn | None:
        """A column, or the greatest or least of several, of what it reads."""
        if isinstance(node, exp.Column):
            return read(self.input).get(node.name)
        if not isinstance(node, (exp.Greatest, exp.Least)):
            return None
        parts = [node.this, *node.expressions]
        each = [apply_function(part, lambda n: self._pass_node(graph, n, read)) for part in parts]
        known = [one for one in each if isinstance(one, ProgressColumn)]
        if len(known) < len(each) or len({one.type for one in known}) > 1:
            return None
        source = graph.relations[self.input]
        if isinstance(node, exp.Greatest) and isinstance(source, Join) and source.kind is JoinKind.INNER:
            named = {part.name for part in parts if isinstance(part, exp.Column)}
            times = [i.time for i in source.inputs]
            if {c.input for c in source.visible if c.name in named and c.column == times[c.input]} == set(range(len(times))):
                waits = unite_waits(*(read(i.relation)[i.time].waits for i in source.inputs))
                return ProgressColumn(waits, known[0].type)
        return ProgressColumn(unite_waits(*(one.waits for one in known)), known[0].type)


def _pass_probe(node: exp.Expr, probe: Mapping[str, ProgressColumn]) -> ProgressColumn | None:
    if isinstance(node, exp.Column):
        return probe.get(node.name)
    if not isinstance(node, (exp.Greatest, exp.Least)):
        return None
    each = [apply_function(part, lambda n: _pass_probe(n, probe)) for part in (node.this, *node.expressions)]
    known = [one for one in each if isinstance(one, ProgressColumn)]
    return ProgressColumn(unite_waits(*(one.waits for one in known)), known[0].type) if known else None
