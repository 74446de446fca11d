"""Tables of state, and what each kind says of itself: what it keeps and until when, whose waits count, which
time its rows go by.

A table serves `members`, relations that share it. Sharing and placing make tables (`share_panes.py`,
`place_relations.py`); the rules after them, EXPLAIN and `physical/` ask a table, not which kind it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.graph import Aggregate, Graph, KeyedJoin
from headrace.logical.progress_columns import ProgressColumns
from headrace.partitioning.follow_rows import TableKey
from headrace.progress.waits import Wait, Waits
from headrace.windows import Grid, WindowSpec
from headrace.windows.describe_window import describe_length


@dataclass(frozen=True)
class StateBound:
    """What a table keeps, in words, and what bounds it."""

    keeps: str
    until: str


NOTHING = StateBound("nothing", "from batch to batch")


class Table:
    """Rows or partial aggregates, by key, in the slots of a level."""

    if TYPE_CHECKING:

        @property
        def id(self) -> str: ...

        @property
        def label(self) -> str: ...

        @property
        def level(self) -> int: ...

        @property
        def partition(self) -> tuple[TableKey, ...]:
            """The keys, or expressions over k0…, that decide the mini-partition."""

        @property
        def members(self) -> tuple[str, ...]:
            """The relations that read it."""

    @property
    def is_used(self) -> bool:
        """Whether a query that is not removed reads it."""
        return True

    @property
    def pane(self) -> int | None:
        """The ticks of its panes."""
        return None

    @property
    def closed_windows(self) -> tuple[WindowSpec, ...]:
        """The windows it closes."""
        return ()

    @property
    def closes_early(self) -> tuple[int, ...]:
        """Keys by which groups close on their own."""
        return ()

    def find_input(self, graph: Graph) -> str:
        """The relation whose rows come to it."""
        raise NotImplementedError

    def list_keys(self, graph: Graph) -> tuple[exp.Expr, ...]:
        """Its keys, over the columns of its input."""
        raise NotImplementedError

    def find_waits(self, graph: Graph, progress: Mapping[str, ProgressColumns]) -> Waits:
        """What its progress waits for; `progress` is that of relations."""
        raise NotImplementedError

    def find_time(self, graph: Graph) -> str | None:
        """The column of rows of its input that its readers go by."""
        raise NotImplementedError

    def bound(self, graph: Graph) -> StateBound:
        """What it keeps from batch to batch, and until when."""
        return NOTHING

    def keep_members(self, used: Collection[str]) -> Table:
        """It as these read it, of whom there is one."""
        return self

    # -- words --------------------
    def describe(self, graph: Graph) -> str:
        """What it is, for EXPLAIN."""
        return ""

    def describe_short(self, graph: Graph) -> str:
        """What it is in a word or two."""
        return "rows"

    def list_heads(self, graph: Graph, inputs_of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """The relations that EXPLAIN shows under it, each with a line of words if it has no name."""
        return [(name, "") for name in self.members]


class GroupTable(Table):
    """Partial aggregates by group, of aggregations that agree on input and keys."""

    def _first(self, graph: Graph) -> Aggregate:
        member = graph.relations[self.members[0]]
        assert isinstance(member, Aggregate)
        return member

    def find_input(self, graph: Graph) -> str:
        return self._first(graph).input

    def list_keys(self, graph: Graph) -> tuple[exp.Expr, ...]:
        return self._first(graph).keys

    def find_waits(self, graph: Graph, progress: Mapping[str, ProgressColumns]) -> Waits:
        return self._first(graph).find_waits(graph)

    def find_time(self, graph: Graph) -> str | None:
        return self._first(graph).find_window_column(graph)

    def describe(self, graph: Graph) -> str:
        return "by window"

    def describe_short(self, graph: Graph) -> str:
        return "same window"


@dataclass(frozen=True)
class PaneTable(GroupTable):
    """State of aggregations by pane and group; `members` share it."""

    id: str
    label: str
    members: tuple[str, ...]
    level: int
    partition: tuple[TableKey, ...]
    grid: Grid
    windows: tuple[WindowSpec, ...]  # of the members in use
    cohort: int
    early: tuple[int, ...] = ()  # keys by which groups close on their own (`close_groups.py`)

    @property
    def is_used(self) -> bool:
        return bool(self.windows)

    @property
    def pane(self) -> int | None:
        return self.grid.width

    @property
    def closed_windows(self) -> tuple[WindowSpec, ...]:
        return self.windows

    @property
    def closes_early(self) -> tuple[int, ...]:
        return self.early

    def bound(self, graph: Graph) -> StateBound:
        panes = max((w.count_panes(self.grid.width) for w in self.windows), default=0)
        keeps = f"{panes:,} pane{'s' if panes > 1 else ''} of {self.describe_short(graph).removeprefix('panes of ')} a group"
        for_ever = all(w.reports_without_rows for w in self.windows)
        return StateBound(keeps, "for ever: one row a group" if for_ever else "until their last window has closed")

    def describe(self, graph: Graph) -> str:
        return self.describe_short(graph)

    def describe_short(self, graph: Graph) -> str:
        return f"panes of {describe_length(self.grid.width, self._first(graph).unit)}"


@dataclass(frozen=True)
class GatherTable(GroupTable):
    """Rows of one window brought together from several slots; nothing is kept from batch to batch."""

    id: str
    label: str
    members: tuple[str, ...]
    level: int
    partition: tuple[TableKey, ...]


@dataclass(frozen=True)
class JointTable(GroupTable):
    """State of an aggregation by the times of several inputs of a join."""

    id: str
    label: str
    members: tuple[str, ...]
    level: int
    partition: tuple[TableKey, ...]
    cohort: int

    def bound(self, graph: Graph) -> StateBound:
        return StateBound("groups", "until all inputs, or the join on one of the times, have passed them")

    def describe(self, graph: Graph) -> str:
        return "by times of both inputs"


@dataclass(frozen=True)
class RowTable(Table):
    """Rows of a relation kept by key, for the joins that `readers` names with the number of their input."""

    id: str
    label: str
    input: str
    keys: tuple[exp.Expr, ...]  # over the columns of the input, in the types that all inputs of a join have
    types: tuple[str, ...]
    columns: tuple[str, ...]  # of the input, that readers need
    readers: tuple[tuple[str, int], ...]
    level: int
    partition: tuple[TableKey, ...]
    cohort: int

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(join for join, _ in self.readers))

    def list_joins(self, graph: Graph) -> list[tuple[KeyedJoin, int]]:
        """The joins that read it, with the number of their input."""
        found = [(graph.relations[name], number) for name, number in self.readers]
        return [(join, number) for join, number in found if isinstance(join, KeyedJoin)]

    def find_input(self, graph: Graph) -> str:
        return self.input

    def list_keys(self, graph: Graph) -> tuple[exp.Expr, ...]:
        return self.keys

    def find_waits(self, graph: Graph, progress: Mapping[str, ProgressColumns]) -> Waits:
        return progress[self.input][self.find_time(graph)]

    def find_time(self, graph: Graph) -> str:
        join, number = self.list_joins(graph)[0]
        return join.inputs[number].time

    def bound(self, graph: Graph) -> StateBound:
        """Rows are kept until no other input of any join has a row to come that reaches them."""
        joins = self.list_joins(graph)
        bounds = [join.bound_rows(number) for join, number in joins]
        others = sorted({other for one in bounds for other in one.others})
        said = next((one.words for one in bounds if one.words), "" if others else "until progress passes them")
        length = describe_length(max(0, *(one.ticks for one in bounds)), joins[0][0].unit)
        be = "is" if len(others) == 1 else "are"
        return StateBound("rows", said or f"until {' and '.join(others)} {be} {length} past them")

    def keep_members(self, used: Collection[str]) -> Table:
        return replace(self, readers=tuple(reader for reader in self.readers if reader[0] in used))

    def list_heads(self, graph: Graph, inputs_of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """Each join under the table of its first input."""
        joins = {j.name: j for j, _ in self.list_joins(graph) if inputs_of.get(j.name, ("",))[0] == self.id}
        return [(name, join.describe_tables(inputs_of[name])) for name, join in joins.items()]


@dataclass(frozen=True)
class TransitTable(Table):
    """Rows of a relation over streams on their way through slots, where lookups read them; nothing is
    kept.
    """

    id: str
    label: str
    input: str
    keys: tuple[exp.Expr, ...]  # over the columns of the input, in the types that lookups compare
    types: tuple[str, ...]
    columns: tuple[str, ...]  # of the input, that readers need
    members: tuple[str, ...]  # the lookups that read it
    level: int
    partition: tuple[TableKey, ...]

    def find_input(self, graph: Graph) -> str:
        return self.input

    def list_keys(self, graph: Graph) -> tuple[exp.Expr, ...]:
        return self.keys

    def find_waits(self, graph: Graph, progress: Mapping[str, ProgressColumns]) -> Waits:
        return tuple(Wait(stream) for stream in graph.streams_of(self.input))

    def find_time(self, graph: Graph) -> str | None:
        return None

    def keep_members(self, used: Collection[str]) -> Table:
        return replace(self, members=tuple(name for name in self.members if name in used))

    def list_heads(self, graph: Graph, inputs_of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        return [(name, graph.relations[name].describe_selection()) for name in self.members]


__all__ = ["GatherTable", "JointTable", "PaneTable", "RowTable", "StateBound", "Table", "TableKey", "TransitTable"]
