"""The controller in the driver's hands: asked any number of times, learning once, and leaving alone what it cannot better."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from headrace.balance import POLICIES
from headrace.balance.controller import LEARNT
from headrace.balance.list_moves import list_moves
from headrace.balance.seconds_model import solve_nonnegative
from headrace.balance.statistics import (
    Statistics,
    make_pid_statistics,
    make_slot_statistics,
    spread_seconds,
    sum_by_slot,
)
from headrace.commands.command_options import POLICY_NAMES
from headrace.coordinator.balancer import Balancer
from headrace.coordinator.run_options import BALANCE
from headrace.program.messages import NodeActivity, SlotReport, Timings
from headrace.state import initial_route, rescale

PIDS, PER_ROW = 64, 2e-6


class NoisySlots:
    """Batches whose slots take a start and so long per row, times noise and the slowness of the executor they are given."""

    def __init__(
        self,
        policy: str,
        slots: int,
        share: Any,
        noise: float = 0.0,
        slow: float = 1.0,
        executors: int = 1,
        pinned: bool = False,
    ) -> None:
        self.balancer = Balancer(policy)
        self.share = np.asarray(share, float) / np.sum(share)
        self.noise, self.slow, self.executors, self.pinned = noise, slow, executors, pinned
        self.random = np.random.default_rng(5)
        self.manifest: Any = SimpleNamespace(route=initial_route(PIDS, slots), slots=slots, version=0)
        self.moved: list[int] = []

    def run(self, slots: int | None = None, rows: int = 400_000) -> None:
        slots = slots or self.manifest.slots
        route = self.balancer.choose_route(self.manifest, slots)
        came = self.random.poisson(self.share * rows)
        orders: Any = SimpleNamespace(route=route, slots=slots, turn_bytes=None)
        load = self.balancer.read([self._report(route, slot, came) for slot in range(slots)], orders)
        self.moved.append(len(list_moves(self.manifest.route, route)))
        self.balancer.observe(load)
        self.manifest = SimpleNamespace(route=route, slots=slots, version=self.manifest.version + 1)

    def _report(self, route: tuple[int, ...], slot: int, came: Any) -> SlotReport:
        mine = tuple(pid for pid in range(PIDS) if route[pid] == slot)
        rows = tuple(int(came[pid]) for pid in mine)
        place = slot % self.executors if self.pinned else int(self.random.integers(self.executors))
        seconds = (0.05 + PER_ROW * sum(rows)) * (1 + self.noise * abs(self.random.normal()))
        seconds *= self.slow if place == 0 else 1.0
        activity = NodeActivity("n", mine, rows, rows, tuple(20 * r for r in rows), (0,) * len(rows))
        version = self.manifest.version + 1
        times = Timings(0.0, seconds, 0.0, seconds)
        return SlotReport(version, slot, 0, {}, (), (), {}, (activity,), times, (), f"executor {place}")

    @property
    def imbalance(self) -> float:
        """Of the rows, in expectation."""
        loads = sum_by_slot(self.share, np.array(self.manifest.route), self.manifest.slots)
        return float(loads.max() / loads.mean())


@pytest.mark.parametrize(
    ("noise", "slow", "executors"), [(0.0, 1.0, 1), (0.3, 1.0, 1), (0.3, 1.0, 4), (0.1, 3.0, 2)]
)
def test_the_default_policy_leaves_an_even_load_alone(noise: float, slow: float, executors: int) -> None:
    """Noise of a third, or a slow executor that another slot meets in each batch, moves nothing in a hundred batches."""
    run = NoisySlots("headrace", 4, np.ones(PIDS), noise, slow, executors)
    for _ in range(100):
        run.run()
    assert sum(run.moved) == 0


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_skewed_mini_partitions_spread_and_then_stay(noise: float) -> None:
    """Three quarters of the rows on a quarter of the mini-partitions, all in one slot: level after a few batches, for good."""
    run = NoisySlots("headrace", 4, [9.0] * 16 + [1.0] * 48, noise)
    assert run.imbalance == pytest.approx(3.0)
    for _ in range(6):
        run.run()
    assert run.imbalance <= 1.12
    before = sum(run.moved)
    for _ in range(60):
        run.run()
    assert 0 < sum(run.moved) <= before + 6 and run.imbalance <= 1.12


def test_skew_is_seen_whatever_became_of_the_model() -> None:
    """The model of seconds is good, then worthless: the estimates that were in its seconds still stand, and skew is answered."""
    run = NoisySlots("headrace", 4, np.ones(PIDS), 0.02)
    for _ in range(15):
        run.run()
    assert run.balancer._state.model is not None and run.balancer._state.model.error < LEARNT
    run.noise = 3.0
    for _ in range(10):
        run.run()
    assert run.balancer._state.model.error > LEARNT and not sum(run.moved)
    run.share = np.array([9.0] * 16 + [1.0] * 48) / 192
    assert run.imbalance == pytest.approx(3.0)
    for _ in range(4):
        run.run()
    assert run.imbalance <= 1.12


def test_a_slot_that_keeps_a_slow_executor_gives_work_away() -> None:
    """Where each slot stays on its executor its pace is its own: the slow one ends with fewer rows."""
    run = NoisySlots("headrace", 4, np.ones(PIDS), 0.02, slow=3.0, executors=4, pinned=True)
    for _ in range(12):
        run.run()
    assert sum(run.moved) > 0 and run.imbalance > 1.1


def test_only_what_is_carried_out_counts() -> None:
    """Asked again and again, with one number of slots or another, the answer is the same, and nothing is learnt twice."""
    run = NoisySlots("headrace", 4, [9.0] * 16 + [1.0] * 48)
    run.run()
    state = run.balancer._state
    first = run.balancer.choose_route(run.manifest, 4)
    other = run.balancer.choose_route(run.manifest, 3)
    assert set(other) == {0, 1, 2} and run.balancer._state is state
    assert run.balancer.choose_route(run.manifest, 4) == first
    run.run(3)
    assert run.manifest.route == other and run.moved[-1] > 0 and run.balancer._state.model is not None
    assert run.balancer._state.model.equations == 4


def test_slots_of_another_number_start_with_the_heaviest() -> None:
    """After a rescale loads fall with the number of the slot, as Spark starts them, within a tenth."""
    run = NoisySlots("static", 2, [*[1.0] * 63, 10.0])
    run.run()
    run.run(4)
    loads = sum_by_slot(run.share, np.array(run.manifest.route), 4)
    assert (
        (loads[:-1] * 1.1 >= loads[1:]).all()
        and loads.max() <= 1.1 * loads.mean()
        and run.manifest.slots == 4
    )


def test_without_statistics_a_route_stays_or_is_evened_out() -> None:
    """Before the first batch of a run nothing is known: the route is that of the manifest, or evenly rescaled."""
    balancer = Balancer("headrace")
    manifest: Any = SimpleNamespace(route=tuple(p % 2 for p in range(PIDS)), slots=2)
    assert balancer.choose_route(manifest, 2) == manifest.route
    assert balancer.choose_route(manifest, 3) == rescale(manifest.route, 3)


def test_the_model_of_seconds_finds_the_least_squares_without_negative_coefficients() -> None:
    """The same minimum as SciPy's, also where columns are alike, and all zeros where that is best."""
    random = np.random.default_rng(0)
    for case in range(200):
        width = int(random.integers(1, 12))
        matrix = random.normal(size=(int(random.integers(1, 3 * width + 1)), width))
        if case % 3 == 0:
            matrix[:, 0] = matrix[:, -1]
        goal = random.normal(size=len(matrix)) * 10.0 ** random.uniform(-4, 4)
        inner = matrix.T @ matrix + 1e-6 * np.eye(width)
        target = matrix.T @ goal
        found = solve_nonnegative(inner, target)
        root = np.linalg.cholesky(inner)
        expected, _ = nnls(root.T, np.linalg.solve(root, target))
        ours, theirs = (x @ inner @ x / 2 - target @ x for x in (found, expected))
        assert (found >= 0).all() and ours <= theirs + 1e-9 * abs(theirs)
    assert solve_nonnegative(np.eye(2), np.array([-1.0, 0.0])).tolist() == [0.0, 0.0]


def test_the_command_line_knows_every_policy() -> None:
    """The names it offers without loading anything are those there are, the default first."""
    assert sorted(POLICY_NAMES) == sorted(POLICIES) and POLICY_NAMES[0] == BALANCE


def test_seconds_are_spread_by_work() -> None:
    """The sum stays, the shares are those of the work; without any work nothing changes."""
    seen = Statistics(3.0, make_pid_statistics([1.0, 2.0, 3.0]), make_slot_statistics([3.0, 3.0], [0.0, 0.0]))
    spread = spread_seconds(seen, np.array([0, 0, 1]))
    assert spread.slots.busy.tolist() == [3.0, 3.0]
    spread = spread_seconds(seen, np.array([0, 1, 1]))
    assert spread.slots.busy.tolist() == [1.0, 5.0] and spread.slots.wait.tolist() == [4.0, 0.0]
    idle = Statistics(3.0, make_pid_statistics([0.0]), make_slot_statistics([3.0, 1.0], [0.0, 0.0]))
    assert spread_seconds(idle, np.array([0])) is idle
