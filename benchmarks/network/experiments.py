"""The experiments behind docs/evidence/network.md, each a function to plain data."""

from __future__ import annotations

import random
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.network.baselines import ALL_PLANNERS, COMPARED_PLANNERS
from headrace.network.compare_algorithms import HIERARCHICAL
from headrace.network.compare_algorithms import run_algorithm as run_planner
from headrace.network.deployment import EMPTY
from headrace.network.exact import exact
from headrace.network.milp import optimum_of_set
from headrace.network.network_generators import FIVE_REAL, load_topology, transit_stub
from headrace.network.network_plan import QueryPlan, deploy_plan
from headrace.network.planners import PreparedWorld
from headrace.network.query_sets import deploy_in_order, improve_set
from headrace.network.search_space import count_plans
from headrace.network.topology import Network
from headrace.network.workload import enterprise, synthetic

SIZES = (4, 8, 16, 32, 64)
SEEDS = (0, 1, 2)
FIVE_SEEDS = (0, 1, 2, 3, 4)

run_algorithm = partial(run_planner, planners=ALL_PLANNERS)


def cluster_sizes() -> dict[str, Any]:
    """Figs. 6 to 11: the synthetic workload over max_cs."""
    found = []
    for seed in SEEDS:
        world, queries = synthetic(transit_stub(seed), seed)
        found.append({"seed": seed, "max_cs": 0, "run": run_algorithm(world, queries, "exact").to_data()})
        for max_cs in SIZES:
            for algorithm in HIERARCHICAL:
                one = run_algorithm(world, queries, algorithm, max_cs)
                found.append({"seed": seed, "max_cs": max_cs, "run": one.to_data()})
    return {"runs": found}


def approaches() -> dict[str, Any]:
    """Fig. 12 and the same without reuse: all algorithms, synthetic workload, max_cs 32."""
    found = []
    for seed in SEEDS:
        world, queries = synthetic(transit_stub(seed), seed)
        for reuse in (True, False):
            for algorithm in COMPARED_PLANNERS:
                one = run_algorithm(world, queries, algorithm, reuse=reuse)
                found.append({"seed": seed, "reuse": reuse, "run": one.to_data()})
    return {"runs": found}


def sensitivity() -> dict[str, Any]:
    """How far the comparison hangs on ranges the document does not give."""
    found = []
    for low, high in ((0.001, 0.01), (0.001, 0.02), (0.001, 0.05)):
        for reuse in (True, False):
            totals: dict[str, float] = {}
            for seed in SEEDS[:2]:
                world, queries = synthetic(transit_stub(seed), seed, 40, selectivities=(low, high))
                for algorithm in COMPARED_PLANNERS:
                    cost = run_algorithm(world, queries, algorithm, reuse=reuse).cost
                    totals[algorithm] = totals.get(algorithm, 0.0) + cost
            ratios = {name: cost / totals["exact"] for name, cost in totals.items()}
            found.append({"low": low, "high": high, "reuse": reuse, "ratios": ratios})
    return {"rows": found}


def motivation() -> dict[str, Any]:
    """Fig. 2: 64 nodes, 100 queries over five streams each."""
    world, queries = synthetic(transit_stub(0, 4, 3, 5), 0, joins=(4, 4))
    names = ("exact", "plan-then-deploy", "relaxation")
    return {"runs": [{"run": run_algorithm(world, queries, a).to_data()} for a in names]}


def airline() -> dict[str, Any]:
    """Figs. 13 and 14: the enterprise workload, max_cs 32, on five networks."""
    found = []
    for seed in FIVE_SEEDS:
        world, queries = enterprise(transit_stub(seed), seed)
        for algorithm in COMPARED_PLANNERS:
            found.append({"seed": seed, "run": run_algorithm(world, queries, algorithm).to_data()})
    return {"runs": found}


def scale() -> dict[str, Any]:
    """Fig. 15: plans per query over the size of the network; four streams a query, max_cs 32."""
    found = []
    for shape in ((4, 4, 8), (4, 8, 8), (6, 12, 7), (8, 15, 8)):
        network = transit_stub(1, *shape)
        world, queries = synthetic(network, 1, joins=(3, 3))
        nodes = len(network.nodes)
        row: dict[str, Any] = {"nodes": nodes, "exhaustive": count_plans(4, nodes)}
        for algorithm in ("top-down", "bottom-up"):
            one = run_algorithm(world, queries, algorithm, 32, reuse=False)
            row[algorithm] = one.examined[-1] / len(queries)
            row["bound"] = one.height * count_plans(4, 32)  # Theorems 2 and 4
        found.append(row)
    return {"rows": found}


def topologies() -> dict[str, Any]:
    """The comparison on five real networks."""
    found = []
    for name in FIVE_REAL:
        network = largest_part(load_topology(name))
        world, queries = synthetic(network, 0)
        runs = [run_algorithm(world, queries, a).to_data() for a in COMPARED_PLANNERS]
        found.append(
            {"network": name, "nodes": len(network.nodes), "links": len(network.links), "runs": runs}
        )
    return {"rows": found}


def largest_part(network: Network) -> Network:
    """The largest connected part, in case a stored topology has islands."""
    import networkx

    graph = networkx.Graph([(k.a, k.b) for k in network.links])
    graph.add_nodes_from(network.names)
    kept = max(networkx.connected_components(graph), key=len)
    for name in network.names:
        if name not in kept:
            network = network.remove_node(name)
    return network


def _timed(work: Callable[[], QueryPlan]) -> tuple[float, QueryPlan]:
    """Seconds of processor time: planning runs on one core, and a busy machine should not count."""
    started = time.process_time()
    plan = work()
    return time.process_time() - started, plan


def speed() -> dict[str, Any]:
    """The exact planner's time per query and the memory of the process."""
    found = []
    for shape, streams in (((4, 4, 8), 5), ((8, 8, 15), 6), ((20, 25, 20), 5)):
        network = transit_stub(1, *shape)
        world, queries = synthetic(network, 1, 20, joins=(streams - 1, streams - 1))
        first = _timed(lambda: exact(world, queries[0]))[0]  # noqa: B023
        alone = [_timed(lambda: exact(world, q))[0] for q in queries]  # noqa: B023
        beside, deployed = [], EMPTY
        for query in queries:
            seconds, plan = _timed(lambda: exact(world, query, deployed))  # noqa: B023
            beside.append(seconds)
            deployed = deploy_plan(deployed, plan)
        found.append(
            {
                "nodes": len(network.nodes),
                "streams": streams,
                "first": first,
                "median": statistics.median(alone),
                "worst": max(alone),
                "reuse": statistics.median(beside),
                "reuse_worst": max(beside),
                "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    return {"rows": found}


def yardstick(count: int = 20) -> dict[str, Any]:
    """Incremental and improved deployments of small sets against the mixed-integer optimum."""
    found = []
    for seed in range(count):
        rng = random.Random(seed)
        shape = rng.choice([(2, 1, 3), (3, 1, 3)])
        count_of_queries = rng.choice([3, 4, 5])
        world, queries = synthetic(transit_stub(seed, *shape), seed, count_of_queries, 4, (1, 3))
        best = optimum_of_set(world, queries, seconds=60)
        planner = PreparedWorld(world).planner("exact")
        first = deploy_in_order(planner, queries)
        alone = improve_set(world, planner, queries, first, sharing=0)
        whole = improve_set(world, planner, queries, first)
        found.append(
            {
                "nodes": len(world.network.nodes),
                "queries": len(queries),
                "variables": best.variables,
                "proved": best.proved,
                "incremental": first.cost / best.cost,
                "replanned": alone.cost / best.cost,
                "improved": whole.cost / best.cost,
            }
        )
    return {"rows": found}


def common_key() -> dict[str, Any]:
    """The synthetic workload with one key for all streams and rates of 1 to 1,000, beside ours."""
    found = []
    for seed in FIVE_SEEDS:
        world, queries = synthetic(transit_stub(seed), seed, 40, rates=(1.0, 1000.0), common_key=True)
        for algorithm in COMPARED_PLANNERS:
            found.append({"seed": seed, "run": run_algorithm(world, queries, algorithm).to_data()})
    return {"runs": found}


def airline_improved() -> dict[str, Any]:
    """300 airline queries with reuse, then rounds of improvement: seconds of processor time."""
    world, queries = enterprise(transit_stub(0), 0)
    planner = PreparedWorld(world).planner("exact")
    started = time.process_time()
    first = deploy_in_order(planner, queries)
    planned = time.process_time()
    better = improve_set(world, planner, queries, first, rounds=2)
    ended = time.process_time()
    return {
        "queries": len(queries),
        "planning_seconds": planned - started,
        "improving_seconds": ended - planned,
        "cost": first.cost,
        "improved": better.cost,
    }


EXPERIMENTS = {
    "speed": speed,
    "cluster-sizes": cluster_sizes,
    "approaches": approaches,
    "motivation": motivation,
    "sensitivity": sensitivity,
    "scale": scale,
    "topologies": topologies,
    "yardstick": yardstick,
    "airline": airline,
    "common-key": common_key,
    "airline-improved": airline_improved,
}
