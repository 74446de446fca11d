"""Panes: aggregate each row once, build windows from the pieces (document 003, section 6.2).

A pane is a cell of the grid `offset + k * width`, named by its start tick. The width is gcd(RANGE, SLIDE),
so a pane lies wholly inside or wholly outside any window, and a window is the disjoint union of its panes:
whatever holds for the start of a pane holds for all of it. The argument survives a finer grid, so several
windows can share one: take the gcd over all ranges, all slides and all differences of origins.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import NamedTuple

from headrace.errors import OptionError
from headrace.windows.cumulative import Cumulative
from headrace.windows.landmark import Landmark
from headrace.windows.sliding import Align, Sliding
from headrace.windows.spec import WindowSpec


class Grid(NamedTuple):
    """Panes of `width` ticks, counted from `offset` (in [0, width))."""

    width: int
    offset: int

    def pane_of(self, t: int) -> int:
        """The start of the pane that holds a value."""
        return t - (t - self.offset) % self.width


def share_grid(windows: Iterable[WindowSpec]) -> Grid:
    """The coarsest grid that cuts the windows of every one of `windows` into whole panes."""
    every = list(windows)
    if not every:
        raise OptionError("share_grid: expected at least one window, got none")
    origin = every[0].origin
    width = gcd(*(w.pane for w in every), *(w.origin - origin for w in every))
    return Grid(width, origin % width)


def make_window(
    range: int | None, slide: int, origin: int = 0, align: Align = "start", reset: int | None = None
) -> WindowSpec:
    """The window a clause describes: `range` None is RANGE ALL."""
    if range is not None and reset is not None:
        raise OptionError(
            f"window: RESET goes with RANGE ALL, but RANGE is {range} ticks; write RANGE ALL, or leave RESET out"
        )
    if range is not None:
        return Sliding(slide, origin, range, align)
    return Landmark(slide, origin) if reset is None else Cumulative(slide, origin, reset)
