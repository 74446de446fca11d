"""The simulator: the paper's numbers in the small, and the default policy never below static."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.balance.simulate import (
    BatchCluster,
    CpuLoad,
    MemoryLoss,
    PaperCluster,
    rotate_load,
    simulate_batches,
    simulate_tuples,
    spread_80_20,
    spread_evenly,
)
from benchmarks.balance.simulate.batch_mode import find_leaves, schedule_slots

from headrace.balance.policies import POLICIES
from headrace.state.split_route import SplitRoute, list_leaves

C = PaperCluster()


def test_unloaded_and_one_loaded() -> None:
    """Unloaded 6.9·10⁵ within 3 %; with one machine loaded static falls to the loaded machine's share."""
    unloaded = simulate_tuples(C, POLICIES["static"], spread_evenly(C), (), 1.0, step=0.004)
    assert unloaded.mean_throughput() == pytest.approx(6.9e5, rel=0.03)
    small = PaperCluster(buffer_rows=64)
    loaded = simulate_tuples(
        small, POLICIES["static"], spread_evenly(small), (CpuLoad((3,), 0.0),), 3.0, step=0.004
    )
    assert loaded.mean_throughput(2.0) == pytest.approx(0.43 * 7.0e5, rel=0.06)


def test_one_seed_one_outcome() -> None:
    """The same seed gives the same run, another seed another."""
    runs = [
        simulate_tuples(C, POLICIES["flux-load"], spread_80_20(C, 1), (), 1.0, seed, step=0.004).throughput
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_the_shared_buffer_absorbs_what_divided_queues_cannot() -> None:
    """Under a load that goes round, Flux' buffer beats Exchange's queues of the same size (Figure 3)."""
    found = []
    for exchange in (True, False):
        c = PaperCluster(buffer_rows=400, exchange=exchange)
        loads = rotate_load(c.nodes, 0.5)
        found.append(
            simulate_tuples(c, POLICIES["static"], spread_evenly(c), loads, 4.0, step=0.005).mean_throughput()
        )
    assert found[1] > 1.4 * found[0]


def test_moves_take_time_and_rows_are_conserved() -> None:
    """Balancing restores throughput after the load is felt, and moves only some of the loaded machine's partitions."""
    c = PaperCluster(buffer_rows=128)
    loads = (CpuLoad((0,), 0.0),)
    run = simulate_tuples(c, POLICIES["headrace"], spread_evenly(c), loads, 6.0, step=0.004)
    assert run.mean_throughput(4.0) > 0.9 * 6.9e5 and 25 <= run.moved <= 50
    assert run.moved_bytes == run.moved * 800_000


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("loaded", [0, 8])
def test_the_default_policy_is_never_below_static(skewed: bool, loaded: int) -> None:
    """On the paper's workloads, even and 80/20, with and without load."""
    c = PaperCluster(buffer_rows=512)
    shares = spread_80_20(c, 3) if skewed else spread_evenly(c)
    hot = int(np.argmax(shares)) // c.pids_per_node
    loads = (CpuLoad(tuple((hot + 4 * k) % c.nodes for k in range(loaded)), 0.0),) if loaded else ()
    static, ours = (
        simulate_tuples(c, POLICIES[name], shares, loads, 5.0, step=0.01).mean_throughput(1.0)
        for name in ("static", "headrace")
    )
    assert ours >= 0.99 * static


def test_half_of_the_machines_loaded_are_relieved_without_a_stall() -> None:
    """Sixteen loaded machines have to give away some four hundred mini-partitions: in rounds small enough that no second is
    slower than without balancing, and soon enough to be at what is possible, and ahead of the paper's policy, after half a minute.
    """
    loads = (CpuLoad(tuple(range(0, 32, 2)), 0.0),)
    static, flux, ours = (
        simulate_tuples(C, POLICIES[name], spread_evenly(C), loads, seconds, step=0.01)
        for name, seconds in (("static", 4.0), ("flux-load", 16.0), ("headrace", 16.0))
    )
    assert min(ours.throughput) > 0.93 * min(static.throughput)
    assert ours.mean_throughput(12.0) > 0.95 * (16 + 16 * C.loaded_share) / 32 * 7.0e5
    assert ours.mean_throughput() > flux.mean_throughput()


def test_large_state_moves_without_a_stall() -> None:
    """Four loaded machines with mini-partitions of 6 MB: plans of two hundred moves are carried out in rounds that the buffers can
    hold, so no second is much slower than without balancing, and throughput is back within half a minute.
    """
    c = PaperCluster(pids_per_node=128, state_rows=75_000)
    loads = (CpuLoad((0, 1, 2, 3), 0.0),)
    ours = simulate_tuples(c, POLICIES["headrace"], spread_evenly(c), loads, 45.0, step=0.02)
    assert min(ours.throughput) > 0.9 * c.loaded_share * 6.5e5 and ours.mean_throughput(40.0) > 5.5e5


@pytest.mark.parametrize("lost", [8, 16])
def test_memory_policies_use_what_memory_there_is(lost: int) -> None:
    """With eight machines of 32 short of memory all state fits, and in the end nothing is on disk; with sixteen it does not fit,
    and the default is faster than static all the same, with a fraction of its latency.
    """
    c = PaperCluster(nodes=16, pids_per_node=64, state_rows=75_000, memory=500e6)
    loss = (MemoryLoss(tuple(range(lost // 2)), 0.0, 256e6),)
    names, seconds = ("static", "headrace", "flux-memory"), 100.0
    runs = {n: simulate_tuples(c, POLICIES[n], spread_evenly(c), loss, seconds, step=0.02) for n in names}
    rates = {n: run.mean_throughput(70.0) for n, run in runs.items()}
    waits = {n: run.mean_latency(70.0) for n, run in runs.items()}
    if lost == 8:
        assert min(rates["headrace"], rates["flux-memory"]) > 0.85 * 16 / 32 * 6.9e5
        assert max(waits["headrace"], waits["flux-memory"]) < 50e-6
    else:
        assert rates["headrace"] > rates["static"] and waits["headrace"] < waits["static"] / 3


def test_a_slow_core_moves_nothing() -> None:
    """Cores take slots as they are free: which slot is slow says where it ran, and the default policy does not chase it."""
    rows = np.full(4000, 50.0)
    run = simulate_batches(BatchCluster(), "headrace", lambda _: rows, 4000, 40, lambda _: np.array([1.0, 2.3]))
    assert sum(run.moved) == 0 and np.median(run.imbalance) > 1.4


def test_memory_pressure_stalls_static_and_is_relieved_by_moving() -> None:
    """A node that loses memory stalls while it spills and then rotates slowly; the default policy moves state away instead."""
    c = PaperCluster(nodes=8, pids_per_node=32, state_rows=75_000, memory=250e6, buffer_rows=256)
    loss = (MemoryLoss((0,), 0.5, 128e6),)
    static = simulate_tuples(c, POLICIES["static"], spread_evenly(c), loss, 20.0, step=0.01)
    ours = simulate_tuples(c, POLICIES["headrace"], spread_evenly(c), loss, 20.0, step=0.01)
    full = 8 / 32 * 6.9e5
    assert static.mean_throughput(10.0) < 0.4 * full and static.mean_latency(10.0) > 1e-2
    assert ours.mean_throughput(10.0) > 0.9 * full and ours.mean_latency(10.0) == pytest.approx(
        45e-6, rel=0.05
    )


def test_cores_take_slots_in_order() -> None:
    """List scheduling: the next slot goes to the core that is free first, slowed down if that core is slow."""
    busy, length, places = schedule_slots(np.array([3.0, 2.0, 2.0]), np.ones(2))
    assert busy.tolist() == [3.0, 2.0, 2.0] and length == 4.0 and places == [0, 1, 1]
    assert schedule_slots(np.array([1.0, 1.0]), np.array([1.0, 3.0]))[1] == 3.0


def test_groups_find_their_leaf() -> None:
    """The leaf found for many hashes at once is the one that holds each."""
    route: SplitRoute = (0, (1, (2, 3)), 4)
    hashes = np.random.default_rng(0).integers(0, 1 << 62, 200)
    leaves, _ = list_leaves(route)
    for value, number in zip(hashes, find_leaves(route, hashes), strict=True):
        assert leaves[number].holds(int(value), 3)


def test_micro_batches_with_splits_level_a_hot_mini_partition() -> None:
    """Most of the rows in three mini-partitions: without splits nothing helps, with splits slots become level."""
    c, groups = BatchCluster(pids=64), 4000
    pids = np.random.default_rng(0).integers(0, 1 << 62, groups) % c.pids
    hot = np.isin(pids, [3, 33, 60])
    rows = np.where(hot, 180_000 / hot.sum(), 20_000 / (~hot).sum())
    runs = {s: simulate_batches(c, "headrace", lambda _: rows, groups, 30, splits=s) for s in (False, True)}
    assert np.median(runs[False].imbalance[20:]) > 2
    assert np.median(runs[True].imbalance[20:]) < 1.35 and runs[True].splits[-1] > 0
