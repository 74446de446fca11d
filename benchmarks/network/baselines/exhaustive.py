"""The reference: every tree, every cover by base and derived streams, every placement, one at a time.

Nothing is shared with the dynamic programme but the cost model, so that the two can check each other. For
small cases: the number of plans is Lemma 1's, and more than `most` is refused.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, Deployment
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import PlanJoin, PlanLeaf, PlanTree, QueryPlan, deploy_plan, iterate_joins
from headrace.network.plan_search import unplaceable_error
from headrace.network.reusable_streams import find_reusable
from headrace.network.search_space import count_examined
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

MOST_PLANS = 5_000_000


def exhaustive(
    world: World,
    query: JoinQuery,
    deployed: Deployment = EMPTY,
    reuse: bool = True,
    cross_products: bool = False,
    most: int = MOST_PLANS,
) -> QueryPlan:
    """The cheapest of all plans, by looking at each."""
    started = time.perf_counter()
    problem = Subsets(world, query, cross_products)
    entries = problem.bases() + (find_reusable(problem, deployed) if reuse else [])
    size = count_examined(problem.full, entries, len(world.network.nodes))
    if size > most:
        raise NetworkError(
            f"query {query.name!r} has {size:.3g} plans on {len(world.network.nodes)} nodes; exhaustive"
            " search looks"
            f" at up to {most:.3g}. Use --algorithm exact, which finds the same plan"
        )
    best: tuple[float, PlanTree] | None = None
    count = 0
    limited = any(math.isfinite(n.capacity) for n in world.network.nodes)
    for cost, tree in _trees(problem, entries, problem.full):
        count += 1
        total = cost + _travel(world, problem, tree, query.sink)
        if total >= (math.inf if best is None else best[0]):
            continue
        if not limited or _fits(world, query, deployed, tree):
            best = (total, tree)
    if best is None:
        raise unplaceable_error(problem)
    seconds = time.perf_counter() - started
    return QueryPlan(query.name, query.sink, best[1], best[0], "exhaustive", count, count, seconds)


def _trees(problem: Subsets, entries: list[Entry], mask: int) -> Iterator[tuple[float, PlanTree]]:
    """All placed trees for a set, with what they cost up to the node the set is then at."""
    world = problem.world
    view = problem.view_of(mask)
    for entry in entries:
        if entry.mask == mask:
            node = world.network.nodes[entry.node].name
            yield entry.cost, PlanLeaf(view, node, entry.origin, entry.aliases)
    for left, right in problem.splits.get(mask, ()):
        rights = list(_trees(problem, entries, right))
        for cost_left, one in _trees(problem, entries, left):
            for cost_right, other in rights:
                for place in world.network.nodes:
                    if place.hosts:
                        cost = cost_left + cost_right + world.costs.processing * problem.load(left, right)
                        cost += _travel(world, problem, one, place.name)
                        cost += _travel(world, problem, other, place.name)
                        yield cost, PlanJoin(view, place.name, one, other)


def _travel(world: World, problem: Subsets, tree: PlanTree, to: str) -> float:
    distance = world.distance(tree.node, to)
    return problem.flow(problem.mask_of(tree.view)) * distance if distance < math.inf else math.inf


def _fits(world: World, query: JoinQuery, deployed: Deployment, tree: PlanTree) -> bool:
    """Whether every node can take what it would then run."""
    after = deploy_plan(deployed, QueryPlan(query.name, query.sink, tree, 0.0, "exhaustive"))
    used = {j.node for j in iterate_joins(tree)}
    loads = world.loads(after)
    before = world.loads(deployed)
    for i, node in enumerate(world.network.nodes):
        if loads[i] > node.capacity + 1e-9 and (node.name in used or loads[i] > before[i] + 1e-9):
            return False
    return True
