"""Three joins for Q7-2, the pairs of packets of a flow in both directions per minute of M1.ts (document 003, section 7.3).

All see the same batches and hear the same punctuation: `absorb` takes rows of M1 and M2, `punctuate` what both inputs have
come to, and gives the minutes that are complete.

* `AgnosticJoin`, ours (OA-Join): joins a row when it comes and counts at once; holds the rows the other input still reaches.
* `OutputBufferedJoin` (OPOB): joins the same way, but holds results until all before them in order of M1.ts are there, and
  sorts them; the count after it needs only one open minute.
* `InputBufferedJoin` (OPIB): holds rows of M1 until all their partners are there and joins then, in order; so rows of M2
  are held for the band and once more for the wait.

An order-preserving join gives the count rows in order; that count closes a minute with the first row of the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from benchmarks.out_of_order.arrivals import SECOND, Ints
from benchmarks.out_of_order.kernel_join import HeldRows, KernelJoin, bound_of
from headrace.program.aggregations import PaneNode
from headrace.program.program import Program
from headrace.program.slot_steps import Send
from headrace.progress import Frontier

MINUTE = 60 * SECOND
TIMES = 'SELECT epoch_us("m1.ts") AS t FROM {view}'
NONE = np.empty(0, np.int64)

Frontiers = Mapping[str, Frontier]
Counts = dict[int, int]  # start of a minute -> pairs


class BandJoin(Protocol):
    def absorb(self, m1: pa.Table, m2: pa.Table) -> None: ...

    def punctuate(self, frontiers: Frontiers) -> Counts:
        """The minutes that are complete now."""
        ...

    def held(self) -> tuple[int, int]:
        """Rows and bytes."""
        ...


class AgnosticJoin:
    """OA-Join with an order-insensitive count."""

    def __init__(self, program: Program) -> None:
        self.join, self.inputs, self.counts = KernelJoin(program), (HeldRows(), HeldRows()), Counter[int]()
        steps = [s for level in program.levels for s in level.steps]
        (self.send,) = [s for s in steps if isinstance(s, Send)]
        self.waits = _count_node(program).waits

    def absorb(self, m1: pa.Table, m2: pa.Table) -> None:
        found = self.join.run(self.inputs, (m1, m2), self.send.sql)
        if found is not None:
            for pane, count in zip(found["pane"].to_pylist(), found["p0"].to_pylist(), strict=True):
                self.counts[pane] += count
        for held, rows in zip(self.inputs, (m1, m2), strict=True):
            held.add(rows)

    def punctuate(self, frontiers: Frontiers) -> Counts:
        bound = bound_of(self.waits, frontiers)
        closed = {m: self.counts.pop(m) for m in sorted(self.counts) if m + MINUTE <= bound}
        for number, held in enumerate(self.inputs):
            held.drop_before(self.join.needed(number, frontiers))
        return closed

    def held(self) -> tuple[int, int]:
        partial = len(self.counts)
        return sum(h.rows for h in self.inputs) + partial, sum(h.bytes for h in self.inputs) + 16 * partial


class OrderedCount:
    """Counts rows that come in order: one minute is open."""

    def __init__(self) -> None:
        self.minute, self.count = 0, 0

    def absorb(self, times: Ints) -> Counts:
        closed: Counts = {}
        starts, first = np.unique(
            times // MINUTE * MINUTE, return_index=True
        )  # of sorted rows: where each begins
        for minute, rows in zip(starts.tolist(), np.diff([*first, times.size]).tolist(), strict=True):
            if minute != self.minute:
                if self.count:
                    closed[self.minute] = self.count
                self.minute, self.count = minute, 0
            self.count += rows
        return closed


class OutputBufferedJoin:
    """OPOB: the results wait."""

    def __init__(self, program: Program) -> None:
        self.join, self.inputs, self.count = KernelJoin(program), (HeldRows(), HeldRows()), OrderedCount()
        self.waits = _count_node(program).waits
        self.results: list[Ints] = []

    def absorb(self, m1: pa.Table, m2: pa.Table) -> None:
        found = self.join.run(self.inputs, (m1, m2), TIMES.format(view=self.join.step.view))
        if found is not None:
            self.results.append(found["t"].to_numpy())
        for held, rows in zip(self.inputs, (m1, m2), strict=True):
            held.add(rows)

    def punctuate(self, frontiers: Frontiers) -> Counts:
        times = np.concatenate(self.results) if self.results else NONE
        ready = times < bound_of(self.waits, frontiers)
        closed = self.count.absorb(np.sort(times[ready]))
        self.results = [times[~ready]]
        for number, held in enumerate(self.inputs):
            held.drop_before(self.join.needed(number, frontiers))
        return closed

    def held(self) -> tuple[int, int]:
        rows, size = sum(r.size for r in self.results), sum(r.nbytes for r in self.results)
        return sum(h.rows for h in self.inputs) + rows + 1, sum(h.bytes for h in self.inputs) + size + 16


class InputBufferedJoin:
    """OPIB: the rows of M1 wait."""

    def __init__(self, program: Program) -> None:
        self.join, self.m1, self.m2, self.count = KernelJoin(program), HeldRows(), HeldRows(), OrderedCount()
        self.waits = _count_node(program).waits

    def absorb(self, m1: pa.Table, m2: pa.Table) -> None:
        self.m1.add(m1)
        self.m2.add(m2)

    def punctuate(self, frontiers: Frontiers) -> Counts:
        bound = bound_of(self.waits, frontiers)
        ready = self.m1.drop_before(bound)
        if ready is None:
            return {}
        sql = TIMES.format(view=self.join.step.view) + " ORDER BY t"
        found = self.join.run((HeldRows(), self.m2), (ready, ready.slice(0, 0)), sql)
        self.m2.drop_before(bound - self.join.step.bounds.reach(1, 0))
        return {} if found is None else self.count.absorb(found["t"].to_numpy())

    def held(self) -> tuple[int, int]:
        return self.m1.rows + self.m2.rows + 1, self.m1.bytes + self.m2.bytes + 16


def _count_node(program: Program) -> PaneNode:
    (node,) = [n for n in program.nodes if isinstance(n, PaneNode)]
    return node


JOINS: dict[str, Callable[[Program], BandJoin]] = {
    "OA-Join": AgnosticJoin,
    "OPOB-Join": OutputBufferedJoin,
    "OPIB-Join": InputBufferedJoin,
}
