"""The optimum for one query beside what is deployed: join order, placement and reuse decided together.

One pass of the shared dynamic programme over the whole network; a Dijkstra run per set of streams. With
capacities a plan may still put several joins on one node that holds each but not all. Then the best plan is
excluded and the search branches: every plan within the capacities lacks at least one of the joins that
overload the node, so forbidding them one at a time covers all plans, and best-first order makes the first
plan within the capacities the optimum. Where capacities are so tight that this does not end soon, the best
plan a few greedy dives find is the answer, together with the bound the search has reached.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

import numpy as np

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, Deployment
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import PlanJoin, PlanLeaf, PlanTree, QueryPlan
from headrace.network.plan_search import (
    Forbidden,
    Found,
    FoundEntry,
    FoundJoin,
    Splits,
    WholeField,
    fill_table,
    unplaceable_error,
)
from headrace.network.reusable_streams import find_reusable
from headrace.network.search_space import count_examined
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

MOST_BRANCHES = 2000
MOST_DIVES, DEEPEST_DIVE = 10, 100
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
    entries = problem.bases() + (find_reusable(problem, deployed) if reuse else [])
    best = search_optimum(problem, entries, problem.splits, deployed)
    return QueryPlan(
        query.name,
        query.sink,
        build_tree(problem, best.found),
        best.cost,
        "exact",
        count_examined(problem.full, entries, len(world.network.nodes)),
        best.states,
        time.perf_counter() - started,
        best.bound,
    )


@dataclass(frozen=True)
class Optimum:
    """The best plan found, its cost, and the cost below which there is none; the two are equal with proof."""

    found: Found
    cost: float
    bound: float
    states: int


def search_optimum(problem: Subsets, entries: list[Entry], splits: Splits, deployed: Deployment) -> Optimum:
    """Best-first over exclusions; without capacities the first table is the answer."""
    search = _ExclusionSearch(problem, entries, splits, deployed)
    search.push(frozenset())
    for _ in range(MOST_BRANCHES):
        if not search.queue:
            raise unplaceable_error(problem)
        cost, _ticket, forbidden, found = search.queue[0]
        clash = search.clash(found)
        if not clash:
            return Optimum(found, cost, cost, search.states)
        heapq.heappop(search.queue)
        for choice in clash:
            search.push(forbidden | {choice})
    return search.give_up()


class _ExclusionSearch:
    """The plans still to be looked at, the cheapest first; each is the best without some joins or derived
    streams.
    """

    def __init__(self, problem: Subsets, entries: list[Entry], splits: Splits, deployed: Deployment) -> None:
        self.problem, self.entries, self.splits, self.deployed = problem, entries, splits, deployed
        self.field = WholeField(problem.world.metric)
        self.spare = problem.world.spare(deployed)
        self.queue: list[tuple[float, int, Forbidden, Found]] = []
        self.seen: set[Forbidden] = set()
        self.states = 0

    def push(self, forbidden: Forbidden) -> None:
        if forbidden in self.seen:  # the same joins excluded in another order
            return
        self.seen.add(forbidden)
        best = self.best_without(forbidden)
        if best is not None:
            heapq.heappush(self.queue, (best[0], len(self.seen), forbidden, best[1]))

    def best_without(self, forbidden: Forbidden) -> tuple[float, Found] | None:
        """The cheapest plan that lacks what is forbidden, capacities of single joins kept."""
        left_out = {item[3] for item in forbidden if item[1] == ENTRY}
        allowed = [e for i, e in enumerate(self.entries) if i not in left_out]
        full, sink = self.problem.full, self.problem.sink
        table = fill_table(self.problem, self.field, allowed, full, self.splits, self.spare, forbidden)
        self.states += table.states
        if full not in table.best or not np.isfinite(table.best[full][sink]):
            return None
        return float(table.best[full][sink]), table.read(full, sink)

    def clash(self, found: Found) -> list[tuple[int, int, int, int]]:
        return find_overload(self.problem, found, self.entries, self.deployed, self.spare)

    def give_up(self) -> Optimum:
        """The cheapest plan a dive from the best tables ends in; what is left to look at costs no less than
        the bound.
        """
        if not self.queue:
            raise unplaceable_error(self.problem)
        bound = self.queue[0][0]
        dives = [
            self.dive(forbidden, heaviest)
            for _, _, forbidden, _ in heapq.nsmallest(MOST_DIVES, self.queue)
            for heaviest in (True, False)
        ]
        ended = [d for d in dives if d is not None]
        if not ended:
            raise NetworkError(
                f"query {self.problem.query.name!r}: no plan within the capacities was found among"
                f" {MOST_BRANCHES} alternatives, and none costs less than {bound:.6g}; raise a capacity or"
                " withdraw other queries"
            )
        cost, _, found = min(ended, key=lambda d: d[:2])
        return Optimum(found, cost, min(bound, cost), self.states)

    def dive(self, forbidden: Forbidden, heaviest: bool) -> tuple[float, int, Found] | None:
        """Exclude one of the clashing joins after the other, always the heaviest or always the lightest."""
        for _ in range(DEEPEST_DIVE):
            best = self.best_without(forbidden)
            if best is None:
                return None
            cost, found = best
            clash = self.clash(found)
            if not clash:
                return cost, len(forbidden), found
            weigh = max if heaviest else min
            forbidden |= {weigh(clash, key=lambda c: (self.problem.tuples(c[0]), c))}
        return None


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


def choose_barred(
    problem: Subsets, clash: list[tuple[int, int, int, int]]
) -> tuple[int, int, int, int]:
    """Of what overloads a node together, the heaviest join; a derived stream where there is no join."""
    return max(clash, key=lambda c: (c[1] != ENTRY, problem.tuples(c[0]), c))


def mask_of(found: Found) -> int:
    return found.entry.mask if isinstance(found, FoundEntry) else found.mask


def build_tree(problem: Subsets, found: Found) -> PlanTree:
    """The plan in names rather than indexes."""
    names = problem.world.network.nodes
    if isinstance(found, FoundEntry):
        entry = found.entry
        return PlanLeaf(problem.view_of(entry.mask), names[entry.node].name, entry.origin, entry.aliases)
    node = names[found.node].name
    return PlanJoin(
        problem.view_of(found.mask), node, build_tree(problem, found.left), build_tree(problem, found.right)
    )
