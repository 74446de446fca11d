"""What a window clause means: windows(), extent() and wids() (document 003, section 5.1.1), and what follows from them.

A *tick* is the unit of the progressing attribute: a microsecond for timestamps, 1 for integers. A kind of window
is one class with three formulas, over integers or over NumPy arrays of them: where window number `wid` starts,
which is the first window that ends after a value, and after which one a value is in no window any more. The law
that ties them, and the oracle for everything built on top:

    t in extent(w)  <=>  w in wids(t)

Window-ids are dense integers that grow with the end: `end(w) = end(0) + w * slide` for every kind. Starts and ends
are both monotone in the id, so the windows of a value are one `range`, and the rest is derived here, once for all
kinds: what closes between two low-watermarks, what state open windows still need, whether a row has missed a
window, how many are open. Division rounds down, which keeps this true for negative ticks. A value belongs to no
window when SLIDE exceeds RANGE and it falls in a gap, or when it lies before a landmark's origin. Whatever holds
for the start of a pane holds for the whole pane (`panes`), so a pane is treated as the value that names it.

Closing is driven by the panes that hold data, never by the clock: a window without rows has no result, so a
stream that jumps fifty years ahead costs what its panes cost. Windows that hold the same panes form a `Runs` entry:
a million windows of a millisecond over six hundred rows are about a thousand runs.

Invariant: a constructed window is valid, and no formula leaves 64 bits for values within ±2^62.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headrace.errors import OptionError

LONGEST = 1 << 60
"""Ticks a length may have (36,000 years of microseconds)."""

FOREVER = 2**63 - 1
"""One past the last window-id, where there is no last one."""

Ids = Any  # an integer or an array of them: formulas take both
Array = np.ndarray[Any, np.dtype[Any]]


class Runs(NamedTuple):
    """Windows to close, as runs of consecutive ids that hold the same panes; sorted by id."""

    first: Array  # wid
    stop: Array  # wid after the last one
    low: Array  # number of the first pane, in the sorted panes
    high: Array  # number of the pane after the last one

    def __len__(self) -> int:
        return int(self.first.size)

    def between(self, first: int, stop: int) -> Runs:
        """The part of the runs whose ids are in [first, stop)."""
        begin, end = np.maximum(self.first, first), np.minimum(self.stop, stop)
        kept = begin < end
        return Runs(begin[kept], end[kept], self.low[kept], self.high[kept])

    def wids(self) -> Array:
        """Every window-id, in order."""
        counts = self.stop - self.first
        return np.repeat(self.first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


@dataclass(frozen=True)
class WindowSpec(ABC):
    """A window clause in ticks, counted from `origin`."""

    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        check_length("SLIDE", self.slide)
        if abs(self.origin) > LONGEST:
            raise OptionError(f"window: ORIGIN is too far away, got {self.origin} ticks, at most {LONGEST}")

    # -- what a kind of window says of itself --------------------
    @property
    @abstractmethod
    def kind(self) -> str:
        """The common name of this shape of window."""

    @property
    @abstractmethod
    def pane(self) -> int:
        """The pane width: the largest that cuts every window into whole panes (section 6.2.1)."""

    @abstractmethod
    def start_of(self, wid: Ids) -> Ids:
        """Where a window starts."""

    @abstractmethod
    def stop_wid(self, t: Ids) -> Ids:
        """The id after the last window that starts at or before `t`, at least `first_wid(t)`."""

    @abstractmethod
    def count_panes(self, width: int) -> int:
        """How many panes of a group open windows may hold at once."""

    @property
    def end_of_zero(self) -> int:
        return self.origin + self.slide

    @property
    def reports_without_rows(self) -> bool:
        """Whether a window without new rows has a result all the same: it runs on for ever."""
        return False

    @property
    def settles(self) -> bool:
        """Whether `settle` moves panes. Such windows share their panes with no other kind."""
        return False

    def settle(self, panes: Array, width: int, low_watermark: int) -> Array:
        """Where the rows of each pane may be kept from now on: panes that are in the same windows for ever may
        become one.
        """
        return panes

    # -- what follows --------------------
    @property
    def tumbling(self) -> bool:
        """Whether extents neither overlap nor leave gaps, so that a pane is a window."""
        return self.kind == "tumbling"

    def end_of(self, wid: Ids) -> Ids:
        """Where a window ends."""
        return self.end_of_zero + wid * self.slide

    def extent(self, wid: int) -> tuple[int, int]:
        """The interval [start, end) of window `wid` (Eqs. 5.2 and 5.8)."""
        return int(self.start_of(wid)), int(self.end_of(wid))

    def first_open(self, low_watermark: Ids) -> Ids:
        """The id of the first window that ends after a value."""
        return (low_watermark - self.end_of_zero) // self.slide + 1

    def first_wid(self, t: Ids) -> Ids:
        """The id of the first window that can hold `t`: the first to end after it."""
        return self.first_open(t)

    def wids(self, t: int) -> range:
        """The ids of the windows that contain the value `t` (Eqs. 5.3 and 5.9)."""
        return range(int(self.first_wid(t)), int(self.stop_wid(t)))

    def windows(self, lo: int, hi: int) -> range:
        """The ids of the windows whose extent meets the values in [lo, hi) (Eqs. 5.1 and 5.7)."""
        if hi <= lo:
            return range(0)
        return range(int(self.first_wid(lo)), max(int(self.first_wid(lo)), int(self.stop_wid(hi - 1))))

    def missed(self, t: Ids, low_watermark: Ids) -> Ids:
        """Whether a row at `t` comes too late for a window it belongs to: the first of them is closed."""
        first = self.first_wid(t)
        return (first < self.stop_wid(t)) & (self.end_of(first) <= low_watermark)

    def closing(self, panes: Array, previous: int | None, current: int) -> Runs:
        """The windows that cover at least one of `panes` (sorted, distinct) and have previous < end <= current.

        Called at every step of progress with the panes then in state, this gives each window once.
        """
        stop = self.first_open(current)
        first, last = self.first_wid(panes), np.minimum(self.stop_wid(panes), stop)
        if previous is not None:
            first = np.maximum(first, min(self.first_open(previous), stop))
        edges = np.unique(np.concatenate([first, last])) if panes.size else np.empty(0, np.int64)
        begin, end = edges[:-1], edges[1:]
        low, high = np.searchsorted(last, begin, "right"), np.searchsorted(first, begin, "right")
        kept = (low < high) & (begin < stop)
        return Runs(begin[kept], end[kept], low[kept], high[kept])

    def needed_from(self, low_watermark: int) -> int:
        """The smallest pane start that a window still open covers; state before it can go.

        Starts are monotone in the window-id, so this is the start of the first open window. It can lie ahead of
        the low-watermark when SLIDE exceeds RANGE. A value before it belongs to no open window and never will.
        """
        return int(self.start_of(self.first_open(low_watermark)))

    def last_end(self, t: int) -> int:
        """The end of the last window that holds `t` or an earlier value: where a flush has to go."""
        holding = self.wids(t)
        return int(self.end_of(holding[-1])) if holding else t

    def count_open(self, low: int, high: int, low_watermark: int | None) -> int:
        """How many windows meet the values in [low, high) and are not closed."""
        meeting = self.windows(low, high)
        closed = meeting.start if low_watermark is None else int(self.first_open(low_watermark))
        return len(range(max(meeting.start, closed), meeting.stop))


def spell_longest(unit: str) -> str:
    """The longest length of an attribute, in words."""
    return f"{LONGEST // 86_400_000_000:,} days" if unit == "us" else f"{LONGEST:,}"


def check_length(what: str, value: int) -> None:
    """A length is positive and fits."""
    if value <= 0:
        raise OptionError(f"window: {what} must be positive, got {value} ticks")
    if value > LONGEST:
        raise OptionError(f"window: {what} is too long, got {value} ticks, at most {LONGEST} are possible")
