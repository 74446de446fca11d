"""Plan, then deploy optimally (004, Fig. 1a and Fig. 2): the join order first, its best placement after.

The placement is exact and may take a derived stream for any set of the chosen tree; what is lost is the
choice of the tree in view of the network and of what is deployed.
"""

from __future__ import annotations

import time

from headrace.network.deployment import EMPTY, Deployment
from headrace.network.exact import build_tree, search_optimum
from headrace.network.join_order import order_by_size
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.reusable_streams import find_reusable
from headrace.network.subsets import Subsets
from headrace.network.world import World


def plan_then_deploy(
    world: World, query: JoinQuery, deployed: Deployment = EMPTY, reuse: bool = True
) -> QueryPlan:
    started = time.perf_counter()
    problem = Subsets(world, query)
    splits = order_by_size(problem)
    derived = find_reusable(problem, deployed) if reuse else []
    entries = problem.bases() + [e for e in derived if e.mask in splits]
    best = search_optimum(problem, entries, splits, deployed)
    return QueryPlan(
        query.name,
        query.sink,
        build_tree(problem, best.found),
        best.cost,
        "plan-then-deploy",
        len(world.network.nodes) ** max(0, len(problem.names) - 1),
        best.states,
        time.perf_counter() - started,
    )
