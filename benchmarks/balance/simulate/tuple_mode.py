"""The paper's experiments: a pipelined stage on a cluster, balanced while rows flow (document 002).

A fluid model in small steps, not one event per row: a step moves whole amounts of rows between producers,
buffers and consumers with NumPy, so that 10,000 nodes with a million mini-partitions take minutes. What is
exact in it: conservation of rows; head-of-line blocking (a producer stops when the buffer it shares, or with
Exchange the queue to one destination, is full, and then all destinations starve in proportion); CPU time of
each node, shared by consumer, producer, moves and the external load; stages of every move; disk I/O; controller
rounds with the policies of `headrace.balance.policies` themselves. What is averaged: all producers are alike
and are one; rows of a node are processed in turns, two of them in a step; service times vary by the law of
large numbers. Random is how many rows each mini-partition gets in a step (Poisson), so short collections see
what short collections would see. One seed, one outcome.

In a step, rows come in until the buffers are full while consumers drain: the amount x that comes in solves Σ
max(0, queued + x·share - capacity - connection) = buffer, a rising piecewise linear equation, by Newton from
above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.balance.simulate.move_phase import MovePhase
from benchmarks.balance.simulate.paper_cluster import CpuLoad, Disturbance, PaperCluster
from benchmarks.balance.simulate.spill_rotation import SpillRotation
from headrace.balance.decision import Policy
from headrace.balance.statistics import (
    Floats,
    Owners,
    Statistics,
    make_pid_statistics,
    make_slot_statistics,
    sum_by_slot,
)


@dataclass
class TupleRun:
    """What happened, by interval: rows processed per second, mean latency; and the rounds that moved something."""

    interval: float
    throughput: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    moves: list[tuple[float, int]] = field(default_factory=list)  # (time at which they were done, how many)
    rounds: int = 0
    moved_bytes: float = 0.0

    @property
    def moved(self) -> int:
        return sum(count for _, count in self.moves)

    def mean_throughput(self, start: float = 0.0) -> float:
        """Rows per second from a time on."""
        return float(np.mean(self.throughput[int(start / self.interval) :]))

    def mean_latency(self, start: float = 0.0) -> float:
        """Seconds per row from a time on, each row counting once."""
        rows, lag = self.throughput[int(start / self.interval) :], self.latency[int(start / self.interval) :]
        return float(np.dot(rows, lag) / max(np.sum(rows), 1.0))


def simulate_tuples(
    cluster: PaperCluster,
    policy: Policy,
    shares: Floats,
    disturbances: Sequence[Disturbance] = (),
    seconds: float = 20.0,
    seed: int = 0,
    step: float = 0.002,
    interval: float = 1.0,
) -> TupleRun:
    """Run the stage for a time; `shares` has each mini-partition's part of the rows."""
    stage = _Stage(cluster, policy, shares, disturbances, seed, step)
    run = stage.run
    run.interval = interval
    for _ in range(round(seconds / interval)):
        rows, lag = 0.0, 0.0
        for _ in range(round(interval / step)):
            done, late = stage.advance()
            rows, lag = rows + done, lag + late
        run.throughput.append(rows / interval)
        run.latency.append(lag / rows if rows else 0.0)
    return run


class _Stage:
    """The state of the simulation."""

    def __init__(
        self,
        cluster: PaperCluster,
        policy: Policy,
        shares: Floats,
        disturbances: Sequence[Disturbance],
        seed: int,
        step: float,
    ) -> None:
        c = self.cluster = cluster
        self.policy, self.shares, self.step = policy, shares, step
        self.disturbances = disturbances
        self.random = np.random.default_rng(seed)
        self.now, self.run = -step, TupleRun(1.0)
        self.owners: Owners = np.repeat(np.arange(c.nodes), c.pids_per_node)
        self.stalled = np.zeros(c.pids, dtype=bool)
        self.buffer = float(c.nodes * c.buffer_rows)
        self.connection = float(c.nodes * c.connection_rows)  # in flight to one node
        self.queue = shares * (self.buffer + c.nodes * self.connection)  # warmed up: the buffers are full
        self.debt = np.zeros(c.nodes)
        self.spill = SpillRotation(c)
        self.came = 0.0  # rows in the step before
        self.memory: Any = None
        self.move_phase: MovePhase | None = None
        self.moved_bytes = self.move_seconds = 0.0
        self.queued: Floats = np.zeros(c.nodes)
        self._place()
        self._collect(0.1)
        self.now = 0.0

    # -- one step --------------------
    def advance(self) -> tuple[float, float]:
        """One step; gives rows processed and the sum of their latencies."""
        c, spill = self.cluster, self.spill
        cpu, room = self._resources()
        open_part = np.clip((self.now + self.step - spill.busy_until) / self.step, 0.0, 1.0)
        time = self.step * cpu * open_part
        paid = np.minimum(self.debt, time)
        self.debt -= paid
        usable = np.maximum(time - paid - self.came / c.nodes * c.produce_seconds, 0.0)
        each = self._row_costs(usable)
        capacity = usable / each
        rows, queued = self._take_in(capacity)
        taken = self._drain(capacity, queued)
        self.queue -= taken
        done = spill.accept(taken, self.now)
        by_node = sum_by_slot(taken, self.owners, c.nodes)
        spill.since_turn += sum_by_slot(done, self.owners, c.nodes)
        self.came_in += rows
        self.processed += done
        waits = self.step * open_part - (by_node * each + paid) / cpu  # the producer's thread runs meanwhile
        self.idle += np.where(queued < capacity, np.maximum(waits, 0.0), 0.0)
        total = float(done.sum())
        late = total * float(np.dot(by_node, c.row_seconds / cpu)) / max(float(by_node.sum()), 1e-9)
        self._control(cpu, room)
        spill.turn(self.now, self.owners, self.stalled, room, self.debt)
        self.now += self.step
        resumed, waited = spill.take_resumed()
        return total + resumed, late + waited

    def _resources(self) -> tuple[Floats, Floats]:
        c = self.cluster
        cpu, room = np.ones(c.nodes), np.full(c.nodes, c.memory)
        for one in self.disturbances:
            if one.start <= self.now:
                if isinstance(one, CpuLoad):
                    if self.now < one.end:
                        cpu[list(one.nodes)] = c.loaded_share
                else:
                    room[list(one.nodes)] = one.memory
        return cpu, room

    def _row_costs(self, usable: Floats) -> Floats:
        """Seconds a row takes on each node: service varies, and rows for what is on disk are only written."""
        c = self.cluster
        count = np.maximum(usable / c.row_seconds, 1.0)
        each = c.row_seconds + c.row_deviation * self.random.standard_normal(c.nodes) / np.sqrt(count)
        if not self.spill.on_disk.any():
            return each
        aside = sum_by_slot(self.queue * self.spill.on_disk, self.owners, c.nodes)
        part = np.divide(aside, self.queued, out=np.zeros(c.nodes), where=self.queued > 0)
        mixed: Floats = each * (1 - part) + part * c.row_bytes / c.disk
        return mixed

    def _take_in(self, capacity: Floats) -> tuple[Floats, Floats]:
        """Rows that come in by mini-partition, and what is then queued by node."""
        c = self.cluster
        most = c.nodes * self.step / c.produce_seconds
        if c.exchange:
            limit = self.connection + self.buffer / c.nodes
            space = np.maximum(limit + capacity - self.queued, 0.0)
            most = min(most, float(np.min(space / np.maximum(self.arrives, 1e-12))))
        else:
            most = self._fill_buffer(most, capacity)
        rows = self.random.poisson(most * self._bunch(most) * self.shares).astype(np.float64)
        self.queue += rows
        self.came = float(rows.sum())
        moving = np.where(self.stalled, 0.0, self.queue) if self.stalled.any() else self.queue
        self.queued = sum_by_slot(moving, self.owners, c.nodes)
        self.held = float(self.queue.sum() - self.queued.sum())
        return rows, self.queued

    def _drain(self, capacity: Floats, queued: Floats) -> Floats:
        """What consumers take: a producer goes round the mini-partitions, so small ones are served before large
        ones get more."""
        c = self.cluster
        ready = np.where(self.stalled, 0.0, self.queue)
        full = queued > capacity
        if not full.any():
            return ready
        busy = sum_by_slot((ready > 0).astype(np.float64), self.owners, c.nodes)
        turn = np.where(full, capacity / np.maximum(busy, 1.0), np.inf)
        first = np.minimum(ready, turn[self.owners])
        given = sum_by_slot(first, self.owners, c.nodes)
        more = np.divide(
            capacity - given, queued - given, out=np.zeros(c.nodes), where=full & (queued > given)
        )
        second: Floats = (ready - first) * np.clip(more, 0.0, 1.0)[self.owners]
        return first + second

    def _bunch(self, amount: float) -> Floats:
        """Rows travel in packets: how much more or less than its part each mini-partition gets, by where it is."""
        part = amount * self.arrives / self.cluster.packet_rows
        packets = self.random.poisson(part)
        return np.divide(packets, part, out=np.ones(self.cluster.nodes), where=part > 0)[self.owners]

    def _fill_buffer(self, most: float, capacity: Floats) -> float:
        """How many rows come in until the shared buffer is full."""
        base = self.queued - capacity - self.connection
        amount = most
        for _ in range(60):
            over = base + amount * self.arrives
            full = over > 0
            excess = float(over[full].sum()) + self.held + amount * self.arrives_stalled - self.buffer
            slope = float(self.arrives[full].sum()) + self.arrives_stalled
            if excess <= 1e-6 or slope <= 0:
                break
            amount -= excess / slope
            if amount <= 0:
                return 0.0
        return amount

    def _place(self) -> None:
        """What follows from owners and stalls."""
        c = self.cluster
        live = np.where(self.stalled, 0.0, self.shares)
        self.arrives = sum_by_slot(live, self.owners, c.nodes)
        self.arrives_stalled = float(self.shares.sum() - live.sum())
        waiting = np.where(self.stalled, 0.0, self.queue)
        self.queued = sum_by_slot(waiting, self.owners, c.nodes)
        self.held = float(self.queue.sum() - waiting.sum())

    # -- the controller's rounds --------------------
    def _collect(self, seconds: float) -> None:
        c = self.cluster
        self.started = self.now + self.step  # from the next step on
        self.ends = self.started + seconds - self.step / 2
        self.came_in, self.processed, self.idle = np.zeros(c.pids), np.zeros(c.pids), np.zeros(c.nodes)
        self.silent = np.ones(c.nodes, dtype=bool)

    def _control(self, cpu: Floats, room: Floats) -> None:
        listens = self.spill.listens(self.now)
        if self.move_phase is not None:
            self._move(self.move_phase, cpu, listens)
        elif self.now + self.step > self.ends:
            self.silent &= ~listens
            if not self.silent.any():
                self._decide(room)

    def _decide(self, room: Floats) -> None:
        c = self.cluster
        length = self.now + self.step - self.started
        pids = make_pid_statistics(
            self.came_in,
            processed=self.processed,
            state_rows=np.full(c.pids, float(c.state_rows)),
            state_bytes=np.full(c.pids, c.state_bytes),
            waiting=self.queue.copy(),
            on_disk=self.spill.on_disk.copy(),
        )
        wait = np.minimum(self.idle, length)
        slots = make_slot_statistics(length - wait, wait, memory=room)
        seen = Statistics(length, pids, slots, self.moved_bytes, self.move_seconds)
        decision = self.policy(seen, self.owners, self.memory)
        self.memory = decision.memory
        self.run.rounds += 1
        moved = np.flatnonzero(self.owners != decision.owners)
        self.moved_bytes = len(moved) * c.state_bytes
        self.move_seconds = 0.0
        self.next_collection = decision.next_collection
        if len(moved):
            self.move_phase = MovePhase(c, moved, self.owners[moved], decision.owners[moved])
            self.started = self.now
        else:
            self._collect(decision.next_collection(0.0))

    def _move(self, phase: MovePhase, cpu: Floats, listens: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        c, spill = self.cluster, self.spill
        for number in phase.waiting_on_disk(spill.on_disk):
            node = int(phase.sources[number])
            if spill.busy_until[node] <= self.now:
                spill.read(self.now, node, int(phase.pids[number]), self.debt)
        drain = np.minimum(self.queued, self.connection) * c.row_seconds / cpu
        pausing, extracted, done = phase.advance(
            self.now, self.step, listens, drain, cpu, self.debt, spill.on_disk
        )
        self.stalled[phase.pids[pausing]] = True
        spill.leaving[phase.pids[extracted]] = True
        if len(done):
            finished = phase.pids[done]
            self.owners = self.owners.copy()
            self.owners[finished] = phase.targets[done]
            self.stalled[finished] = spill.leaving[finished] = False
            spill.since[finished] = self.now
            self.run.moves.append((self.now, len(done)))
            self.run.moved_bytes += len(done) * c.state_bytes
        if len(pausing) or len(done):
            self._place()
        if phase.finished:
            self.move_phase, self.move_seconds = None, self.now + self.step - self.started
            self._collect(self.next_collection(self.move_seconds))
