"""Which rows are part of a stream, and which are kept in its late table.

A row whose progressing value is null or beyond the horizon is not part of the stream: it goes to the late
table with the reason, and so does a line that does not parse. A row behind the low-watermark counts in every
window still open; if it has missed one, it is in the late table too. A join takes no row from behind the low-watermark, since
rows it would have met may be gone; such a row is in the late table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headrace.program.messages import Orders
from headrace.program.program import SourceStream
from headrace.progress.waits import meld_waits
from headrace.windows import WindowSpec

LARGEST = 1 << 62  # ticks; beyond, the arithmetic of windows would leave 64 bits


@dataclass(frozen=True)
class Judge:
    """The rule for one stream in one batch."""

    lowest: int  # rows from here on have missed nothing
    limit: int  # the largest plausible value
    missable: tuple[tuple[WindowSpec, int], ...]  # windows, and the low-watermark by which they close
    joined: int | None = None  # rows before this have missed partners of a join

    @property
    def suspect_sql(self) -> str:
        """Whether a row must be looked at, over `_t`: true for every row that has a reason."""
        return f"_t IS NULL OR _t > {self.limit} OR _t < {self.lowest}"

    @property
    def usable_sql(self) -> str:
        """Whether a row is part of the stream, over `_t`."""
        return f"_t <= {self.limit} AND _t >= {-LARGEST}"

    def find_reasons(self, ticks: pa.ChunkedArray) -> pa.Array:
        """Why each row is kept in the late table; null if it need not be."""
        missing = ticks.is_null().to_numpy()
        values = ticks.fill_null(0).to_numpy().astype(np.int64)
        implausible = ~missing & ((values > self.limit) | (values < -LARGEST))
        late = np.zeros(len(values), bool)
        within = np.clip(values, -LARGEST, LARGEST)
        for window, low_watermark in self.missable:
            late |= window.missed(within, low_watermark)
        if self.joined is not None:
            late |= values < self.joined
        words = np.where(missing, "null", np.where(implausible, "implausible", "late"))
        return pa.array(words, pa.string(), mask=~(missing | implausible | late))


class Screened(NamedTuple):
    """A chunk of rows after the judge: the largest tick of the usable ones, and the rows to keep as late."""

    largest: int | None
    late: pa.Table | None  # in the late table's schema


def make_judge(orders: Orders, stream: SourceStream) -> Judge:
    missable = []
    frontiers = {name: p.frontier for name, p in orders.progress.items()}
    for window, waits in stream.missable:
        closed = meld_waits(waits, frontiers).bound
        if closed is not None:
            missable.append((window, closed))
    passed = [b for waits in stream.joined if (b := meld_waits(waits, frontiers).bound) is not None]
    low = orders.progress[stream.name].frontier.bound
    lowest = -LARGEST if low is None else max(low, -LARGEST)
    return Judge(lowest, find_limit(orders, stream), tuple(missable), max(passed, default=None))


def find_limit(orders: Orders, stream: SourceStream) -> int:
    """The largest plausible value: the clock for times, the largest seen for integers, plus the horizon."""
    base = orders.now if stream.unit == "us" else orders.progress[stream.name].seen.largest
    if stream.horizon is None or base is None:
        return LARGEST
    return min(base + stream.horizon, LARGEST)
