"""Bottom-Up (004, section 3.3): join what is local, hand the rest up.

The query starts in its sink's cluster. Each coordinator on the way up splits it into what can be made of the
base and derived streams under it and what cannot, plans the local part within its cluster (towards its
coordinator, who stands for it from then on) and asks the next level for the rest, where the local part counts
as one stream. Streams found locally that no predicate connects are not multiplied with each other; each
connected part is a local view.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.network.deployment import EMPTY, Deployment
from headrace.network.descend import Descent, cost_of, plan_by_hierarchy
from headrace.network.hierarchy import Cluster, Hierarchy
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.plan_search import CostTable, Found, FoundEntry
from headrace.network.subsets import Entry
from headrace.network.world import World

# whether to plan a local view at this level: (descent, level, cluster, the view's set, its believed cost)
Decision = Callable[[Descent, int, Cluster, int, float], bool]


def bottom_up(
    world: World, query: JoinQuery, hierarchy: Hierarchy, deployed: Deployment = EMPTY, reuse: bool = True
) -> QueryPlan:
    return plan_by_hierarchy(
        "bottom-up", world, query, deployed, hierarchy, reuse, lambda d: climb(d, _always)
    )


def _always(descent: Descent, level: int, cluster: Cluster, local: int, cost: float) -> bool:
    return True


def climb(descent: Descent, decide: Decision) -> Found:
    """Up from the sink; at the level where everything is under one cluster, plan the rest of the query
    there.
    """
    problem, hierarchy = descent.problem, descent.hierarchy
    sink = descent.names[problem.sink]
    views: list[Entry] = []  # local views planned so far
    for level in range(1, hierarchy.height + 1):
        cluster = hierarchy.ancestor(sink, level)
        inputs = _inputs(descent, level, cluster, views)
        offered = inputs + descent.find_derived(level, cluster, problem.full)
        table = descent.table(level, cluster, problem.full, offered)
        if problem.full in table.best:
            return descent.plan(level, cluster, problem.full, inputs, problem.sink)
        coordinator = problem.world.network.index[cluster.coordinator]
        for local in _local_views(table):
            found, believed = descent.choose_way(table, level, cluster, local, coordinator)
            if isinstance(found, FoundEntry):
                if found.entry not in views and found.entry.mask.bit_count() > 1:
                    views = [v for v in views if v.mask & local == 0] + [found.entry]
            elif decide(descent, level, cluster, local, believed):
                planned = descent.expand(descent.plan(level, cluster, local, inputs, coordinator))
                at = planned.entry.node if isinstance(planned, FoundEntry) else planned.node
                entry = descent.as_entry(planned, cost_of(problem, planned, at))
                views = [v for v in views if v.mask & local == 0] + [entry]
    return descent.plan(hierarchy.height, hierarchy.root, problem.full, inputs, problem.sink)


def _inputs(descent: Descent, level: int, cluster: Cluster, views: list[Entry]) -> list[Entry]:
    """Local views so far, and the base streams under the cluster that are not in them."""
    covered = 0
    for view in views:
        covered |= view.mask
    bases = [e for e in descent.problem.bases() if e.mask & covered == 0]
    return views + [e for e in bases if descent.knows(level, cluster, e)]


def _local_views(table: CostTable) -> list[int]:
    """The largest sets that can be had here, the cheapest first among equals, none overlapping another."""
    finite = {m: float(np.min(v)) for m, v in table.best.items() if m.bit_count() > 1}
    chosen: list[int] = []
    for mask in sorted(finite, key=lambda m: (-m.bit_count(), finite[m], m)):
        if not any(mask & other for other in chosen):
            chosen.append(mask)
    return chosen
