"""Turns: which mini-partitions of a slot go together, from which progress to which, with which rows (document 002, sections
4 and 6).

Usually a batch has one turn: all mini-partitions, from the progress before the batch to the progress after it. There are more
where some are *behind*, or where together they need more memory than a slot has. Turns with different mini-partitions have
nothing to do with each other: state, rows and results are by mini-partition, and whatever joins or aggregates across them is
behind an exchange.

A mini-partition that sits out a batch is behind from then on: its rows are written as they came, as segments of their
own (`SegmentMeta.waiting`), and the manifest says which version it has processed last. When it is taken, the rows are
absorbed as if they had just come, and progress goes in one step from that version's to now. One step is as good as several, as
long as no row was late when it came: a late row counts in windows that were open *then*. Progress of the version before
such rows is kept as a *cut*, and the step is made in two.

Rows that wait need not be taken at once. Where there is room in a slot, some are absorbed in a turn without progress: as if they
had come in a batch of their own that brought none. The mini-partition stays behind, and its other rows come as rows do, in any
order; only those after a cut must not be among them, for they belong to a later progress.

Levels after the first know of what the first one gives as much as all mini-partitions have reached: the meld of their frontiers
holds it back, and what stands on it (`progress/advance_program.py`). Rows still to come of one that is behind are not behind its
own frontier, so not behind the meld. Rows of streams that a later level reads directly are not held back; where they may
be late and are counted together with results, they would be measured by the wrong progress:
`program/waiting_obstacle.py` names such sets.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.balance.choose_deferred import (
    PidLoad,
    choose_deferred,
    choose_pieces,
    find_piece,
    find_room,
    find_share,
)
from headrace.balance.rotate_pids import find_limit, rotate_pids
from headrace.kernels.late_rows import has_late
from headrace.kernels.node_segments import NodeSegments, find_sizes
from headrace.program.messages import Frontiers, Orders
from headrace.program.node import Node
from headrace.program.program import Program
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.progress import NOTHING_KNOWN, Frontier, meld
from headrace.progress.advance_program import ProgressMap, advance_program, hold_back, pair_up
from headrace.state import SegmentMeta, Span, WaitingPid, pids_of, read_segment, write_segment
from headrace.state.leaf_numbers import list_owners

Arrived = Sequence[tuple[str, pa.Table]]  # by node
FrontierMap = Mapping[str, Frontier]  # by stream


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
        known = advance_program(program.rules, pair_up(before, after), _hold_back(program, orders, before, after, behind))
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
    taken = find_pieces(orders, out, find_share(sent / orders.slots), busy)
    for version in sorted({held[pid].version for chosen in taken.values() for pid in chosen}):
        group = frozenset(pid for chosen in taken.values() for pid in chosen if held[pid].version == version)
        turns += split.rotate(group, partial(split.stay_behind, version, before, taken))
    keeper = _WaitingRows(program, orders, arrived, held.keys() - out, taken, busy)
    waiting, written = keeper.write(out, held)
    return Turns(
        tuple(turns),
        (*keeper.release(), *written),
        meld_marks(orders, after, waiting.values()) if waiting else None,
        waiting,
        split.has_late(out.intersection(held), whole),
    )


def _hold_back(
    program: Program, orders: Orders, before: FrontierMap, after: FrontierMap, behind: FrontierMap | None
) -> ProgressMap | None:
    """What holds back the relations that the first level gives, in later levels: how far all mini-partitions had come with them,
    and have come.
    """
    if not orders.waiting and behind is None:
        return None
    reached = meld_marks(orders, before, orders.waiting.values()) if orders.waiting else before
    return hold_back(program.rules, pair_up(reached, after if behind is None else behind))


def meld_marks(orders: Orders, rest: FrontierMap, waiting: Iterable[WaitingPid]) -> FrontierMap:
    """What mini-partitions that are behind have reached, and the `rest`."""
    now = {s: p.frontier for s, p in orders.progress.items()}
    versions = {one.version for one in waiting}
    reached = [find_mark(orders, version, now) for version in versions]
    return {s: meld([known, *(each.get(s, NOTHING_KNOWN) for each in reached)]) for s, known in rest.items()}


def find_mark(orders: Orders, version: int, now: FrontierMap) -> FrontierMap:
    """Progress after a version; that of the last one is in the orders."""
    return now if version == orders.version - 1 else orders.marks[version].frontiers


def find_deferred(
    program: Program, orders: Orders, pids: frozenset[int], arrived: Arrived, sent: int
) -> frozenset[int]:
    """The mini-partitions that sit out this batch."""
    absorb = orders.absorb
    if absorb is None or find_waiting_obstacle(program) is not None:
        return frozenset()
    loads = list_loads(orders, pids, arrived)
    return choose_deferred(absorb, orders.now, loads, sent / orders.slots, sent / program.pids)


def find_pieces(
    orders: Orders, out: frozenset[int], share: float, busy: int
) -> dict[str, frozenset[int]]:
    """What those that sit out absorb all the same of the rows that wait, as far as there is room: mini-partitions by segment."""
    here = [m for m in orders.segments if m.waiting and not out.isdisjoint(m.pids)]
    if not here:
        return {}
    pieces = []
    for meta in sorted(here, key=lambda meta: meta.epoch):
        sizes = find_sizes(orders.store, meta)
        pieces += [(meta.path, pid, int(sizes[pid])) for pid in meta.pids if pid in out and is_before_cut(orders, meta, pid)]
    return choose_pieces(pieces, find_room(share, busy, pieces[0][2]) if pieces else 0.0)


def is_before_cut(orders: Orders, meta: SegmentMeta, pid: int) -> bool:
    """Whether rows that wait can be absorbed from where their mini-partition is."""
    cuts = [v for v, mark in orders.marks.items() if mark.cut and v > orders.waiting[pid].version]
    return meta.epoch <= min(cuts, default=orders.version)


def list_loads(orders: Orders, pids: frozenset[int], arrived: Arrived) -> list[PidLoad]:
    """What each mini-partition has to do, with the rows that wait."""
    count = count_numbers(orders)
    rows, size = np.zeros(count, np.int64), np.zeros(count)
    for _, table in arrived:
        counts = np.bincount(table["pid"].to_numpy(), minlength=count)
        rows += counts
        size += counts * (table.nbytes / max(table.num_rows, 1))
    nothing = WaitingPid(0, orders.now, 0, 0)
    behind = {pid: orders.waiting.get(pid, nothing) for pid in pids}
    return [PidLoad(p, int(rows[p]) + w.rows, int(size[p]) + w.bytes, w.since) for p, w in behind.items()]


class _Splitting:
    """The rows of a slot by turns."""

    def __init__(self, program: Program, orders: Orders, level: int, arrived: Arrived) -> None:
        self.program, self.orders, self.arrived = program, orders, arrived
        self.nodes = {n.name: n for n in program.nodes if n.level == level}
        self.count = count_numbers(orders)

    def rotate(self, pids: frozenset[int], list_steps: Callable[[frozenset[int]], list[TurnStep]]) -> list[Turn]:
        """Turns of mini-partitions in groups that fit in memory, each through its steps."""
        whole = self.program.keeps_folders() or bool(self.orders.stale)
        parts = [pids] if whole else rotate_pids(pids, self._find_sizes(pids), self.orders.memory)
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
        waited = [m for m in self.orders.segments if m.waiting and not pids.isdisjoint(m.pids)]
        steps = []
        for stop in stops:
            here = [m for m in waited if version < m.epoch <= stop]
            ends = (find_mark(self.orders, each, before) for each in (version, stop))
            steps.append(TurnStep(self._advance(*ends), here, False))
            version = stop
        here = [m for m in waited if m.epoch > version]
        return [*steps, TurnStep(self._advance(find_mark(self.orders, version, before), after), here)]

    def _advance(self, before: FrontierMap, after: FrontierMap) -> ProgressMap:
        return advance_program(self.program.rules, pair_up(before, after))

    def stay_behind(
        self, version: int, before: FrontierMap, taken: Mapping[str, frozenset[int]], pids: frozenset[int]
    ) -> list[TurnStep]:
        """Absorb some of the rows that wait, at the progress of a version."""
        mark = find_mark(self.orders, version, before)
        chosen = [(m, taken[m.path] & pids) for m in self.orders.segments if m.path in taken]
        some = [replace(meta, pids=tuple(sorted(mine))) for meta, mine in chosen if mine]
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
            yield meta.node, read_segment(self.orders.store, meta, pids).replace_schema_metadata(None)
        for node, table in self.arrived if step.last else ():
            yield node, take_pids(table, pids, self.count)

    def _find_sizes(self, pids: frozenset[int]) -> dict[int, int]:
        """Bytes of state and input, if they may be more than memory is there for."""
        memory, store = self.orders.memory, self.orders.store
        live = [m for m in self.orders.segments if m.node in self.nodes]
        most = sum(m.live_bytes for m in live) + sum(t.nbytes for _, t in self.arrived)
        if memory is None or most <= find_limit(memory):
            return {}
        size = np.zeros(self.count)
        for node in self.nodes:
            size += NodeSegments(store, node, live, pids, 0).count_rows(self.count)[1]
        for _, table in self.arrived:
            counts = np.bincount(table["pid"].to_numpy(), minlength=self.count)
            size += counts * (table.nbytes / max(table.num_rows, 1))
        return {pid: int(size[pid]) for pid in pids}


class _WaitingRows:
    """Rows that wait: written when they come, let go of when they are taken, all of a mini-partition or some pieces."""

    def __init__(
        self,
        program: Program,
        orders: Orders,
        arrived: Arrived,
        whole: Collection[int],
        pieces: Mapping[str, frozenset[int]],
        busy: int,
    ) -> None:
        self.program, self.orders, self.arrived = program, orders, arrived
        self._whole, self._pieces, self._busy = frozenset(whole), pieces, busy

    def write(
        self, pids: frozenset[int], held: Mapping[int, WaitingPid]
    ) -> tuple[dict[int, WaitingPid], list[SegmentMeta]]:
        """The rows of these mini-partitions as segments, and what waits of each from now on."""
        count = count_numbers(self.orders)
        rows, size = np.zeros(count, np.int64), np.zeros(count)
        written = []
        for name in dict.fromkeys(node for node, _ in self.arrived):
            tables = [take_pids(t, pids, count) for node, t in self.arrived if node == name]
            for piece in cut_pieces(pa.concat_tables(tables), self._busy):
                meta = self._write(self.program.node(name), piece)
                counts = np.bincount(piece["pid"].to_numpy(), minlength=count)
                rows += counts
                size += counts * (meta.bytes / meta.rows)
                written.append(meta)
        for meta in self.orders.segments:
            gone = list(self._pieces.get(meta.path, ()))
            if gone:
                counts = find_sizes(self.orders.store, meta)[gone]
                rows[gone] -= counts
                size[gone] -= counts * (meta.bytes / meta.rows)
        waiting = {}
        for pid in pids:
            old = held.get(pid, WaitingPid(self.orders.version - 1, self.orders.now, 0, 0))
            left = max(0, old.bytes + int(size[pid]))
            waiting[pid] = WaitingPid(old.version, old.since, old.rows + int(rows[pid]), left)
        return waiting, written

    def _write(self, node: Node, table: pa.Table) -> SegmentMeta:
        version = self.orders.version
        path = f"segments/{node.name}/{version:012d}-{uuid.uuid4().hex}.arrow"
        span = pc.min_max(table[node.time])
        low, high = (span[end].as_py() or 0 for end in ("min", "max"))
        return write_segment(
            self.orders.store, path, node.name, table, Span(low, high + node.width), version, waiting=True
        )

    def release(self) -> Iterator[SegmentMeta]:
        """The segments of before the batch, without the rows that waited and were taken."""
        for meta in self.orders.segments:
            taken = self._whole | self._pieces.get(meta.path, frozenset()) if meta.waiting else frozenset[int]()
            mine = [pid for pid in meta.pids if pid in taken]
            left = meta.release(mine, int(find_sizes(self.orders.store, meta)[mine].sum())) if mine else meta
            if left is not None:
                yield left


def cut_pieces(rows: pa.Table, busy: int) -> Iterator[pa.Table]:
    """The rows by mini-partition, in tables with so many of each that they can be taken one by one in a slot
    whose others have `busy` rows.
    """
    rows = rows.take(pa.array(np.argsort(rows["pid"].to_numpy(), kind="stable")))
    numbers = rows["pid"].to_numpy()
    place = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # among those of its mini-partition
    piece = place // find_piece(busy, int(place.max(initial=-1)) + 1)
    for n in range(int(piece.max(initial=-1)) + 1):
        yield rows if not piece.any() else rows.filter(pa.array(piece == n))


def count_numbers(orders: Orders) -> int:
    """More than the largest number of a mini-partition."""
    return len(list_owners(orders.route))


def take_pids(table: pa.Table, pids: frozenset[int], count: int) -> pa.Table:
    """The rows of these mini-partitions."""
    wanted = np.zeros(count, bool)
    wanted[list(pids)] = True
    mine = wanted[table["pid"].to_numpy()]
    return table if mine.all() else table.filter(pa.array(mine))
