"""Relations that keep the rows of their inputs by key, for rows of other inputs that come later: joins, in
general.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_rules import wait_for
from headrace.logical.relation import WINDOW_COLUMNS, ColumnTyper, JoinColumn, KeyedInput, Relation, T_co
from headrace.progress.waits import Waits

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class JoinInput:
    """A relation that takes part in a join: what its rows are matched by, over its own columns."""

    relation: str
    alias: str
    time: str  # the column whose progress the join goes by
    keys: tuple[exp.Expr, ...]  # the i-th keys of all inputs are equal


@dataclass(frozen=True)
class RowBound:
    """Until when rows of an input are kept: until these others are so many ticks past them, or what is said
    in words.
    """

    others: tuple[str, ...] = ()
    ticks: int = 0
    words: str = ""


class KeyedJoin(Relation):
    """`condition` is over the join's columns, those of `hidden` included, which it has for nobody else."""

    if TYPE_CHECKING:

        @property
        def inputs(self) -> tuple[JoinInput, ...]: ...

        @property
        def kind(self) -> JoinKind: ...

        @property
        def condition(self) -> exp.Expr | None: ...

        @property
        def visible(self) -> tuple[JoinColumn, ...]: ...

        @property
        def hidden(self) -> tuple[JoinColumn, ...]: ...

    at_window_end = False  # whether results of windows take part at the end of their window, not at the tick before
    shows_window = False  # whether it has the bounds of a window that its inputs share

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.visible) + (WINDOW_COLUMNS if self.shows_window else ())

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(i.relation for i in self.inputs)

    @property
    def compared(self) -> tuple[KeyedInput, ...]:
        return tuple(KeyedInput(i.relation, i.keys) for i in self.inputs)

    def is_windowed(self, graph: Graph) -> bool:
        return False

    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        more = dict.fromkeys(WINDOW_COLUMNS, graph.window_type(self.name)) if self.shows_window else {}
        return typer.join(self, self.reads, (*self.visible, *self.hidden), self.condition, more)

    # -- what is kept of each input --------------------
    def agree(self, number: int) -> object:
        """What another reader of the rows kept of an input must be for, to share them."""
        return None

    def stores_all(self, number: int) -> bool:
        """Whether all columns of an input are kept, whoever reads them."""
        return False

    def find_needed(self, number: int) -> Waits:
        """From where on rows of an input are needed: until no row still to come reaches them, and, where rows
        without a partner count, until every row they may have met is complete.
        """
        raise NotImplementedError

    def bound_rows(self, number: int) -> RowBound:
        """Until when rows of an input are kept, for EXPLAIN."""
        raise NotImplementedError

    def describe_tables(self, tables: Sequence[str]) -> str:
        """It in a line; `tables` are those of its inputs."""
        raise NotImplementedError

    def wait_for_inputs(self) -> list[Waits]:
        """For each input, what it waits for there."""
        return [wait_for(i.relation, i.time) for i in self.inputs]
