"""Bottom-Up (004, section 3.3): join what is local, hand the rest up.

The query starts in its sink's cluster. Each coordinator on the way up splits it into V_local, of the base
streams under it, and V_remote, of those that are not; plans V_local within its cluster, from base or derived
streams, whichever is cheaper; and asks the next level for the rest, where V_local counts as one stream. Streams
found locally that no predicate connects are not multiplied with each other; each connected part is a local
view. V_local is planned towards the sink, which is under every cluster on the way: the one consumer known.

Reuse is a choice, not a find: a derived stream that holds streams whose sources are not yet in sight (another
query's result, say, at a sink next door) is not adopted where it is met. What the alternative costs is known
only where those sources come into sight; the derived stream is still on offer there, since coordinators above
know all that is below, and there the cheaper of the two is taken. Adopting it at sight made the airline
workload 1.29 times as dear as the optimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.network.deployment import EMPTY, Deployment
from headrace.network.descend import Descent, cost_of, plan_by_hierarchy
from headrace.network.hierarchy import Cluster, Hierarchy
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.plan_search import CostTable, Found, FoundEntry, FoundJoin
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
    """Up from the sink; where all base streams are under one cluster, plan the rest of the query there."""
    problem, hierarchy = descent.problem, descent.hierarchy
    sink = descent.names[problem.sink]
    views: list[Entry] = []  # local views planned so far
    for level in range(1, hierarchy.height + 1):
        cluster = hierarchy.ancestor(sink, level)
        inputs = _inputs(descent, level, cluster, views)
        sight = sum(e.mask for e in inputs)
        if sight == problem.full:
            break
        offered = inputs + descent.find_derived(level, cluster, sight)
        table = descent.table(level, cluster, sight, offered)
        for local in _local_views(table):
            descent.count(local, offered, cluster, remote=1)
            found, believed = descent.choose_way(table, level, cluster, local, problem.sink)
            if isinstance(found, FoundJoin) and decide(descent, level, cluster, local, believed):
                planned = descent.expand(descent.finish(level, found, problem.sink))
                at = planned.entry.node if isinstance(planned, FoundEntry) else planned.node
                entry = descent.as_entry(planned, cost_of(problem, planned, at))
                views = [v for v in views if v.mask & local == 0] + [entry]
    return descent.plan(level, cluster, problem.full, inputs, problem.sink)


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
