"""Panes: aggregate each row once, build windows from the pieces (document 003, section 6.2).

A pane is a cell of the grid `offset + k * width`, named by its start tick. The width is gcd(RANGE, SLIDE),
so a pane lies wholly inside or wholly outside any window, and a window is the disjoint union of its panes:
whatever holds for the start of a pane holds for all of it. That is why the functions below may treat a pane
as the single value that names it. The argument survives a finer grid, so several windows can share one: take
the gcd over all ranges, all slides and all differences of origins (`shared_pane`).

Closing is driven by the panes that hold data, never by the clock: a window without rows has no result, so a
stream that jumps fifty years ahead costs what its panes cost, O(panes + windows closed). Landmark windows
are the exception, because they report the running value at every slide point whether or not rows came; there
the number closed in one step is bounded by `LANDMARK_LIMIT` and passing the bound is an error, not a very
long wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import overload

from headrace.errors import OptionError, PlanError
from headrace.windows.algebra import Window, extent, first_open, wids, window
from headrace.windows.spec import WindowSpec

LANDMARK_LIMIT = 100_000
"""How many windows of one landmark query may close in one step of progress."""


@overload
def pane_of(spec: WindowSpec, t: int, /) -> int: ...
@overload
def pane_of(width: int, offset: int, t: int, /) -> int: ...
def pane_of(grid: WindowSpec | int, second: int, third: int | None = None, /) -> int:
    """The start of the pane that holds a value: `pane_of(spec, t)` or `pane_of(width, offset, t)`."""
    if isinstance(grid, WindowSpec):
        return second - (second - grid.origin) % grid.pane
    assert third is not None
    return third - (third - second) % grid


def shared_pane(specs: Iterable[WindowSpec]) -> tuple[int, int]:
    """Width and offset of the coarsest grid that cuts the windows of every one of `specs` into whole
    panes.
    """
    every = list(specs)
    if not every:
        raise OptionError("shared_pane: expected at least one window, got none")
    origin = every[0].origin
    width = gcd(*(s.pane for s in every), *(s.origin - origin for s in every))
    return width, origin % width


def closing(spec: WindowSpec, panes: Iterable[int], previous: int | None, current: int) -> list[Window]:
    """The windows that cover at least one of `panes` and have previous < end <= current, by end.

    `panes` are the starts of the panes that hold rows, in any order, on the grid of `spec` or a finer one;
    `previous` is the low-watermark of the last step (None before the first), `current` the one reached now.
    Called at every step with the panes then in state, this gives each window once.
    """
    stop = first_open(spec, current)
    if previous is not None and previous >= current:
        return []
    todo = None if previous is None else first_open(spec, previous)
    if spec.kind == "landmark":
        return _landmark(spec, panes, todo, stop)
    closed: list[Window] = []
    for pane in sorted(set(panes)):
        covering = wids(spec, pane)
        first = covering.start if todo is None else max(todo, covering.start)
        if first >= stop:  # later panes only have later windows
            break
        last = min(stop, covering.stop)
        closed.extend(window(spec, w) for w in range(first, last))
        todo = max(first, last)
    return closed


def _landmark(spec: WindowSpec, panes: Iterable[int], todo: int | None, stop: int) -> list[Window]:
    earliest = min((p for p in panes if p >= spec.origin), default=None)
    if earliest is None:
        return []
    first = wids(spec, earliest).start
    if todo is not None:
        first = max(first, todo)
    if stop - first > LANDMARK_LIMIT:
        raise PlanError(
            f"RANGE ALL SLIDE {spec.slide}: one step of progress, from {extent(spec, first)[1]} to "
            f"{extent(spec, stop - 1)[1]} (ticks), would close {stop - first:,} windows; at most "
            f"{LANDMARK_LIMIT:,} are allowed, because a landmark window reports at every slide point even "
            "where there are no rows. "
            "Use a longer SLIDE, an ORIGIN near the data, or check the stream for a wrong progressing value"
        )
    return [window(spec, w) for w in range(first, stop)]


def needed_from(spec: WindowSpec, low_watermark: int) -> int:
    """The smallest pane start that a window still open (end > low_watermark) covers; state before it can go.

    Starts are monotone in the window-id, so this is the start of the first open window. It can lie ahead of
    the low-watermark when SLIDE exceeds RANGE, and is the origin for ever under a landmark. A value before
    it belongs to no open window and never will.
    """
    return extent(spec, first_open(spec, low_watermark))[0]
