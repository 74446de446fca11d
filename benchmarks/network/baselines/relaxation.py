"""Relaxation (Pietzuch et al., the document's [9]): place a given tree by letting springs settle in a cost
space.

Sources and sink are pinned at their points; every join hangs between its inputs and its consumer on springs
as strong as the flow on that edge, and moves to rest. Then it is put on the node nearest to where it came to
rest. Operators may be reused as everywhere in section 4.4: a join of the tree is replaced by a derived stream
where that is cheaper.
"""

from __future__ import annotations

import time

import numpy as np

from headrace.network.deployment import EMPTY, Deployment
from headrace.network.descend import cost_of
from headrace.network.distance_metric import Vector
from headrace.network.exact import ENTRY, build_tree, choose_barred, find_overload
from headrace.network.join_order import order_by_size
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.plan_search import Found, FoundEntry, FoundJoin, Splits, unplaceable_error
from headrace.network.reusable_streams import find_reusable
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

ROUNDS = 4000
STILL = 1e-6


def relaxation(
    world: World, query: JoinQuery, points: Vector, deployed: Deployment = EMPTY, reuse: bool = True
) -> QueryPlan:
    """`points` is the network's cost space (`cost_space.embed_network`)."""
    started = time.perf_counter()
    problem = Subsets(world, query)
    splits = order_by_size(problem)
    at, rounds = settle_springs(problem, splits, points)
    entries = problem.bases() + (find_reusable(problem, deployed) if reuse else [])
    barred: set[tuple[int, int, int, int]] = set()
    spare = world.spare(deployed)
    for _ in range(len(world.network.nodes) * max(1, len(splits)) + len(entries)):
        nodes = {m: _nearest(problem, splits[m][0], points, p, spare, barred, m) for m, p in at.items()}
        usable = [e for i, e in enumerate(entries) if (e.mask, ENTRY, ENTRY, i) not in barred]
        found = _cheapest(problem, splits, usable, nodes, problem.full, problem.sink)
        clash = find_overload(problem, found, entries, deployed, spare)
        if not clash:
            cost = cost_of(problem, found, problem.sink)
            seconds = time.perf_counter() - started
            chosen = build_tree(problem, found)
            return QueryPlan(query.name, query.sink, chosen, cost, "relaxation", rounds, rounds, seconds)
        barred.add(choose_barred(problem, clash))
    raise unplaceable_error(problem)


def settle_springs(problem: Subsets, splits: Splits, points: Vector) -> tuple[dict[int, Vector], int]:
    """Where each join comes to rest, and after how many rounds."""
    pinned = {e.mask: points[e.node] for e in problem.bases()}
    sink = points[problem.sink]
    consumer = {
        half: mask for mask, ((a, b),) in ((m, tuple(s)) for m, s in splits.items()) for half in (a, b)
    }
    centre = np.mean([*pinned.values(), sink], axis=0)
    at = {mask: centre.copy() for mask in splits}
    for round_ in range(1, ROUNDS + 1):
        moved = 0.0
        for mask, ((a, b),) in ((m, tuple(s)) for m, s in splits.items()):
            pulls = [(problem.flow(half), at.get(half, pinned.get(half))) for half in (a, b)]
            pulls.append((problem.flow(mask), at[consumer[mask]] if mask in consumer else sink))
            total = sum(weight for weight, _ in pulls)
            if total <= 0:
                continue
            rest = sum(weight * place for weight, place in pulls if place is not None) / total
            moved = max(moved, float(np.abs(rest - at[mask]).max()))
            at[mask] = rest
        if moved < STILL:
            return at, round_
    return at, ROUNDS


def _nearest(
    problem: Subsets,
    split: tuple[int, int],
    points: Vector,
    place: Vector,
    spare: Vector,
    barred: set[tuple[int, int, int, int]],
    mask: int,
) -> int:
    """The node nearest to a point that may take the join and from which the sink can be reached."""
    apart = ((points - place) ** 2).sum(axis=1)
    apart = np.where(np.isfinite(problem.world.metric.row(problem.sink)), apart, np.inf)
    apart = np.where(problem.load(*split) > spare + 1e-9, np.inf, apart)
    for other, left, _right, node in barred:
        if other == mask and left != ENTRY:
            apart[node] = np.inf
    node = int(np.argmin(apart))
    if not np.isfinite(apart[node]):
        raise unplaceable_error(problem)
    return node


def _cheapest(
    problem: Subsets, splits: Splits, entries: list[Entry], nodes: dict[int, int], mask: int, to: int
) -> Found:
    """With the joins where they are, for each set either the join or a derived stream, whichever is
    cheaper.
    """
    options: list[Found] = [FoundEntry(e) for e in entries if e.mask == mask]
    if mask in splits:
        (left, right) = splits[mask][0]
        here = nodes[mask]
        one = _cheapest(problem, splits, entries, nodes, left, here)
        other = _cheapest(problem, splits, entries, nodes, right, here)
        options.append(FoundJoin(mask, here, one, other))
    return min(options, key=lambda f: cost_of(problem, f, to))
