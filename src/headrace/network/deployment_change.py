"""When something changes: a node or link fails, a rate moves, a query leaves. What is re-planned, and what
moves.

A change is two worlds, before and after. Queries whose feeds or operators can no longer work are taken out
and planned again; what the others use stays. Then, if there is a horizon, every query may be reconsidered: a
cheaper plan is taken if what it saves over the horizon is more than the state that has to move costs. Moving
an operator costs its state (its inputs' windows) times the distance; from a node that is gone nothing can be
moved, the state is rebuilt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.errors import NetworkError
from headrace.network.deployment import Deployment, FeedOrigin, JoinOperator, ViewFeed, withdraw_query
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import deploy_plan
from headrace.network.planners import Planner
from headrace.network.world import World


@dataclass(frozen=True)
class DeploymentMove:
    """One step from the old deployment to the new. `cost` is state bytes × distance."""

    kind: str  # start, stop, move, rebuild, relax, tighten
    view: str
    source: str | None
    target: str | None
    state: float = 0.0
    cost: float = 0.0

    def __str__(self) -> str:
        where = " → ".join(n for n in (self.source, self.target) if n is not None)
        price = f", {self.state:.0f} bytes of state, cost {self.cost:.1f}" if self.kind == "move" else ""
        return f"{self.kind} {self.view} at {where}{price}"


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

    @property
    def moving_cost(self) -> float:
        return sum(m.cost for m in self.moves)


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
    other = deploy_plan(without, planner(query, without))
    saved = world.cost(current) - world.cost(other)
    price = sum(m.cost for m in list_moves(world, current, other))
    return other if saved > 1e-9 * world.cost(current) and saved * horizon > price else None


def list_moves(world: World, old: Deployment, new: Deployment) -> tuple[DeploymentMove, ...]:
    """What has to happen to get from one deployment to another; operators of one view are interchangeable."""
    found: list[DeploymentMove] = []
    gone: dict[object, list[JoinOperator]] = {}
    come: dict[object, list[JoinOperator]] = {}
    for o in old.operators:
        gone.setdefault(o.view.signature, []).append(o)
    for o in new.operators:
        same = next((p for p in gone.get(o.view.signature, ()) if p.node == o.node), None)
        if same is None:
            come.setdefault(o.view.signature, []).append(o)
            continue
        gone[o.view.signature].remove(same)
        if same.view != o.view:
            wider = world.flow(o.view) >= world.flow(same.view)
            found.append(DeploymentMove("relax" if wider else "tighten", str(o.view), None, o.node))
    for signature, starting in come.items():
        for o in starting:
            left = gone.get(signature, [])
            live = [p for p in left if p.node in world.network.index]
            if live:
                was = min(live, key=lambda p: world.distance(p.node, o.node))
                left.remove(was)
                state = sum(world.estimate.state(f.view) for f in was.feeds)
                price = state * world.distance(was.node, o.node)
                found.append(DeploymentMove("move", str(o.view), was.node, o.node, state, price))
            elif left:
                was = left.pop()
                found.append(DeploymentMove("rebuild", str(o.view), was.node, o.node))
            else:
                found.append(DeploymentMove("start", str(o.view), None, o.node))
    found += [DeploymentMove("stop", str(o.view), o.node, None) for left in gone.values() for o in left]
    return tuple(found)
