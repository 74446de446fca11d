"""Windows closed by slack, of both flavours (document 003, section 6.1.5.2), over batches of rows in order of arrival.

The low-watermark after a batch is the largest time seen less the slack; a window closes after the first batch that takes it
to the window's end. With *generous* slack a row that is late counts in every window that is still open. With *consistent* slack
a row behind the low-watermark is dropped from all its windows, so that one row is in all of its windows or in none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.out_of_order.arrivals import Ints

Flavour = Literal["generous", "consistent", "all rows"]


@dataclass(frozen=True)
class BatchedRows:
    """Times and values in order of arrival, and the number of the batch each row is in."""

    times: Ints
    values: NDArray[np.int64]
    batch: Ints

    @property
    def batches(self) -> int:
        return int(self.batch[-1]) + 1

    def find_bounds(self, slack: int) -> Ints:
        """The low-watermark after each batch."""
        return self._largest() - slack

    def find_marks(self) -> Ints:
        """The best punctuation: after each batch, the least time that is still to come."""
        least = np.minimum.accumulate(self.times[::-1])[::-1]
        following = np.searchsorted(self.batch, np.arange(self.batches), "right")
        never = np.int64(1) << 61
        return np.where(following < self.times.size, least[np.minimum(following, self.times.size - 1)], never)

    def _largest(self) -> Ints:
        last = np.searchsorted(self.batch, np.arange(self.batches), "right") - 1
        return np.maximum.accumulate(self.times)[last]


@dataclass(frozen=True)
class ClosedWindow:
    """What a window said, and after which batch."""

    rows: int
    total: int
    batch: int


def close_by_bounds(
    rows: BatchedRows, bounds: Ints, flavour: Flavour, starts: Ints, width: int
) -> dict[int, ClosedWindow]:
    """The windows that begin at `starts` and are closed by these low-watermarks, by start."""
    counted = np.ones(rows.times.size, bool)
    if flavour == "consistent":
        before = np.concatenate([[np.iinfo(np.int64).min], bounds])[rows.batch]  # when the row came
        counted = rows.times >= before
    found = {}
    for start in starts.tolist():
        closing = int(np.searchsorted(bounds, start + width, "left"))
        if closing == bounds.size:
            continue
        inside = counted & (rows.times >= start) & (rows.times < start + width)
        if flavour != "all rows":
            inside &= rows.batch <= closing
        found[start] = ClosedWindow(int(inside.sum()), int(rows.values[inside].sum()), closing)
    return found
