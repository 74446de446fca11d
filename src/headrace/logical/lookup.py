"""Rows of a relation with those of a static table. It keeps no state and passes rows and progress on, so it
is raw or windowed as what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import Inner
from headrace.logical.relation import ColumnTyper, JoinColumn, KeyedInput, Relation, T_co

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class Lookup(Relation):
    """`kind` is inner, left, semi or anti; rows of the relation are kept or looked up, never those of the
    table. Columns of input 0 are the relation's, those of input 1 the table's; `condition` is over them all,
    as in a join.
    """

    name: str
    input: str
    table: str
    alias: str  # of the table
    kind: JoinKind
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]  # equal: over columns of the relation, over those of the table
    condition: exp.Expr | None
    visible: tuple[JoinColumn, ...]
    hidden: tuple[JoinColumn, ...]
    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.visible)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.input,)

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table,)

    @property
    def compared(self) -> tuple[KeyedInput, ...]:
        mine, theirs = tuple(k for k, _ in self.keys), tuple(k for _, k in self.keys)
        return KeyedInput(self.input, mine), KeyedInput(self.table, theirs)

    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        inner = read(self.input)
        return {c.name: inner[c.column] for c in self.visible if c.input == 0 and c.column in inner}

    def find_passed_streams(self, graph: Graph) -> set[str]:
        """Rows of streams are sent through slots, and what lookups before have passed on comes too."""
        source = graph.relations[self.input]
        return set(source.own_streams) or source.find_passed_streams(graph)

    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        return typer.join(self, (self.input, self.table), (*self.visible, *self.hidden), self.condition, {})

    def describe_selection(self) -> str:
        """Which table, by which keys."""
        by = ", ".join(other.sql(dialect="spark") for _, other in self.keys)
        return f"{self.kind} lookup in {self.table}" + (f" by {by}" if by else ": every row meets every row")
