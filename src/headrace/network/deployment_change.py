"""When something changes: a node or link fails, a rate moves, a query leaves. What is re-planned, and what
moves.

A change is two worlds, before and after. Queries whose feeds or operators can no longer work are taken out
and planned again; what the others use stays. Then, if there is a horizon, every query may be reconsidered: a
cheaper plan is taken if what it saves over the horizon is more than the state that has to move or to be read
again costs. What a change consists of, step by step, is `deployment_moves`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.errors import NetworkError
from headrace.network.deployment import Deployment, FeedOrigin, JoinOperator, ViewFeed, withdraw_query
from headrace.network.deployment_moves import DeploymentMove, keep_names, list_moves
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import deploy_plan
from headrace.network.planners import Planner
from headrace.network.world import World


@dataclass(frozen=True)
class DeploymentChange:
    """`kept` is what the old deployment would cost in the new world (infinite if it cannot work)."""

    deployment: Deployment
    moves: tuple[DeploymentMove, ...]
    before: float
    kept: float
    after: float
    replanned: tuple[str, ...]
    lost: tuple[tuple[str, str], ...] = ()


def adapt_deployment(
    before: World,
    after: World,
    planner: Planner,
    queries: Sequence[JoinQuery],
    deployed: Deployment,
    horizon: float | None = None,
) -> DeploymentChange:
    """From one world to the next. `planner` plans in the new world; `horizon` is in seconds."""
    by_name = {q.name: q for q in queries}
    missing = [n for n in deployed.queries if n not in by_name]
    if missing:
        raise NetworkError(f"query {missing[0]!r} is deployed but was not given; pass every deployed query")
    hit = find_affected(after, deployed)
    current = deployed
    for name in deployed.queries:
        if name in hit:
            current = withdraw_query(current, name)
    replanned: list[str] = []
    lost: list[tuple[str, str]] = []
    for query in queries:
        if query.name in hit:
            try:
                current = deploy_plan(current, planner(query, current))
                replanned.append(query.name)
            except NetworkError as reason:
                lost.append((query.name, str(reason)))
    if horizon is not None:
        for query in queries:
            if query.name in current.queries and query.name not in hit:
                other = _reconsider(after, planner, query, current, horizon)
                if other is not None:
                    current = other
                    replanned.append(query.name)
    current = keep_names(after, deployed, current)
    kept = math.inf if hit else after.cost(deployed)
    return DeploymentChange(
        current,
        list_moves(after, deployed, current),
        before.cost(deployed),
        kept,
        after.cost(current),
        tuple(replanned),
        tuple(lost),
    )


def remove_query(world: World, deployed: Deployment, query: str) -> DeploymentChange:
    """A query leaves: derived streams others still use stay, narrowed to what they need."""
    current = withdraw_query(deployed, query)
    cost = world.cost(deployed)
    return DeploymentChange(
        current, list_moves(world, deployed, current), cost, cost, world.cost(current), ()
    )


def find_affected(world: World, deployed: Deployment) -> frozenset[str]:
    """Queries that, directly or through what they reuse, rest on something that no longer works."""
    loads: dict[str, float] = {}
    streams = {s.name for s in world.catalog.streams}
    for o in deployed.operators:
        if o.node in world.network.index and all(i.stream in streams for i in o.view.inputs):
            loads[o.node] = loads.get(o.node, 0.0) + world.load(o)
    capacity = {n.name: n.capacity for n in world.network.nodes}
    broken: dict[FeedOrigin, bool] = {}

    def feed_breaks(feed: ViewFeed, to: str) -> bool:
        if feed.origin.kind == "stream":
            stream = next((s for s in world.catalog.streams if s.name == feed.origin.name), None)
            if stream is None or stream.node != feed.node:
                return True
        elif breaks(feed.origin):
            return True
        return not math.isfinite(world.distance(feed.node, to))

    def breaks(origin: FeedOrigin) -> bool:
        if origin not in broken:
            producer = (deployed.operator if origin.kind == "operator" else deployed.delivery)[origin.name]
            feeds = producer.feeds if isinstance(producer, JoinOperator) else (producer.feed,)
            places = [producer.node, *(f.node for f in feeds)]
            gone = any(p not in world.network.index for p in places)
            over = isinstance(producer, JoinOperator) and loads.get(producer.node, 0.0) > capacity.get(
                producer.node, math.inf
            ) * (1 + 1e-9)
            broken[origin] = gone or over or any(feed_breaks(f, producer.node) for f in feeds)
        return broken[origin]

    return frozenset(d.query for d in deployed.deliveries if d.wanted and breaks(FeedOrigin("sink", d.query)))


def _reconsider(
    world: World, planner: Planner, query: JoinQuery, current: Deployment, horizon: float
) -> Deployment | None:
    without = withdraw_query(current, query.name)
    other = keep_names(world, current, deploy_plan(without, planner(query, without)))
    saved = world.cost(current) - world.cost(other)
    price = sum(m.cost for m in list_moves(world, current, other))
    return other if saved > 1e-9 * world.cost(current) and saved * horizon > price else None
