"""The optimum for one query beside what is deployed: join order, placement and reuse decided together.

One pass of the shared dynamic programme over the whole network; a Dijkstra run per set of streams. With
capacities a plan may still put several joins on one node that holds each but not all. Then the best plan is
excluded and the search branches: every plan within the capacities lacks at least one of the joins that
overload the node, so forbidding them one at a time covers all plans, and best-first order makes the first
plan within the capacities the optimum.
"""

from __future__ import annotations

import heapq
import time
from itertools import count

import numpy as np

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, Deployment
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import PlanJoin, PlanLeaf, PlanTree, QueryPlan
from headrace.network.plan_search import (
    CostTable,
    Forbidden,
    Found,
    FoundEntry,
    FoundJoin,
    Splits,
    WholeField,
    fill_table,
    unplaceable_error,
)
from headrace.network.search_space import count_examined
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

MOST_BRANCHES = 2000
ENTRY = -1  # marks an excluded entry among excluded joins


def exact(
    world: World,
    query: JoinQuery,
    deployed: Deployment = EMPTY,
    reuse: bool = True,
    cross_products: bool = False,
) -> QueryPlan:
    """The cheapest plan there is."""
    started = time.perf_counter()
    problem = Subsets(world, query, cross_products)
    entries = problem.bases() + (problem.derived(deployed) if reuse else [])
    found, cost, states = search_optimum(problem, entries, problem.splits, deployed)
    return QueryPlan(
        query.name,
        query.sink,
        build_tree(problem, found),
        cost,
        "exact",
        count_examined(problem.full, entries, len(world.network.nodes)),
        states,
        time.perf_counter() - started,
    )


def search_optimum(
    problem: Subsets, entries: list[Entry], splits: Splits, deployed: Deployment
) -> tuple[Found, float, int]:
    """Best-first over exclusions; without capacities the first table is the answer."""
    world = problem.world
    field = WholeField(world.metric)
    spare = world.spare(deployed)
    queue: list[tuple[float, int, Forbidden, CostTable]] = []
    ticket, states = count(), 0

    def push(forbidden: Forbidden) -> None:
        nonlocal states
        left_out = {item[3] for item in forbidden if item[1] == ENTRY}
        allowed = [e for i, e in enumerate(entries) if i not in left_out]
        table = fill_table(problem, field, allowed, problem.full, splits, spare, forbidden)
        states += table.states
        if problem.full in table.best and np.isfinite(table.best[problem.full][problem.sink]):
            heapq.heappush(
                queue, (float(table.best[problem.full][problem.sink]), next(ticket), forbidden, table)
            )

    push(frozenset())
    for _ in range(MOST_BRANCHES):
        if not queue:
            raise unplaceable_error(problem)
        cost, _ticket, forbidden, table = heapq.heappop(queue)
        found = table.read(problem.full, problem.sink)
        clash = find_overload(problem, found, entries, deployed, spare)
        if not clash:
            return found, cost, states
        for choice in clash:
            push(forbidden | {choice})
    raise NetworkError(
        f"query {problem.query.name!r}: capacities are so tight that {MOST_BRANCHES} alternatives were"
        " tried in vain;"
        " raise a capacity or plan it with --algorithm top-down"
    )


def find_overload(
    problem: Subsets, found: Found, entries: list[Entry], deployed: Deployment, spare: np.ndarray
) -> list[tuple[int, int, int, int]]:
    """What a plan puts on the first node that cannot hold all of it, joins and relaxed entries; or
    nothing.
    """
    if not np.isfinite(spare).any():
        return []
    placed: dict[int, list[tuple[int, int, int, int]]] = {}
    load: dict[int, float] = {}

    def walk(one: Found) -> None:
        if isinstance(one, FoundJoin):
            left, right = mask_of(one.left), mask_of(one.right)
            placed.setdefault(one.node, []).append((one.mask, left, right, one.node))
            load[one.node] = load.get(one.node, 0.0) + problem.load(left, right)
            walk(one.left)
            walk(one.right)
        else:
            for name, more in one.entry.loads:
                node = problem.world.network.at(deployed.operator[name].node)
                load[node] = load.get(node, 0.0) + more
                placed.setdefault(node, []).append((one.entry.mask, ENTRY, ENTRY, entries.index(one.entry)))

    walk(found)
    return next((placed[n] for n in sorted(load) if n in placed and load[n] > spare[n] + 1e-9), [])


def mask_of(found: Found) -> int:
    return found.entry.mask if isinstance(found, FoundEntry) else found.mask


def build_tree(problem: Subsets, found: Found) -> PlanTree:
    """The plan in names rather than indexes."""
    names = problem.world.network.nodes
    if isinstance(found, FoundEntry):
        entry = found.entry
        return PlanLeaf(problem.view_of(entry.mask), names[entry.node].name, entry.origin)
    node = names[found.node].name
    return PlanJoin(
        problem.view_of(found.mask), node, build_tree(problem, found.left), build_tree(problem, found.right)
    )
