"""Turns: which mini-partitions of a slot go together, from which progress to which, with which rows (document 002, sections
4 and 6).

Usually a batch has one turn: all mini-partitions, from the progress before the batch to the progress after it. There are more
where some are *behind*, or where together they need more memory than a slot has. Turns with different mini-partitions have
nothing to do with each other: state, rows and results are by mini-partition, and whatever joins or aggregates across them is
behind an exchange.

A mini-partition that sat out batches (`waiting_rows.py`) is behind. When it is taken, its rows are absorbed as if they had just
come, and progress goes in one step from that of the version it has processed last to now. One step is as good as several, as
long as no row was late when it came: a late row counts in windows that were open *then*. Progress of the version before
such rows is kept as a *cut*, and the step is made in two.

Rows that wait need not be taken at once. Where there is room in a slot, some are absorbed in a turn without progress: as if they
had come in a batch of their own that brought none. The mini-partition stays behind, and its other rows come as rows do, in any
order. What is behind holds back later levels (`turn_progress.py`), but not rows of streams that a later level reads directly:
where these may be late and are counted together with results, they would be measured by the wrong progress, and
`program/waiting_obstacle.py` names such sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headrace.balance.choose_deferred import find_share
from headrace.balance.rotate_pids import rotate_pids
from headrace.kernels.late_rows import has_late
from headrace.kernels.node_segments import NodeSegments
from headrace.kernels.turn_progress import FrontierMap, find_mark, hold_back_results, meld_marks
from headrace.kernels.waiting_rows import (
    Arrived,
    WaitingRows,
    count_numbers,
    find_deferred,
    find_pieces,
    list_loads,
    list_waiting,
    take_pids,
)
from headrace.program.messages import Frontiers, Orders
from headrace.program.program import Program
from headrace.progress.advance_program import ProgressMap, advance_program, pair_up
from headrace.state import SegmentMeta, WaitingPid, pids_of, read_segment


@dataclass(frozen=True)
class Turn:
    """Mini-partitions, what they know of every relation before and after, and their rows."""

    pids: frozenset[int]
    progress: ProgressMap
    read_rows: Callable[[], Iterator[tuple[str, pa.Table]]]


class TurnStep(NamedTuple):
    """Progress, by which rows that waited, and whether also by those of this batch."""

    progress: ProgressMap
    waited: Sequence[SegmentMeta] = ()
    last: bool = True


@dataclass(frozen=True)
class Turns:
    """What a slot does in a batch, and what it leaves."""

    turns: tuple[Turn, ...]
    segments: tuple[SegmentMeta, ...]  # before the first turn
    behind: FrontierMap | None = None  # what all its mini-partitions have reached, if not all of the batch's progress
    waiting: dict[int, WaitingPid] = field(default_factory=dict)
    cut: bool = False


def plan_turns(
    program: Program,
    orders: Orders,
    level: int,
    slot: int,
    progress: Frontiers,
    behind: FrontierMap | None,
    arrived: Arrived,
    sent: int,
) -> Turns:
    """The turns of a slot that was sent `arrived`, of `sent` rows for all slots; `behind` is what the level before says."""
    pids = pids_of(orders.route, slot)
    before, after = ({s: p.frontier for s, p in each.items()} for each in (orders.progress, progress))
    split = _Splitting(program, orders, level, arrived)
    if level:
        known = advance_program(program.rules, pair_up(before, after), hold_back_results(program, orders, before, after, behind))
        return Turns(tuple(split.rotate(pids, lambda _: [TurnStep(known)])), orders.segments, behind)
    whole = advance_program(program.rules, pair_up(before, after))
    may_wait = orders.flush is None and not orders.stale
    out = find_deferred(program, orders, pids, arrived, sent) if may_wait else frozenset[int]()
    held = {pid: one for pid, one in orders.waiting.items() if pid in pids}
    turns = []
    for version in sorted({one.version for pid, one in held.items() if pid not in out}):
        group = frozenset(pid for pid, one in held.items() if one.version == version) - out
        turns += split.rotate(group, partial(split.catch_up, version, before, after, whole))
    current = pids - held.keys() - out
    if current or not turns:
        turns += split.rotate(current, lambda _: [TurnStep(whole)])
    if not out and not held:
        return Turns(tuple(turns), orders.segments)
    busy = sum(one.rows for one in list_loads(orders, pids - out, arrived))
    taken = find_pieces(program, orders, out, find_share(sent / orders.slots, orders.limits.least_rows), busy)
    for version in sorted({held[pid].version for chosen in taken.values() for pid in chosen}):
        group = frozenset(pid for chosen in taken.values() for pid in chosen if held[pid].version == version)
        turns += split.rotate(group, partial(split.stay_behind, version, before, taken))
    keeper = WaitingRows(program, orders, arrived, held.keys() - out, taken, busy)
    waiting, written = keeper.write(out, held)
    return Turns(
        tuple(turns),
        (*keeper.release(), *written),
        meld_marks(orders, after, waiting.values()) if waiting else None,
        waiting,
        split.has_late(out.intersection(held), whole),
    )


class _Splitting:
    """The rows of a slot by turns."""

    def __init__(self, program: Program, orders: Orders, level: int, arrived: Arrived) -> None:
        self.program, self.orders, self.arrived = program, orders, arrived
        self.nodes = {n.name: n for n in program.nodes if n.level == level}
        self.waiting = {node.waiting: node.name for node in program.nodes}
        self.count = count_numbers(orders)

    def rotate(self, pids: frozenset[int], list_steps: Callable[[frozenset[int]], list[TurnStep]]) -> list[Turn]:
        """Turns of mini-partitions in groups that fit in memory, each through its steps."""
        whole = self.program.keeps_folders() or bool(self.orders.stale)
        parts = [pids] if whole else rotate_pids(pids, self._find_sizes(pids), self.orders.turn_bytes)
        return [
            Turn(part, step.progress, partial(self._read, part, step))
            for part in parts
            for step in list_steps(part)
        ]

    def catch_up(
        self, version: int, before: FrontierMap, after: FrontierMap, whole: ProgressMap, pids: frozenset[int]
    ) -> list[TurnStep]:
        """From the progress of a version to now, with a step for each cut in between."""
        last, marks = self.orders.version - 1, self.orders.marks
        stops = sorted(v for v, mark in marks.items() if mark.cut and v > version)
        if last not in (version, *stops) and self.has_late(pids, whole):
            stops.append(last)
        waited = [m for m in list_waiting(self.program, self.orders) if not pids.isdisjoint(m.pids)]
        steps = []
        for stop in stops:
            here = [m for m in waited if version < m.version <= stop]
            ends = (find_mark(self.orders, each, before) for each in (version, stop))
            steps.append(TurnStep(self._advance(*ends), here, False))
            version = stop
        here = [m for m in waited if m.version > version]
        return [*steps, TurnStep(self._advance(find_mark(self.orders, version, before), after), here)]

    def _advance(self, before: FrontierMap, after: FrontierMap) -> ProgressMap:
        return advance_program(self.program.rules, pair_up(before, after))

    def stay_behind(
        self, version: int, before: FrontierMap, taken: Mapping[str, frozenset[int]], pids: frozenset[int]
    ) -> list[TurnStep]:
        """Absorb some of the rows that wait, at the progress of a version."""
        mark = find_mark(self.orders, version, before)
        chosen = [(m, taken[m.path] & pids) for m in self.orders.segments if m.path in taken]
        some = [meta.keep(sorted(mine)) for meta, mine in chosen if mine]
        return [TurnStep(self._advance(mark, mark), some, False)]

    def has_late(self, pids: frozenset[int], progress: ProgressMap) -> bool:
        """Whether a row of this batch may be late for these mini-partitions."""
        return bool(pids) and any(
            has_late(self.nodes[node], progress[node].before, part)
            for node, table in self.arrived
            if (part := take_pids(table, pids, self.count)).num_rows
        )

    def _read(self, pids: frozenset[int], step: TurnStep) -> Iterator[tuple[str, pa.Table]]:
        for meta in step.waited:
            yield self.waiting[meta.node], read_segment(self.orders.store, meta, pids).replace_schema_metadata(None)
        for node, table in self.arrived if step.last else ():
            yield node, take_pids(table, pids, self.count)

    def _find_sizes(self, pids: frozenset[int]) -> dict[int, int]:
        """Bytes of state and input, if they may be more than memory is there for."""
        limit, store = self.orders.turn_bytes, self.orders.store
        live = [m for m in self.orders.segments if m.node in self.nodes]
        most = sum(m.live_bytes for m in live) + sum(t.nbytes for _, t in self.arrived)
        if limit is None or most <= limit:
            return {}
        size = np.zeros(self.count)
        for node in self.nodes:
            size += NodeSegments(store, node, live, pids, 0).count_rows(self.count)[1]
        for _, table in self.arrived:
            counts = np.bincount(table["pid"].to_numpy(), minlength=self.count)
            size += counts * (table.nbytes / max(table.num_rows, 1))
        return {pid: int(size[pid]) for pid in pids}
