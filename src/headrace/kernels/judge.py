"""Which rows are part of a stream, and which are kept in its late table.

A row whose progressing value is null or beyond the horizon is not part of the stream: it goes to the late
table with the reason, and so does a line that does not parse. A row behind the low-watermark counts in every
window still open; if it has missed one, it is in the late table too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headrace.program.messages import Orders
from headrace.program.program import SourceStream
from headrace.progress import meld
from headrace.windows import WindowSpec

LARGEST = 1 << 62  # ticks; beyond, the arithmetic of windows would leave 64 bits


@dataclass(frozen=True)
class Judge:
    """The rule for one stream in one batch."""

    lowest: int  # rows from here on have missed nothing
    limit: int  # the largest plausible value
    missable: tuple[tuple[WindowSpec, int], ...]  # windows, and the low-watermark by which they close

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
        words = np.where(missing, "null", np.where(implausible, "implausible", "late"))
        return pa.array(words, pa.string(), mask=~(missing | implausible | late))


class Screened(NamedTuple):
    """A chunk of rows after the judge: the largest tick of the usable ones, and the rows to keep as late."""

    largest: int | None
    late: pa.Table | None  # in the late table's schema


def make_judge(orders: Orders, stream: SourceStream) -> Judge:
    missable = []
    for window, streams in stream.missable:
        closed = meld(orders.progress[s].frontier for s in streams).bound
        if closed is not None:
            missable.append((window, closed))
    low = orders.progress[stream.name].frontier.bound
    return Judge(-LARGEST if low is None else max(low, -LARGEST), find_limit(orders, stream), tuple(missable))


def find_limit(orders: Orders, stream: SourceStream) -> int:
    """The largest plausible value: the clock for times, the largest seen for integers, plus the horizon."""
    base = orders.now if stream.unit == "us" else orders.progress[stream.name].seen.largest
    if stream.horizon is None or base is None:
        return LARGEST
    return min(base + stream.horizon, LARGEST)
