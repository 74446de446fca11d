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
from headrace.network.plan import Join, Plan, Take, Tree
from headrace.network.query import Query
from headrace.network.search import Forbidden, Found, Had, Made, Splits, Table, Whole, fill, unmet
from headrace.network.space import examined
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

MOST_BRANCHES = 2000
ENTRY = -1  # marks an excluded entry among excluded joins


def exact(
    world: World,
    query: Query,
    deployed: Deployment = EMPTY,
    reuse: bool = True,
    cross_products: bool = False,
) -> Plan:
    """The cheapest plan there is."""
    started = time.perf_counter()
    problem = Subsets(world, query, cross_products)
    entries = problem.bases() + (problem.derived(deployed) if reuse else [])
    found, cost, states = optimum(problem, entries, problem.splits, deployed)
    return Plan(
        query.name,
        query.sink,
        tree(problem, found),
        cost,
        "exact",
        examined(problem.full, entries, len(world.network.nodes)),
        states,
        time.perf_counter() - started,
    )


def optimum(
    problem: Subsets, entries: list[Entry], splits: Splits, deployed: Deployment
) -> tuple[Found, float, int]:
    """Best-first over exclusions; without capacities the first table is the answer."""
    world = problem.world
    field = Whole(world.metric)
    spare = world.spare(deployed)
    queue: list[tuple[float, int, Forbidden, Table]] = []
    ticket, states = count(), 0

    def push(forbidden: Forbidden) -> None:
        nonlocal states
        left_out = {item[3] for item in forbidden if item[1] == ENTRY}
        allowed = [e for i, e in enumerate(entries) if i not in left_out]
        table = fill(problem, field, allowed, problem.full, splits, spare, forbidden)
        states += table.states
        if problem.full in table.best and np.isfinite(table.best[problem.full][problem.sink]):
            heapq.heappush(
                queue, (float(table.best[problem.full][problem.sink]), next(ticket), forbidden, table)
            )

    push(frozenset())
    for _ in range(MOST_BRANCHES):
        if not queue:
            raise unmet(problem)
        cost, _ticket, forbidden, table = heapq.heappop(queue)
        found = table.read(problem.full, problem.sink)
        clash = overload(problem, found, entries, deployed, spare)
        if not clash:
            return found, cost, states
        for choice in clash:
            push(forbidden | {choice})
    raise NetworkError(
        f"query {problem.query.name!r}: capacities are so tight that {MOST_BRANCHES} alternatives were"
        " tried in vain;"
        " raise a capacity or plan it with --algorithm top-down"
    )


def overload(
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
        if isinstance(one, Made):
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
    return found.entry.mask if isinstance(found, Had) else found.mask


def tree(problem: Subsets, found: Found) -> Tree:
    """The plan in names rather than indexes."""
    names = problem.world.network.nodes
    if isinstance(found, Had):
        entry = found.entry
        return Take(problem.view_of(entry.mask), names[entry.node].name, entry.origin)
    node = names[found.node].name
    return Join(problem.view_of(found.mask), node, tree(problem, found.left), tree(problem, found.right))
