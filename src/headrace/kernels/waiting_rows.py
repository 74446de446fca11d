"""Rows that wait: which mini-partitions sit out a batch, and what is kept of them until they are taken.

A mini-partition that sits out a batch is behind from then on: its rows are written as they came, as segments of a node of their
own (`Node.waiting`), and the manifest says which version it has processed last. Where there is room in a slot, some are absorbed
all the same, in a turn without progress (`slot_turns.py`); those after a cut must not be among them, for they belong to a later
progress.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.balance.choose_deferred import (
    PidLoad,
    choose_deferred,
    choose_pieces,
    find_piece,
    find_room,
)
from headrace.kernels.node_segments import find_sizes
from headrace.program.messages import Orders
from headrace.program.node import Node
from headrace.program.program import Program
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.state import SegmentMeta, Span, WaitingPid, write_segment
from headrace.state.leaf_numbers import list_owners

Arrived = Sequence[tuple[str, pa.Table]]  # by node


def list_waiting(program: Program, orders: Orders) -> list[SegmentMeta]:
    """The segments of rows that wait."""
    names = {node.waiting for node in program.nodes}
    return [meta for meta in orders.segments if meta.node in names]


def find_deferred(
    program: Program, orders: Orders, pids: frozenset[int], arrived: Arrived, sent: int
) -> frozenset[int]:
    """The mini-partitions that sit out this batch."""
    deferral = orders.deferral
    if deferral is None or find_waiting_obstacle(program) is not None:
        return frozenset()
    loads = list_loads(orders, pids, arrived)
    return choose_deferred(deferral, orders.now, loads, sent / orders.slots, sent / program.pids)


def find_pieces(
    program: Program, orders: Orders, out: frozenset[int], share: float, busy: int
) -> dict[str, frozenset[int]]:
    """What those that sit out absorb all the same of the rows that wait, as far as there is room: mini-partitions by segment."""
    here = [m for m in list_waiting(program, orders) if not out.isdisjoint(m.pids)]
    if not here:
        return {}
    pieces = []
    for meta in sorted(here, key=lambda meta: meta.version):
        sizes = find_sizes(orders.store, meta)
        pieces += [(meta.path, pid, int(sizes[pid])) for pid in meta.pids if pid in out and is_before_cut(orders, meta, pid)]
    return choose_pieces(pieces, find_room(share, busy, pieces[0][2]) if pieces else 0.0)


def is_before_cut(orders: Orders, meta: SegmentMeta, pid: int) -> bool:
    """Whether rows that wait can be absorbed from where their mini-partition is."""
    cuts = [v for v, mark in orders.marks.items() if mark.cut and v > orders.waiting[pid].version]
    return meta.version <= min(cuts, default=orders.version)


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


class WaitingRows:
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
            for piece in cut_pieces(pa.concat_tables(tables), self._busy, self.orders.limits.least_rows):
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
        path = f"segments/{node.waiting}/{version:012d}-{uuid.uuid4().hex}.arrow"
        span = pc.min_max(table[node.time])
        low, high = (span[end].as_py() or 0 for end in ("min", "max"))
        return write_segment(self.orders.store, path, node.waiting, table, Span(low, high + node.width), version)

    def release(self) -> Iterator[SegmentMeta]:
        """The segments of before the batch, without the rows that waited and were taken."""
        waiting = {meta.path for meta in list_waiting(self.program, self.orders)}
        for meta in self.orders.segments:
            taken = self._whole | self._pieces.get(meta.path, frozenset()) if meta.path in waiting else frozenset[int]()
            mine = [pid for pid in meta.pids if pid in taken]
            left = meta.release(mine, int(find_sizes(self.orders.store, meta)[mine].sum())) if mine else meta
            if left is not None:
                yield left


def cut_pieces(rows: pa.Table, busy: int, least: int) -> Iterator[pa.Table]:
    """The rows by mini-partition, in tables with so many of each that they can be taken one by one in a slot
    whose others have `busy` rows, and which may have `least` in any case.
    """
    rows = rows.take(pa.array(np.argsort(rows["pid"].to_numpy(), kind="stable")))
    numbers = rows["pid"].to_numpy()
    place = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)  # among those of its mini-partition
    piece = place // find_piece(busy, int(place.max(initial=-1)) + 1, least)
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
