"""A slot's share of the state of one node: read it, release it, write it.

What a slot owns of a segment are the rows of its mini-partitions. Three things happen to it after a batch, by one
rule, `Operator.needed_from`:

* segments whose span ends there or before are released: no later window looks at them;
* segments are compacted in tiers, so that a row is rewritten only a logarithmic number of times: when a tier has
  `fan_in` segments they become, together with what arrived, one segment of the next tier, and the old ones are
  released. State is then read from O(fan_in · log batches) files, and appending stays O(batch) amortised;
* what arrived becomes a segment of tier 0 otherwise.

When a mini-partition is split, or a split is undone, rows lie under *stale* numbers (`state/leaf_numbers.py`). They are
numbered anew whenever they are read, and after the batch written under their new numbers, apart from the rest of their files.

A segment written before a mini-partition moved is shared by several slots. Each releases and compacts its own
share, so that moves do not keep files alive; the driver drops a file when its last mini-partition is released.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.operator import Operator
from headrace.program.limits import SHIPPED
from headrace.program.messages import Release
from headrace.state import SegmentMeta, Span, Store, pid_sizes, read_segment, write_segment

KEPT_SIZES = 4096  # files whose sizes a worker remembers

Array = np.ndarray[Any, np.dtype[Any]]
_SIZES: dict[str, Array] = {}  # by path, which no other file ever has


class NodeSegments:
    """The live segments of `node` that hold rows of `pids`, or of `stale` numbers, whose rows `renumber` numbers anew."""

    def __init__(
        self,
        store: Store,
        node: str,
        segments: Sequence[SegmentMeta],
        pids: frozenset[int],
        version: int,
        stale: frozenset[int] = frozenset(),
        renumber: Callable[[pa.Table], pa.Table] | None = None,
        fan_in: int = SHIPPED.fan_in,
    ) -> None:
        self.store, self.node, self.pids, self.version = store, node, pids, version
        self._stale, self._renumber, self._fan_in = stale, renumber, fan_in
        self._held = pids | stale
        self.live = [m for m in segments if m.node == node and not self._held.isdisjoint(m.pids)]
        self._renumbered: dict[str, pa.Table] = {}  # by path
        self.written: list[SegmentMeta] = []
        self.released: list[Release] = []
        self.reading = 0.0  # seconds

    def read(self) -> list[pa.Table]:
        """The rows of this slot's mini-partitions, on the local disk without copying them."""
        started = time.perf_counter()
        tables = [self._rows_of(m) for m in self.live]
        self.reading += time.perf_counter() - started
        return tables

    def read_between(self, low: int, high: int, pids: Collection[int] | None = None) -> list[pa.Table]:
        """Those of the segments that cover values in [low, high], and of these mini-partitions if any are named."""
        wanted = self._held if pids is None else self.pids.intersection(pids) | self._stale
        covering = [m for m in self.live if m.lower <= high and m.upper > low]
        return [self._rows_of(m, wanted) for m in covering if not wanted.isdisjoint(m.pids)]

    def retain(self, operator: Operator[Any]) -> None:
        """Let go of what nobody needs, and write what arrived, with a full tier."""
        needed = operator.needed_from()
        expired = [m for m in self.live if m.upper <= needed]
        self.live = [m for m in self.live if m.upper > needed]
        stale = [m for m in self.live if not self._stale.isdisjoint(m.pids)]
        renumbered = operator.keep([self._read_stale(m) for m in stale]) if stale else None
        self._release(stale, self._stale)
        rest = [m.release(self._stale, self._count(m, self._stale)) for m in self.live] if stale else self.live
        self.live = [m for m in rest if m is not None and not self.pids.isdisjoint(m.pids)]
        chosen, tier = choose_tier(self.live, self._fan_in)
        kept = operator.keep([*map(self._rows_of, chosen), *operator.arrived()])
        self.live = [m for m in self.live if m not in chosen]
        self._release([*expired, *chosen], self._held)
        self._write(kept, tier)
        self._write(renumbered, max((m.tier for m in stale), default=0))

    def _write(self, kept: tuple[pa.Table, Span] | None, tier: int) -> None:
        if kept is not None and kept[0].num_rows:
            path = f"segments/{self.node}/{self.version:012d}-{uuid.uuid4().hex}.arrow"
            meta = write_segment(self.store, path, self.node, kept[0], kept[1], self.version, tier)
            self.written.append(meta)
            self.live.append(meta)

    def count_rows(self, pids: int) -> tuple[Array, Array]:
        """Rows and bytes of each of this slot's mini-partitions, by pid."""
        rows, size = np.zeros(pids, np.int64), np.zeros(pids, np.float64)
        for meta in self.live:
            sizes = self._sizes(meta)
            if meta.live_rows == meta.rows and self.pids.issuperset(meta.pids):  # all of it is ours, as usual
                held = np.arange(sizes.size)
            else:
                held = np.array([pid for pid in meta.pids if pid in self.pids], np.int64)
            rows[held] += sizes[held]
            size[held] += sizes[held] * (meta.bytes / max(meta.rows, 1))
        return rows, size.astype(np.int64)

    def _rows_of(self, meta: SegmentMeta, pids: frozenset[int] | None = None) -> pa.Table:
        wanted = self._held if pids is None else pids
        if wanted.isdisjoint(self._stale) or self._stale.isdisjoint(meta.pids):
            return read_segment(self.store, meta, wanted).replace_schema_metadata(None)
        current = read_segment(self.store, meta, wanted - self._stale).replace_schema_metadata(None)
        return pa.concat_tables([current, self._read_stale(meta)])

    def _read_stale(self, meta: SegmentMeta) -> pa.Table:
        if meta.path not in self._renumbered:
            assert self._renumber is not None
            rows = read_segment(self.store, meta, self._stale).replace_schema_metadata(None)
            self._renumbered[meta.path] = self._renumber(rows)
        return self._renumbered[meta.path]

    def _sizes(self, meta: SegmentMeta) -> Array:
        return find_sizes(self.store, meta)

    def _release(self, metas: Sequence[SegmentMeta], pids: frozenset[int]) -> None:
        for meta in metas:
            mine = tuple(pid for pid in meta.pids if pid in pids)
            self.released.append(Release(meta.path, mine, self._count(meta, pids)))

    def _count(self, meta: SegmentMeta, pids: frozenset[int]) -> int:
        return int(self._sizes(meta)[[pid for pid in meta.pids if pid in pids]].sum())


def find_sizes(store: Store, meta: SegmentMeta) -> Array:
    """Rows by pid. A file never changes, and is asked about in every batch while it lives."""
    found = _SIZES.get(meta.path)
    if found is None:
        if len(_SIZES) >= KEPT_SIZES:
            _SIZES.clear()
        found = _SIZES[meta.path] = pid_sizes(store, meta)
    return found


def choose_tier(segments: Sequence[SegmentMeta], fan_in: int) -> tuple[list[SegmentMeta], int]:
    """The segments to merge with what arrived, and the tier of the outcome."""
    tier = 0
    chosen: list[SegmentMeta] = []
    while True:
        alike = [m for m in segments if m.tier == tier]
        if len(alike) + bool(chosen) < fan_in:
            return chosen, tier
        chosen += alike
        tier += 1
