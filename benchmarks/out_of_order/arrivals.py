"""Packets as they arrive: when each row comes is apart from the time it carries.

A study cuts arrivals into small batches of equal duration; a stream that is *behind* by s has each row s later than the
other streams. Memory and latency are then told in rows and in time of the stream, which a busy machine does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.generate.packets import Packets

SECOND = 1_000_000
START = 1_704_067_200 * SECOND  # the start of 2024, aligned to every window in use
COLUMNS = ("ts", "srcIP", "destIP", "srcPort", "destPort", "len")
SCHEMA_SQL = "ts TIMESTAMP, srcIP INT, destIP INT, srcPort INT, destPort INT, len INT"
OPPOSITE = {"srcIP": "destIP", "destIP": "srcIP", "srcPort": "destPort", "destPort": "srcPort"}

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """Rows in order of arrival, and when each arrives, in microseconds."""

    rows: pa.Table
    at: Ints

    def between(self, low: int, high: int) -> pa.Table:
        """What arrives in [low, high)."""
        first, last = np.searchsorted(self.at, [low, high])
        return self.rows.slice(int(first), int(last - first))

    def delayed(self, by: int) -> Arrivals:
        return Arrivals(self.rows, self.at + by)

    def every(self, step: int, first: int = 0) -> Arrivals:
        """Every `step`-th row."""
        return Arrivals(self.rows.take(pa.array(np.arange(first, len(self.at), step))), self.at[first::step])

    def opposite(self) -> Arrivals:
        """The same flows in the other direction."""
        columns = {name: self.rows[OPPOSITE.get(name, name)] for name in self.rows.column_names}
        return Arrivals(pa.table(columns), self.at)


def make_arrivals(
    rate: int,
    seconds: float,
    groups: int,
    skew: float = 0.8,
    disorder: Literal["none", "band", "block-sorted"] = "none",
    delay: int = 0,
    block: int = 1,
    seed: int = 7,
) -> Arrivals:
    """Packets that arrive evenly, `rate` a second."""
    count = int(rate * seconds)
    packets = Packets(
        rows=count, seed=seed, groups=groups, sources=max(1, groups // 8), skew=skew, start=START,
        duration=int(seconds * SECOND), disorder=disorder, delay=delay, block=block, lulls=0, lull=0, suspicious=0.0,
    )  # fmt: skip
    rows = pa.concat_tables(packets.tables()).select(COLUMNS)
    rows = rows.set_column(0, "ts", rows["ts"].cast(pa.int64()))
    return Arrivals(rows, START + np.arange(count, dtype=np.int64) * SECOND // rate)


def as_tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as `LocalRun.push` takes them."""
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
