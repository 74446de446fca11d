"""How near in time the rows of a join must be: bounds on the differences of their progressing values.

Input i has the progressing value t_i, in ticks. Two kinds of constraint bound a join (document 003, section 5.2.1):

* a *band*, `t_j - t_i <= gap`, an end of a sliding-window join or of a condition like `b.ts <= a.ts + INTERVAL …`. Ticks
  are integers, so an open end is a closed one a tick earlier;
* a *common window*, ⌊(t_i - offset) / width⌋ equal for both.

`within[i][j]` is the largest t_j - t_i that all of them together allow, the shortest path over the given gaps: two
conditions a-b and b-c bound a-c too. A join can be purged if every difference is bounded in both directions. A row of input i
at t then meets rows of input j in [t - within[j][i], t + within[i][j]] only, from which everything else follows: what must be
kept, how far back a new row reaches (`step`), and when a row can have no partner any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from headrace.progress.waits import Back, Floor, Waits, unite_waits


@dataclass(frozen=True)
class Gap:
    """t_after - t_before <= ticks."""

    before: int
    after: int
    ticks: int


@dataclass(frozen=True)
class CommonWindow:
    """Both in the same tumbling window, if that of `other` is taken to be `later` by so many ticks."""

    one: int
    other: int
    width: int
    offset: int = 0
    later: int = 0

    def offset_of(self, number: int) -> int:
        """Where a window of one of the two inputs begins."""
        return self.offset + (self.later if number == self.other else 0)


@dataclass(frozen=True)
class TimeBounds:
    """The constraints between the progressing values of `inputs` inputs."""

    inputs: int
    gaps: tuple[Gap, ...] = ()
    windows: tuple[CommonWindow, ...] = ()

    @cached_property
    def within(self) -> tuple[tuple[int | None, ...], ...]:
        """[i][j]: the largest t_j - t_i; None: unbounded."""
        most: list[list[int | None]] = [
            [0 if i == j else None for j in range(self.inputs)] for i in range(self.inputs)
        ]

        def tighten(i: int, j: int, ticks: int) -> None:
            found = most[i][j]
            most[i][j] = ticks if found is None else min(found, ticks)

        for gap in self.gaps:
            tighten(gap.before, gap.after, gap.ticks)
        for window in self.windows:
            tighten(window.one, window.other, window.width - 1 + window.later)
            tighten(window.other, window.one, window.width - 1 - window.later)
        for k in range(self.inputs):
            for i in range(self.inputs):
                for j in range(self.inputs):
                    first, second = most[i][k], most[k][j]
                    if first is not None and second is not None:
                        tighten(i, j, first + second)
        return tuple(map(tuple, most))

    def reach(self, i: int, j: int) -> int:
        """The largest t_j - t_i, of a join that is bounded."""
        found = self.within[i][j]
        assert found is not None, "an unbounded join is refused before"
        return found

    @property
    def is_empty(self) -> bool:
        """Whether no rows can satisfy the constraints."""
        return any((found := row[i]) is not None and found < 0 for i, row in enumerate(self.within))

    def find_unbounded(self) -> tuple[int, int] | None:
        """Inputs (i, j) such that rows of i must be kept for ever, because rows of j may come much later."""
        for i in range(self.inputs):
            for j in range(self.inputs):
                if self.within[i][j] is None:
                    return i, j
        return None

    def step(self, i: int, j: int) -> Back | Floor:
        """How far back in t_i a row of input j reaches."""
        for window in self.windows:
            if {window.one, window.other} == {i, j} and not window.later:
                return Floor(window.width, window.offset)
        return Back(self.reach(i, j))

    def complete(self, i: int, waits: Iterable[Waits]) -> Waits:
        """When results are complete on t_i, given when each input is (Figures 7-1 and 7-2: individual punctuation).

        A result still to come has a row still to come: of input i itself, or of an input j, which reaches back. (Figure 7-2
        rounds up to the end of the window; a row that comes before that end can still meet older ones, so down it is.)
        """
        return unite_waits(
            *([w if j == i else w.then(self.step(i, j)) for w in each] for j, each in enumerate(waits))
        )

    def needed(self, i: int, waits: Iterable[Waits]) -> Waits:
        """From where on rows of input i are needed: until no other input has a row to come that reaches them."""
        return unite_waits(
            *([w.then(self.step(i, j)) for w in each] for j, each in enumerate(waits) if j != i)
        )
