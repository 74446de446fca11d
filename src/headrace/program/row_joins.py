"""Joins of rows: the nodes that keep them, and the step that joins them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from headrace.logical.join_kind import JoinKind
from headrace.logical.time_bounds import TimeBounds
from headrace.program.column_names import name_values
from headrace.program.node import Node
from headrace.program.step import Labels, Step
from headrace.progress.complete_program import PendingResults
from headrace.windows import Sliding


@dataclass(frozen=True, kw_only=True)
class RowNode(Node):
    """Rows (pid, _t, k…, v…) kept by key until the joins that read them need them no more."""

    values: int
    nulls: bool  # whether rows with a null key are kept

    takes_late: ClassVar[bool] = False

    @property
    def needed(self) -> str:
        """The rule of progress that says before which of its rows none is needed any more."""
        return f"{self.name} needed"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("_t", *self.list_keys(), *name_values(self.values))

    @property
    def gives(self) -> tuple[str, ...]:
        return ()

    @property
    def meets_nulls(self) -> bool:
        return self.nulls

    def describe(self) -> Iterator[str]:
        return (feed.describe(*self.columns[1:]) for feed in self.feeds)


@dataclass(frozen=True)
class JoinSide:
    """An input of a join: a node, its columns as the join names them (SQL over k0…, v0…, _t), and the rule of progress that says
    from which of its rows on none is complete: those before have met all rows they can.
    """

    node: str
    columns: str
    complete: str


@dataclass(frozen=True)
class JoinRows(Step):
    """The results that new rows bring, and, of outer and anti-joins, the rows that have found no partner."""

    join: str  # the relation
    view: str
    inputs: tuple[JoinSide, ...]
    kind: JoinKind
    keys: int
    bounds: TimeBounds
    condition: str | None  # SQL over the join's columns
    outputs: str  # SQL over them
    padded: tuple[str, ...]  # for rows of input i without a partner
    window: Sliding | None = None
    window_ticks: tuple[str, ...] = ()  # SQL over the join's columns: the times that share the window, if not those of the inputs

    @property
    def gives(self) -> str:
        return self.view

    @property
    def meets(self) -> tuple[str, ...]:
        return tuple(side.node for side in self.inputs)

    def list_pending(self) -> Iterator[PendingResults]:
        sides = [self.inputs[number] for number in self.kind.kept]
        return (PendingResults(side.node, side.node, side.complete) for side in sides)

    def find_dealing_obstacle(self, node: str, label: Labels) -> str | None:
        if self.kind is JoinKind.DISTINCT:
            return "SELECT DISTINCT reads it"
        if 1 in self.kind.kept:
            return f"a {self.kind} join reads it"
        if self.meets.count(node) > 1:
            return "it is joined with itself"
        if node not in self.meets:
            return f"{' and '.join(map(label, self.meets))} are joined without it"
        if self.kind.decided and self.meets[0] != node:
            return f"{label(self.meets[0])} are given once, whether or not they have a partner in it"
        return None

    def describe(self) -> str:
        where = f" where {self.condition}" if self.condition else ""
        return f"{self.view}: {self.kind} {' ⋈ '.join(self.meets)} giving {self.outputs}{where}"
