"""The experiments of document 002 in the simulator, and the workloads of micro-batches; each a function to plain data."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.balance.simulate import (
    BatchCluster,
    CpuLoad,
    Disturbance,
    MemoryLoss,
    PaperCluster,
    TupleRun,
    rotate_load,
    simulate_batches,
    simulate_tuples,
    spread_80_20,
    spread_evenly,
)
from headrace.balance.find_policy import find_policy
from headrace.balance.policies import POLICIES

LARGE_STATE = PaperCluster(pids_per_node=128, state_rows=75_000)  # section 6.2: 6 MB each
HALF = 512e6
DELTAS = (0.01, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0)
MACHINES = (1, 4, 8, 16, 24, 32)


def buffer_sizes() -> dict[str, Any]:
    """Fig. 3: throughput by buffer size under a load that goes round."""
    rows = []
    for kilobytes in (0, 8, 16, 32, 64, 128, 192, 256, 384, 512):
        row: dict[str, Any] = {"kilobytes": kilobytes}
        for name, exchange in (("exchange", True), ("flux", False)):
            c = PaperCluster(buffer_rows=kilobytes * 1000 // 80, exchange=exchange)
            loads = rotate_load(c.nodes, 0.5)
            run = simulate_tuples(c, POLICIES["static"], spread_evenly(c), loads, 16.0, step=0.004)
            row[name] = run.mean_throughput()
        rows.append(row)
    c = PaperCluster()
    unloaded = simulate_tuples(c, POLICIES["static"], spread_evenly(c), (), 5.0).mean_throughput()
    return {"rows": rows, "unloaded": unloaded}


def _series(run: TupleRun) -> dict[str, Any]:
    return {
        "throughput": run.throughput,
        "latency": run.latency,
        "moved": run.moved,
        "moves": run.moves[:400],
        "rounds": run.rounds,
        "megabytes": run.moved_bytes / 1e6,
    }


def one_loaded() -> dict[str, Any]:
    """Fig. 6: one machine gets an external load at 1 s."""
    c = PaperCluster()
    found: dict[str, Any] = {}
    for name in ("static", "flux-load", "headrace"):
        run = simulate_tuples(c, POLICIES[name], spread_evenly(c), (CpuLoad((0,), 1.0),), 25.0)
        found[name] = _series(run)
    found["unloaded"] = _series(simulate_tuples(c, POLICIES["static"], spread_evenly(c), (), 25.0))
    return found


def many_loaded() -> dict[str, Any]:
    """Fig. 7: steady state by number of loaded machines."""
    c = PaperCluster()
    order = np.random.default_rng(0).permutation(c.nodes)
    rows = []
    for count in MACHINES:
        row: dict[str, Any] = {"loaded": count}
        for name in ("static", "flux-load", "headrace"):
            loads = (CpuLoad(tuple(int(n) for n in order[:count]), 0.0),)
            run = simulate_tuples(c, POLICIES[name], spread_evenly(c), loads, 60.0, step=0.01)
            row[name], row[name + " moves"] = run.mean_throughput(40.0), run.moved
        rows.append(row)
    return {"rows": rows}


def collection_times() -> dict[str, Any]:
    """Fig. 8: an 80/20 workload by δ_min, without and with load on eight machines; 60 s, as in the text."""
    c = PaperCluster()
    shares = spread_80_20(c, 1)
    hot = int(np.argmax(shares)) // c.pids_per_node
    eight = (CpuLoad(tuple(sorted((hot + 4 * k) % c.nodes for k in range(8))), 0.0),)
    found: dict[str, Any] = {"deltas": DELTAS}
    for label, loads in (("unloaded", ()), ("loaded", eight)):
        for name in ("static", "headrace"):
            run = simulate_tuples(c, POLICIES[name], shares, loads, 60.0, step=0.005)
            found[f"{name}, {label}"] = [run.mean_throughput()]
            found[f"{name}, {label}, moves"] = run.moved
        runs = []
        for delta in DELTAS:
            policy = find_policy(f"flux-load:delta_min={delta}")
            runs.append(simulate_tuples(c, policy, shares, loads, 60.0, step=0.005))
        found[f"flux-load, {label}"] = [r.mean_throughput() for r in runs]
        found[f"flux-load, {label}, moves"] = [r.moved for r in runs]
    return found


def _run_large(policy: str, disturbances: tuple[Disturbance, ...], seconds: float, step: float) -> TupleRun:
    return simulate_tuples(LARGE_STATE, POLICIES[policy], spread_evenly(LARGE_STATE), disturbances, seconds, step=step)


def memory_lost() -> dict[str, Any]:
    """Figs. 9 and 10: one machine loses half of its memory at 1 s."""
    names = ("static", "flux-memory", "hybrid", "headrace")
    return {name: _series(_run_large(name, (MemoryLoss((0,), 1.0, HALF),), 60.0, 0.01)) for name in names}


def lost_again() -> dict[str, Any]:
    """After that, a second machine loses half of its memory at 60 s, and the first has its own back at 120 s."""
    back = MemoryLoss((0,), 120.0, LARGE_STATE.memory)
    losses = (MemoryLoss((0,), 1.0, HALF), MemoryLoss((16,), 60.0, HALF), back)
    return {name: _series(_run_large(name, losses, 180.0, 0.02)) for name in ("static", "flux-memory", "hybrid", "headrace")}


def many_lost() -> dict[str, Any]:
    """Summary of section 6.2: steady state by number of machines with half of their memory."""
    rows = []
    for count in MACHINES:
        row: dict[str, Any] = {"perturbed": count}
        for name in ("static", "flux-memory", "headrace"):
            run = _run_large(name, (MemoryLoss(tuple(range(count)), 0.0, HALF),), 200.0, 0.02)
            row[name], row[name + " latency"] = run.mean_throughput(150.0), run.mean_latency(150.0)
            row[name + " moves"], row[name + " whole run"] = run.moved, run.mean_throughput()
        rows.append(row)
    return {"rows": rows}


def mixed_loads() -> dict[str, Any]:
    """Section 6.3: some machines loaded, others short of memory, at 1 s; means over the run and over its last twenty seconds."""
    rows = []
    for loaded, lost in ((1, 1), (4, 1), (4, 4), (8, 1)):
        row: dict[str, Any] = {"loaded": loaded, "lost": lost}
        disturbances = (CpuLoad(tuple(range(loaded)), 1.0), MemoryLoss(tuple(range(16, 16 + lost)), 1.0, HALF))
        for name in ("static", "flux-load", "flux-memory", "hybrid", "headrace"):
            run = _run_large(name, disturbances, 120.0, 0.02)
            row[name] = [run.mean_throughput(), run.mean_throughput(100.0), run.mean_latency(), float(min(run.throughput[1:]))]
            row[name + " moves"] = run.moved
        rows.append(row)
    return {"rows": rows}


def micro_batches() -> dict[str, Any]:
    """Two cores, eight slots: the workloads that are to be run on Spark."""
    c, groups, rows = BatchCluster(), 20_000, 400_000
    even = np.full(groups, rows / groups)
    zipf = 1 / np.arange(1, groups + 1) ** 1.2
    random = np.random.default_rng(5)
    sets = [random.permutation(groups)[:60] for _ in range(6)]

    def changing(batch: int) -> np.ndarray:
        found = even * 0.4
        found[sets[batch // 10 % 6]] += 0.6 * rows / 60
        return found

    pids = np.random.default_rng(0).integers(0, 1 << 62, groups) % c.pids
    hot = np.isin(pids, [3, 77, 140])
    focused = np.where(hot, 0.9 * rows / hot.sum(), 0.1 * rows / (~hot).sum())
    workloads: dict[str, Callable[[int], np.ndarray]] = {
        "even": lambda _: even,
        "zipf 1.2": lambda _: zipf / zipf.sum() * rows,
        "hot keys change": changing,
        "a core is slow": lambda _: even,
        "90 % on 1 %": lambda _: focused,
    }
    table = []
    for label, of in workloads.items():
        slow = (lambda _: np.array([1.0, 2.3])) if label == "a core is slow" else None
        row: dict[str, Any] = {"workload": label}
        for name in ("static", "flux-load", "headrace", "headrace, splits"):
            run = simulate_batches(c, name.split(",")[0], of, groups, 60, slow, splits="splits" in name)
            row[name] = [run.throughput(10), float(np.median(run.imbalance[10:])), sum(run.moved)]
        table.append(row)
    return {"rows": table}


def scale() -> dict[str, Any]:
    """10,000 nodes and a million mini-partitions, one machine in a hundred loaded; wall time of the simulation too."""
    rows = []
    for nodes, each, seconds in ((1000, 100, 10.0), (10_000, 100, 5.0)):
        c = PaperCluster(nodes=nodes, pids_per_node=each)
        loaded = tuple(range(0, nodes, 100))
        started = time.perf_counter()
        run = simulate_tuples(
            c, POLICIES["headrace"], spread_evenly(c), (CpuLoad(loaded, 1.0),), seconds, step=0.02
        )
        wall = time.perf_counter() - started
        per_node = run.throughput[-1] / nodes
        rows.append({"nodes": nodes, "pids": c.pids, "seconds": seconds, "wall": wall, "moved": run.moved})
        rows[-1]["rows_per_node"] = per_node
    return {"rows": rows}


EXPERIMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "one-loaded": one_loaded,
    "memory-lost": memory_lost,
    "micro-batches": micro_batches,
    "buffer-sizes": buffer_sizes,
    "collection-times": collection_times,
    "scale": scale,
    "many-loaded": many_loaded,
    "many-lost": many_lost,
    "lost-again": lost_again,
    "mixed-loads": mixed_loads,
}
