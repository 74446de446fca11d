"""The orders of a batch as one file, of which each task reads its part.

A batch has as many tasks as slots times levels, and its state as many segments; told everything, the tasks together are told
their product. So the orders are cut: a *head* that every task reads (progress, route, clock: what does not grow with slots or
segments), the segments of each slot on each level, the files of each task. A segment is in the parts of the slots that own
rows of it, usually one. The file begins with the places of its parts; a task needs two reads. Nobody but the tasks of this
batch reads it, so it need not survive a power cut; the driver deletes it when they have ended.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.program.messages import Orders, Split
from headrace.program.program import Program
from headrace.state import SegmentMeta
from headrace.state.leaf_numbers import find_owner, list_owners

_COUNTS = struct.Struct("<4Q")  # levels, slots, source tasks, and whether slots read files of their own


@dataclass(frozen=True)
class OrderFile:
    """The content of the file, and how much of it every task reads."""

    content: bytes
    head: int


def cut_orders(program: Program, orders: Orders) -> OrderFile:
    """The orders, cut into the parts that tasks read."""
    levels, slots = len(program.levels), orders.slots
    parts: list[Any] = [replace(orders, segments=(), splits=(), own_splits=())]
    parts += [tuple(each) for each in _share_segments(program, orders)]
    parts += [*orders.own_splits, *orders.splits]
    written = [pickle.dumps(part, pickle.HIGHEST_PROTOCOL) for part in parts]
    counts = _COUNTS.pack(levels, slots, len(orders.splits), len(orders.own_splits))
    places = [_COUNTS.size + 8 * (len(written) + 1)]
    for part in written:
        places.append(places[-1] + len(part))
    return OrderFile(b"".join([counts, struct.pack(f"<{len(places)}Q", *places), *written]), places[1])


def _share_segments(program: Program, orders: Orders) -> Sequence[list[SegmentMeta]]:
    """The segments that hold rows of each slot, level after level."""
    level_of = {name: node.level for node in program.nodes for name in (node.name, node.waiting)}
    owners = dict(enumerate(list_owners(orders.route).tolist()))
    owners |= {number: find_owner(orders.route, number) for number in orders.stale}
    found: list[list[SegmentMeta]] = [[] for _ in range(len(program.levels) * orders.slots)]
    for meta in orders.segments:
        start = level_of[meta.node] * orders.slots
        for slot in {owners[pid] for pid in meta.pids}:
            found[start + slot].append(meta)
    return found


class OrderReader:
    """Reads the parts of a file through `read(start, size)`; `head` is how much of it every task reads."""

    def __init__(self, read: Callable[[int, int], bytes], head: int) -> None:
        self._read = read
        content = read(0, head)
        self._levels, self._slots, self._tasks, self._own = _COUNTS.unpack_from(content)
        count = self._levels * self._slots + self._own + self._tasks + 1
        self._places = struct.unpack_from(f"<{count + 1}Q", content, _COUNTS.size)
        self.common: Orders = pickle.loads(content[self._places[0] :])

    def read_slot(self, level: int, slot: int) -> Orders:
        """The orders of a slot on a level: with its segments and no others."""
        own = (self._part(self._levels * self._slots + slot),) if level == 0 and self._own else ()
        return replace(self.common, segments=self._part(level * self._slots + slot), own_splits=own)

    def read_splits(self, task: int) -> tuple[Split, ...]:
        """The files of a source task."""
        there = task < self._tasks
        return self._part(self._levels * self._slots + self._own + task) if there else ()

    def _part(self, number: int) -> Any:
        start, end = self._places[number + 1 : number + 3]
        return pickle.loads(self._read(start, end - start))
