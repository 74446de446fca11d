"""Landmark windows: RANGE ALL (document 003, section 5.1.4).

Every extent starts at the origin and the ends go up in steps of the slide (Eq. 5.8), so a value is in all windows
from its first one on. A landmark reports its running value at every slide point, whether or not rows came; the
number of reports in one step of progress is bounded by `LANDMARK_LIMIT`, and passing it is an error, not a very
long wait. What has passed the low-watermark is in every later window and melts into one pane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.errors import OptionError, PlanError
from headrace.windows.spec import FOREVER, Array, Ids, Runs, WindowSpec

LANDMARK_LIMIT = 100_000
"""How many windows of one landmark query may close in one step of progress."""


@dataclass(frozen=True)
class Landmark(WindowSpec):
    """Windows [origin, origin + slide), [origin, origin + 2 slide), …, numbered from 0."""

    @property
    def kind(self) -> str:
        return "landmark"

    @property
    def pane(self) -> int:
        return self.slide

    @property
    def reports_without_rows(self) -> bool:
        return True

    def count_panes(self, width: int) -> int:
        return 1

    def start_of(self, wid: Ids) -> Ids:
        if np.min(wid, initial=0) < 0:
            raise OptionError(f"window: a landmark window has ids from 0 on, got {np.min(wid)}")
        return self.origin + 0 * wid

    def first_open(self, low_watermark: Ids) -> Ids:
        return np.maximum((low_watermark - self.end_of_zero) // self.slide + 1, 0)

    def stop_wid(self, t: Ids) -> Ids:
        return np.where(np.asarray(t) < self.origin, self.first_wid(t), FOREVER)

    def windows(self, lo: int, hi: int) -> range:
        if hi <= max(lo, self.origin):
            return range(0)
        return range(int(self.first_wid(lo)), FOREVER)

    def closing(self, panes: Array, previous: int | None, current: int) -> Runs:
        held = panes[panes >= self.origin]
        stop = int(self.first_open(current))
        first = int(self.first_wid(held[0])) if held.size else stop
        if previous is not None:
            first = max(first, int(self.first_open(previous)))
        if stop - first > LANDMARK_LIMIT:
            raise PlanError(
                f"RANGE ALL SLIDE {self.slide}: one step of progress, from {self.end_of(first)} to "
                f"{self.end_of(stop - 1)} (ticks), would close {stop - first:,} windows; at most "
                f"{LANDMARK_LIMIT:,} are allowed, because a landmark window reports at every slide point even "
                "where there are no rows. "
                "Use a longer SLIDE, an ORIGIN near the data, or check the stream for a wrong progressing value"
            )
        return super().closing(panes, previous, current)

    @property
    def settles(self) -> bool:
        return True

    def settle(self, panes: Array, width: int, low_watermark: int) -> Array:
        return np.where((panes + width <= low_watermark) & (panes >= self.origin), self.origin, panes)

    def last_end(self, t: int) -> int:
        """There is no last window: a flush reports up to the first slide point after the last row."""
        return int(self.end_of(self.first_wid(max(t, self.origin))))

    def count_open(self, low: int, high: int, low_watermark: int | None) -> int:
        return 1
