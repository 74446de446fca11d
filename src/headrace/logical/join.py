"""A join of raw or windowed relations whose rows are near in time: raw rows, with the progressing attributes
of all its inputs.

The columns are called `input.column`, one name each, so that expressions over them are like any others. Each
attribute is complete as far as `TimeBounds.complete` says (individual punctuation, document 003 §7.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.join_kind import JoinKind
from headrace.logical.keyed_join import JoinInput, KeyedJoin, RowBound
from headrace.logical.progress_columns import Inner
from headrace.logical.progress_rules import find_own_value
from headrace.logical.relation import JoinColumn
from headrace.logical.time_bounds import TimeBounds
from headrace.progress.waits import Waits, unite_waits
from headrace.windows import Sliding
from headrace.windows.describe_window import describe_length

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class Join(KeyedJoin):
    """Rows of several relations with equal keys that are near in time.

    `kind` is inner (any number of inputs), or of two inputs left, full, semi or anti: the first input is the
    one whose rows are kept, or looked up. With one input it is distinct: a row is there if no row before it
    had the same keys. With a `window` each result is there once for every window its rows share, and has its
    bounds.
    """

    name: str
    inputs: tuple[JoinInput, ...]
    kind: JoinKind
    bounds: TimeBounds
    condition: exp.Expr | None
    visible: tuple[JoinColumn, ...]
    hidden: tuple[JoinColumn, ...]
    unit: str
    window: Sliding | None = None
    order: str = ""  # how its inputs came to be joined, for EXPLAIN
    window_times: tuple[tuple[str, bool], ...] = ()  # columns that share the window, and whether it is the end of one's own

    @property
    def shows_window(self) -> bool:  # type: ignore[override]
        return self.window is not None

    # -- progress --------------------
    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        each = [read(i.relation)[i.time] for i in self.inputs]
        times = [c for c in self.visible if c.column == self.inputs[c.input].time]
        waits_of = [one.waits for one in each]
        return {c.name: ProgressColumn(self.bounds.complete(c.input, waits_of), each[c.input].type) for c in times}

    def find_values(self, graph: Graph, column: str, waits: Waits, read: Inner) -> Waits:
        """It is complete on a column when all its inputs are, but holds the values of one of them."""
        found = next(c for c in self.visible if c.name == column)
        return find_own_value(graph, self.inputs[found.input].relation, found.column)

    def find_needed(self, number: int) -> Waits:
        waits = self.wait_for_inputs()
        if self.kind is JoinKind.DISTINCT:
            return waits[0]
        bounds, other = self.bounds, 1 - number
        needed = bounds.needed(number, waits)
        if other not in self.kind.decided:
            return needed
        undecided = [w.then(bounds.step(other, number)).then(bounds.step(number, other)) for w in waits[number]]
        return unite_waits(needed, undecided)

    # -- words --------------------
    def bound_rows(self, number: int) -> RowBound:
        others = [j for j in range(len(self.inputs)) if j != number]
        ticks = max((self.bounds.reach(number, j) for j in others), default=0)
        return RowBound(tuple(self.inputs[j].alias for j in others), ticks)

    def describe_selection(self) -> str:
        return "rows of the join"

    def describe_tables(self, tables: Sequence[str]) -> str:
        """What meets what, how near in time, in which order."""
        if self.kind is JoinKind.DISTINCT:
            return f"distinct rows of {tables[0]}"
        inputs = " ⋈ ".join(f"{i.alias} ({t})" for i, t in zip(self.inputs, tables, strict=False))
        pairs = [(i, j) for i in range(len(self.inputs)) for j in range(i + 1, len(self.inputs))]
        near = dict.fromkeys(self._describe_pair(i, j) for i, j in pairs)
        return f"{self.kind} join of {inputs}: {', '.join(near)}{f'; {self.order}' if self.order else ''}"

    def _describe_pair(self, i: int, j: int) -> str:
        """How near in time rows of two inputs are."""
        common = next((w for w in self.bounds.windows if {w.one, w.other} == {i, j}), None)
        if common is not None:
            return f"the same window of {describe_length(common.width, self.unit)}"
        start, end = -self.bounds.reach(j, i), self.bounds.reach(i, j)
        moments = [f"{describe_length(abs(t), self.unit)} {'before' if t < 0 else 'after'} it" for t in (start, end)]
        span = moments[0] if start == end else f"from {moments[0]} to {moments[1]}"
        return f"{self.inputs[j].alias} against {self.inputs[i].alias}: {span}"
