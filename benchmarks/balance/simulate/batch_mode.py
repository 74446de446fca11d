"""Micro-batches on executors, as on Spark: the same policies, through the same controller.

A batch has a number of rows. A mini-partition's work is its rows times `row_seconds` plus its state times
`state_seconds`; a slot's is the sum, times noise, plus what reading moved state costs. Slots are tasks: each
core takes the next slot in the order of their numbers, so cores are busy until no slot is left, and the batch
ends with the last one, the barrier, plus a fixed overhead. Waiting is what a slot's core would have to wait for
the slowest *slot*, as the reports of a batch say it. Executors may be slowed down by something else. Splits
refine real hashes: groups are simulated, each with a hash, so that a split parts them as it would.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from headrace.balance.controller import ControllerState, control
from headrace.balance.statistics import (
    Activity,
    Floats,
    Owners,
    Statistics,
    make_pid_statistics,
    make_slot_statistics,
    measure_imbalance,
    sum_by_slot,
)
from headrace.state.split_route import SplitRoute, list_leaves

Rows = Callable[[int], Floats]  # batch -> rows of each group


@dataclass(frozen=True)
class BatchCluster:
    """Executors of one core, slots, mini-partitions, and what rows cost."""

    cores: int = 2
    slots: int = 8
    pids: int = 256
    row_seconds: float = 1e-6
    state_seconds: float = 2e-8  # per byte
    overhead: float = 0.05  # of a batch
    noise: float = 0.03  # of a slot's time
    read_bytes: float = 200e6  # per second, of state that moved


@dataclass
class BatchRun:
    """By batch: seconds, slowest slot over the mean, mini-partitions moved, and splits standing."""

    rows: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    imbalance: list[float] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    splits: list[int] = field(default_factory=list)

    def throughput(self, start: int = 0) -> float:
        """Rows per second from a batch on."""
        return sum(self.rows[start:]) / sum(self.seconds[start:])


def simulate_batches(
    cluster: BatchCluster,
    policy: str,
    rows: Rows,
    groups: int,
    batches: int = 60,
    slowdown: Callable[[int], Floats] | None = None,
    splits: bool = False,
    state_bytes: float = 100.0,
    seed: int = 0,
) -> BatchRun:
    """Run batches; every group has `state_bytes` of state, `slowdown` gives each core's factor in a batch."""
    random = np.random.default_rng(seed)
    hashes = random.integers(0, 1 << 62, groups)
    route: SplitRoute = tuple(pid * cluster.slots // cluster.pids for pid in range(cluster.pids))
    state, run = ControllerState(policy, splits), BatchRun()
    leaf_of = find_leaves(route, hashes)
    arrived = np.zeros(0)  # bytes that moved to each slot
    for batch in range(batches):
        leaves, owners = list_leaves(route)
        came = random.poisson(rows(batch)).astype(np.float64)
        count = sum_by_slot(came, leaf_of, len(leaves))
        held = np.bincount(leaf_of, minlength=len(leaves)).astype(np.float64)
        size = held * state_bytes
        slots = cluster.slots
        arrived = arrived if len(arrived) == slots else np.zeros(slots)
        work = sum_by_slot(count * cluster.row_seconds + size * cluster.state_seconds, owners, slots)
        work *= np.maximum(1 + cluster.noise * random.standard_normal(slots), 0.5)
        factor = slowdown(batch) if slowdown is not None else np.ones(cluster.cores)
        busy, length, places = schedule_slots(work + arrived / cluster.read_bytes, factor)
        run.rows.append(float(came.sum()))
        run.seconds.append(length + cluster.overhead)
        run.imbalance.append(measure_imbalance(busy))
        seen = Statistics(
            run.seconds[-1],
            make_pid_statistics(count, state_rows=held, state_bytes=size),
            make_slot_statistics(busy, busy.max() - busy, executor=tuple(f"core {c}" for c in places)),
        )
        activity = {"n": Activity(count, held, np.zeros(len(leaves)))}
        step = control(state, seen, activity, route)
        parts, after = list_leaves(step.route)
        if parts != leaves:
            leaf_of = find_leaves(step.route, hashes)
            arrived = np.zeros(slots)
        else:
            moved = size * (after != owners) if step.moved else np.zeros(len(leaves))
            arrived = sum_by_slot(moved, after, slots)
        run.moved.append(step.moved)
        run.splits.append(len(after) - cluster.pids)
        route, state = step.route, step.state
    return run


def find_leaves(route: SplitRoute, hashes: Owners) -> Owners:
    """The number of the leaf of each hash, all at once."""
    leaves, _ = list_leaves(route)
    pids = len(route)
    first = np.full(pids, -1)
    for number, leaf in enumerate(leaves):
        if leaf.depth == 0:
            first[leaf.pid] = number
    found = first[hashes % pids]
    for number, leaf in enumerate(leaves):
        if leaf.depth:
            bits = (hashes // pids) % (1 << leaf.depth)
            found[(hashes % pids == leaf.pid) & (bits == leaf.bits)] = number
    return found


def schedule_slots(work: Floats, factor: Floats) -> tuple[Floats, float, list[int]]:
    """Each core takes the next slot when it is free; gives the seconds of each slot, of all, and each slot's core."""
    free = [(0.0, core) for core in range(len(factor))]
    busy, places = np.zeros(len(work)), []
    for slot, seconds in enumerate(work):
        at, core = heapq.heappop(free)
        busy[slot] = seconds * factor[core]
        places.append(core)
        heapq.heappush(free, (at + busy[slot], core))
    return busy, max(at for at, _ in free), places
