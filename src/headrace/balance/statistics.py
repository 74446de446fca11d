"""What a controller sees: one collection phase of the paper, one or more batches here (document 002, sections
5.1, 6.1).

Arrays run over mini-partitions or over slots, so that a million mini-partitions are a few NumPy operations.
Nothing here is estimated; `smooth_rates` and `seconds_model` do that. A mini-partition's *work* is what it
costs: its rows, until a model knows its seconds. A slot's time is either busy or waited, so utilisation is
Flux' `1 - idle / δ`: within a batch, a slot that is done waits for the slowest one at the barrier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.balance.rotate_pids import rotate_pids
from headrace.program.messages import SlotReport

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Owners = NDArray[np.int64]  # the slot of every mini-partition


@dataclass(frozen=True, eq=False)
class PidStatistics:
    """By mini-partition."""

    rows: Floats  # came in
    processed: Floats  # of these and of rows that waited
    state_rows: Floats
    state_bytes: Floats
    results: Floats
    last_touch: NDArray[np.int64]  # number of the last batch with rows; -1 if none was seen
    work: Floats  # what the rows that came in cost, in any unit: rows, or seconds of a model
    waiting: Floats  # rows that are not processed yet
    on_disk: Flags  # spilled, not in the memory of its slot

    @property
    def count(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class SlotStatistics:
    """By slot; seconds within the collection."""

    load: Floats
    close: Floats
    keep: Floats
    busy: Floats
    wait: Floats
    executor: tuple[str, ...]  # empty text where it is not known
    peak_memory: Floats  # bytes
    memory: Floats  # bytes it may use for state

    @property
    def count(self) -> int:
        return len(self.busy)

    @property
    def utilisation(self) -> Floats:
        """Busy share of the time, 0 for a slot that reported nothing."""
        total = self.busy + self.wait
        return np.divide(self.busy, total, out=np.zeros_like(self.busy), where=total > 0)


@dataclass(frozen=True, eq=False)
class Statistics:
    """One collection: its length, what was seen in it, and what the last move phase took."""

    seconds: float
    pids: PidStatistics
    slots: SlotStatistics
    moved_bytes: float = 0.0
    move_seconds: float = 0.0

    def with_work(self, work: Floats) -> Statistics:
        """The same with what a model says the rows cost."""
        return replace(self, pids=replace(self.pids, work=work))


@dataclass(frozen=True, eq=False)
class Activity:
    """By mini-partition of one node: what its part of the seconds is fitted on."""

    rows: Floats
    state_rows: Floats
    results: Floats


def make_pid_statistics(rows: Sequence[float] | Floats, **other: Any) -> PidStatistics:
    """Statistics by mini-partition with zeros for what is not given."""
    came = np.asarray(rows, dtype=np.float64)
    zeros = np.zeros_like(came)
    fields: dict[str, Any] = {
        "processed": came,
        "state_rows": zeros,
        "state_bytes": zeros,
        "results": zeros,
        "last_touch": np.full(len(came), -1),
        "work": came,
        "waiting": zeros,
        "on_disk": np.zeros(len(came), dtype=bool),
    }
    return PidStatistics(rows=came, **(fields | {k: np.asarray(v) for k, v in other.items()}))


def make_slot_statistics(
    busy: Sequence[float] | Floats, wait: Sequence[float] | Floats, **other: Any
) -> SlotStatistics:
    """Statistics by slot with unlimited memory, and zeros for what else is not given."""
    time = np.asarray(busy, dtype=np.float64)
    zeros = np.zeros_like(time)
    fields: dict[str, Any] = {
        "load": zeros,
        "close": zeros,
        "keep": zeros,
        "executor": ("",) * len(time),
        "peak_memory": zeros,
        "memory": np.full(len(time), np.inf),
    }
    return SlotStatistics(busy=time, wait=np.asarray(wait, dtype=np.float64), **(fields | other))


def read_reports(
    reports: Iterable[SlotReport],
    pids: int,
    slots: int,
    before: Statistics | None = None,
    memory: float | None = None,
) -> tuple[Statistics, dict[str, Activity]]:
    """The statistics of a batch from what its slots reported, and by node what a model of their seconds is
    fitted on.

    The time of a level is that of its slowest slot, and the levels of a batch follow one another. `before` are
    the statistics of the batch before, for the last touch of mini-partitions that now rest; `memory` is what
    may be in the memory of a slot at once. Where its state is more, its mini-partitions take turns (`rotate_pids`),
    and those after the first turn are on disk, as the paper's are that rotate.
    """
    came = list(reports)
    nodes: dict[str, Activity] = {}
    own: dict[int, set[int]] = {}  # mini-partitions by slot
    total, size = np.zeros((4, pids)), np.zeros(pids)
    for report in came:
        for one in report.activity:
            zeros = Activity(np.zeros(pids), np.zeros(pids), np.zeros(pids))
            node, at = nodes.setdefault(one.node, zeros), list(one.pids)
            columns = (node.rows, node.state_rows, node.results)
            for column, values in zip(columns, (one.rows, one.state_rows, one.results), strict=True):
                column[at] += values
            size[at] += one.state_bytes
            own.setdefault(report.slot, set()).update(at)
    for row, name in enumerate(("rows", "state_rows", "results")):
        total[row] = sum((getattr(n, name) for n in nodes.values()), np.zeros(pids))
    phases = np.zeros((4, slots))
    wait, peak = np.zeros(slots), np.zeros(slots)
    places = [""] * slots
    length = 0.0
    for level in {r.level for r in came}:
        spent = np.zeros(slots)
        for report in (r for r in came if r.level == level):
            t = report.timings
            phases[:, report.slot] += (t.load, t.close, t.keep, t.total)
            spent[report.slot] += t.total
            peak[report.slot] = max(peak[report.slot], report.peak_memory)
            places[report.slot] = report.executor
        length += float(spent.max())
        wait += spent.max() - spent
    touched = before.pids.last_touch if before is not None else np.full(pids, -1)
    version = max((r.version for r in came), default=-1)
    by_pid = make_pid_statistics(
        total[0],
        state_rows=total[1],
        state_bytes=size,
        results=total[2],
        last_touch=np.where(total[0] > 0, version, touched),
        on_disk=_find_on_disk(own.values(), size, memory),
    )
    by_slot = make_slot_statistics(
        phases[3],
        wait,
        load=phases[0],
        close=phases[1],
        keep=phases[2],
        executor=tuple(places),
        peak_memory=peak,
        memory=np.full(slots, np.inf if memory is None else memory),
    )
    return Statistics(length, by_pid, by_slot), nodes


def _find_on_disk(owned: Iterable[set[int]], size: Floats, memory: float | None) -> Flags:
    """The mini-partitions that have to wait until others of their slot have had their turn."""
    found = np.zeros(len(size), dtype=bool)
    for pids in owned:
        for turn in rotate_pids(pids, {pid: int(size[pid]) for pid in pids}, memory)[1:]:
            found[list(turn)] = True
    return found


def spread_seconds(seen: Statistics, owners: Owners) -> Statistics:
    """The same as if every slot had worked at the mean pace: busy as long as its share of the work."""
    work = sum_by_slot(seen.pids.work, owners, seen.slots.count)
    if not work.any():
        return seen
    busy = seen.slots.busy.sum() * work / work.sum()
    return replace(seen, slots=replace(seen.slots, busy=busy, wait=busy.max() - busy))


def sum_by_slot(values: Floats, owners: Owners, slots: int) -> Floats:
    """Values of mini-partitions added up by the slot that owns them."""
    return np.bincount(owners, weights=values, minlength=slots).astype(np.float64)


def group_by_slot(owners: Owners, slots: int) -> list[Owners]:
    """The mini-partitions of each slot, ascending."""
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.cumsum(np.bincount(owners, minlength=slots))[: slots - 1])


def measure_imbalance(loads: Floats) -> float:
    """The slowest slot over the mean; 1 is balanced."""
    mean = float(loads.mean()) if len(loads) else 0.0
    return float(loads.max()) / mean if mean > 0 else 1.0
