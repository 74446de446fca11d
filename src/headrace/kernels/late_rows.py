"""Which rows are part of a stream, and which are kept in its late table.

A row whose progressing value is null or beyond the horizon is not part of the stream: it goes to the late
table with the reason, and so does a line that does not parse. A row behind the low-watermark counts in every
window still open; if it has missed one, it is in the late table too. So is a row that punctuation has said would not come:
it contradicts, whether it has missed a window or not. Rows and punctuation of one batch have no order, so a
punctuation binds from the next batch on. Where groups make progress by themselves, a row is measured by its group's bound.

A join takes no row from behind what was known before the batch, since rows it would have met may be gone; such a row is in the
late table. `find_taken_from` is that rule, for the judge, and for rows on their way from a source or other slots (`drop_late`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.group_bounds import Columns, find_bounds
from headrace.program.messages import Orders
from headrace.program.node import Node
from headrace.program.program import SourceStream
from headrace.progress import HIGHEST, NOTHING_KNOWN, Frontier, find_promise
from headrace.progress.advance_program import ProgressMap
from headrace.progress.monotone_steps import MonotoneStep, apply_steps
from headrace.progress.waits import Wait
from headrace.windows import WindowSpec

LARGEST = HIGHEST  # ticks; beyond, the arithmetic of windows would leave 64 bits
PART_OF_STREAM = ("late", "contradicts")  # reasons of rows that count all the same, where a window is open
Steps = tuple[MonotoneStep, ...]


class ClosedBy(NamedTuple):
    """Windows, what they are on, and what closes them, for groups that columns tell apart."""

    window: WindowSpec
    steps: Steps
    frontier: Frontier
    columns: Columns = ()


@dataclass(frozen=True)
class Judge:
    """The rule for one stream in one batch."""

    lowest: int  # rows from here on have missed nothing
    limit: int  # the largest plausible value
    missable: tuple[ClosedBy, ...]
    joined: int | None = None  # rows before this have missed partners of a join
    promise: Frontier = NOTHING_KNOWN  # what punctuation says will not come
    groups: tuple[str, ...] = ()  # source columns that tell groups apart
    no_data: str | None = None  # the source column that is true for rows that only punctuate

    @property
    def reads(self) -> tuple[str, ...]:
        """Source columns that a reason depends on, beside `_t`."""
        told = (c for each in self.missable for c in each.columns)
        return tuple(dict.fromkeys((*self.groups, *told, *((self.no_data,) if self.no_data is not None else ()))))

    @property
    def suspect_sql(self) -> str:
        """Whether a row must be looked at, over `_t`: true for every row that has a reason."""
        return f"_t IS NULL OR _t > {self.limit} OR _t < {self.lowest}"

    @property
    def usable_sql(self) -> str:
        """Whether a row is part of the stream, over `_t`."""
        return f"_t <= {self.limit} AND _t >= {-LARGEST}"

    def find_reasons(self, con: duckdb.DuckDBPyConnection, suspects: pa.Table) -> pa.Array:
        """Why each row (`_t` and what the judge reads) is kept in the late table; null if it need not be."""
        ticks = suspects.column("_t")
        missing = ticks.is_null().to_numpy()
        values = ticks.fill_null(0).to_numpy().astype(np.int64)
        implausible = ~missing & ((values > self.limit) | (values < -LARGEST))
        late = np.zeros(len(values), bool)
        within = np.clip(values, -LARGEST, LARGEST)
        for window, steps, frontier, columns in self.missable:
            late |= window.missed(apply_steps(steps, within), find_bounds(con, suspects, frontier, columns))
        if self.joined is not None:
            late |= values < self.joined
        contradicts = values < find_bounds(con, suspects, self.promise, self.groups)
        if self.no_data is not None:
            data = ~suspects.column(self.no_data).fill_null(False).to_numpy()
            late, contradicts = late & data, contradicts & data
        words = np.where(contradicts, "contradicts", "late")
        words = np.where(missing, "null", np.where(implausible, "implausible", words))
        return pa.array(words, pa.string(), mask=~(missing | implausible | contradicts | late))


def is_part_of_stream(reasons: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether rows that are kept for these reasons count in open windows all the same."""
    return pc.is_in(reasons, value_set=pa.array(PART_OF_STREAM))


class Screened(NamedTuple):
    """A chunk of rows after the judge: the largest tick of the usable ones, and the rows to keep as late."""

    largest: int | None
    late: pa.Table | None  # in the late table's schema


def find_taken_from(known: Frontier) -> int | None:
    """The first tick at which a join takes rows, where `known` was known before they came; None: it takes them all."""
    return known.bound if known.is_known else None


def drop_late(node: Node, known: Frontier, rows: str) -> str:
    """SQL for those of some rows that a node takes; rows of no time are never late."""
    first = None if node.takes_late else find_taken_from(known)
    return rows if first is None else f"SELECT * FROM ({rows}) WHERE _t IS NULL OR _t >= {first}"


def has_late(node: Node, known: Frontier, rows: pa.Table) -> bool:
    """Whether one of the rows that a node was given may be late: a pane's windows end with it, or later."""
    if not node.takes_late:
        return False
    first = pc.min(rows[node.time]).as_py()
    return first is not None and bool(first + node.width <= known.furthest)


def make_judge(orders: Orders, stream: SourceStream, progress: ProgressMap) -> Judge:
    missable = []
    for windows in stream.missable:
        closed = progress[windows.rule].before
        own = bool(windows.columns) and bool(closed.groups)
        if own or closed.is_known:
            told = (closed, windows.columns) if own else (Frontier(closed.bound), ())
            missable += [ClosedBy(windows.window, steps, *told) for steps in windows.ways]
    taken = [(one, find_taken_from(progress[one.rule].before)) for one in stream.joined]
    passed = [Wait(stream.name, ways).reach(first) for one, first in taken if first is not None for ways in one.ways]
    return Judge(
        find_lowest(orders, stream),
        find_limit(orders, stream),
        tuple(dict.fromkeys(missable)),
        max(passed, default=None),
        find_promise(stream.policy, orders.progress[stream.name].seen),
        stream.groups,
        None if stream.marks_are_data else stream.mark,
    )


def find_lowest(orders: Orders, stream: SourceStream) -> int:
    """Rows from here on are behind no bound, of whichever group they are."""
    return orders.progress[stream.name].frontier.furthest


def find_limit(orders: Orders, stream: SourceStream) -> int:
    """The largest plausible value: the clock for times, the largest seen for integers, plus the horizon."""
    base = orders.now if stream.unit == "us" else orders.progress[stream.name].seen.largest
    if stream.horizon is None or base is None:
        return LARGEST
    return min(base + stream.horizon, LARGEST)
