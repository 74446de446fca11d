"""From one deployment to the next, step by step, with the state each step carries or loses.

Operators keep their names as long as they are the same: same view up to filters and columns, the nearer and
the more alike the better (`keep_names`; a planner that starts anew would name them anew). Then a step is what
differs under one name:

    start, stop           an operator comes or goes
    move                  the same inputs at another node: its windows travel there
    rebuild               no state to carry: the old node is gone or cut off, or the inputs are others, whose
                          windows are not those the operator held
    relax, tighten        more or less passes: filters, windows, columns
    reroute               an input comes from another node, because its producer moved
    deliver, withdraw     a query's result is brought to its sink, or no longer asked for there
    rename                a sink others read goes on without its query, under another name

Every step names what was and what is, so the steps are complete: applied to the old deployment they give the
new one (tests/network/apply_moves.py does it; document 004 leaves reconfiguration to the future, section 2.3).
The cost of a move is its state times the way it travels; starting and rebuilding read the inputs' windows again
from where they come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial

from headrace.network.deployment import Deployment, FeedOrigin, JoinOperator, SinkDelivery, ViewFeed
from headrace.network.join_view import View, combine_views
from headrace.network.world import World

DeployedPart = JoinOperator | SinkDelivery


@dataclass(frozen=True)
class DeploymentMove:
    """One step from the old deployment to the new. `cost` is state bytes × distance."""

    kind: str
    view: str
    source: str | None
    target: str | None
    state: float = 0.0
    cost: float = 0.0
    old: DeployedPart | None = field(default=None, repr=False)
    new: DeployedPart | None = field(default=None, repr=False)

    def __str__(self) -> str:
        where = " → ".join(dict.fromkeys(n for n in (self.source, self.target) if n is not None))
        price = f", {self.state:.0f} bytes of state, cost {self.cost:.1f}" if self.state else ""
        return f"{self.kind} {self.view} at {where}{price}"


def list_moves(world: World, old: Deployment, new: Deployment) -> tuple[DeploymentMove, ...]:
    """What has to happen; operators of one name are the same operator (see `keep_names`)."""
    renamed = _former_sinks(old, new)
    found = [
        DeploymentMove(
            "rename", was, None, old.delivery[was].node, 0, 0, old.delivery[was], new.delivery[now]
        )
        for now, was in renamed.items()
    ]
    old = _rename_sinks(old, {was: now for now, was in renamed.items()})
    for o in new.operators:
        step = _operator_step(world, old.operator.get(o.id), o)
        found += [] if step is None else [step]
    for name, gone in old.operator.items():
        if name not in new.operator:
            found.append(DeploymentMove("stop", str(gone.view), gone.node, None, old=gone))
    for d in new.deliveries:
        found += _delivery_steps(old.delivery.get(d.query), d)
    for name, left in old.delivery.items():
        if name not in new.delivery:
            found.append(DeploymentMove("withdraw", left.query, left.node, None, old=left))
    return tuple(found)


def _operator_step(world: World, was: JoinOperator | None, now: JoinOperator) -> DeploymentMove | None:
    state = sum(world.estimate.state(f.view) for f in now.feeds)
    again = sum(world.estimate.state(f.view) * world.distance(f.node, now.node) for f in now.feeds)
    view = str(now.view)
    if was is None:
        return DeploymentMove("start", view, None, now.node, state, again, None, now)
    if was == now:
        return None
    same_inputs = [f.origin for f in was.feeds] == [f.origin for f in now.feeds]
    apart = world.distance(was.node, now.node) if was.node in world.network.index else math.inf
    if not same_inputs or not math.isfinite(apart):
        return DeploymentMove("rebuild", view, was.node, now.node, state, again, was, now)
    if was.node != now.node:
        carried = sum(world.estimate.state(f.view) for f in was.feeds)
        return DeploymentMove("move", view, was.node, now.node, carried, carried * apart, was, now)
    return DeploymentMove(_compare(was.view, now.view), view, None, now.node, old=was, new=now)


def _delivery_steps(was: SinkDelivery | None, now: SinkDelivery) -> list[DeploymentMove]:
    if was == now:
        return []
    if was is None or was.node != now.node or (now.wanted and not was.wanted):
        return [DeploymentMove("deliver", now.query, None, now.node, old=was, new=now)]
    if was.wanted and not now.wanted:
        return [DeploymentMove("withdraw", now.query, None, now.node, old=was, new=now)]
    kind = _compare(was.feed.view, now.feed.view)
    return [DeploymentMove(kind, now.query, None, now.node, old=was, new=now)]


def _compare(was: View, now: View) -> str:
    if was == now:
        return "reroute"
    return "tighten" if combine_views((was, now)) == was else "relax"


def _former_sinks(old: Deployment, new: Deployment) -> dict[str, str]:
    """Sinks that go on under another name since their query left or came back: new name to old."""
    found = {}
    for d in new.deliveries:
        base = d.query.partition(" (former)")[0]
        if d.query != base and d.query not in old.delivery and base in old.delivery:
            found[d.query] = base
    return found


def _rename_sinks(deployment: Deployment, names: dict[str, str]) -> Deployment:
    if not names:
        return deployment

    def feed(one: ViewFeed) -> ViewFeed:
        kind, name = one.origin.kind, one.origin.name
        return replace(one, origin=FeedOrigin(kind, names.get(name, name))) if kind == "sink" else one

    return Deployment(
        tuple(replace(o, left=feed(o.left), right=feed(o.right)) for o in deployment.operators),
        tuple(
            replace(d, query=names.get(d.query, d.query), feed=feed(d.feed)) for d in deployment.deliveries
        ),
    )


def keep_names(world: World, old: Deployment, new: Deployment) -> Deployment:
    """The new deployment with the names of the old for the operators that are the same."""
    sinks = _former_sinks(old, new)
    names = _match(world, old, new, sinks)
    taken = set(old.operator) | set(names.values())
    for o in new.operators:
        if o.id not in names:
            query, _, _ = o.id.rpartition(".")
            number = 1
            while f"{query}.{number}" in taken:
                number += 1
            names[o.id] = f"{query}.{number}"
            taken.add(names[o.id])

    def feed(one: ViewFeed) -> ViewFeed:
        kind, name = one.origin.kind, one.origin.name
        return replace(one, origin=FeedOrigin(kind, names[name])) if kind == "operator" else one

    return Deployment(
        tuple(replace(o, id=names[o.id], left=feed(o.left), right=feed(o.right)) for o in new.operators),
        tuple(replace(d, feed=feed(d.feed)) for d in new.deliveries),
    )


def _match(world: World, old: Deployment, new: Deployment, sinks: dict[str, str]) -> dict[str, str]:
    """New names to old: first what did not change at all, then, inputs first, the most alike."""
    names = {o.id: o.id for o in new.operators if old.operator.get(o.id) == o}
    free = {name: o for name, o in old.operator.items() if name not in names}

    def inputs(one: JoinOperator) -> list[FeedOrigin | None]:
        return [was(f.origin) for f in one.feeds]

    def was(origin: FeedOrigin) -> FeedOrigin | None:
        if origin.kind == "operator":
            return FeedOrigin("operator", names[origin.name]) if origin.name in names else None
        return FeedOrigin("sink", sinks.get(origin.name, origin.name)) if origin.kind == "sink" else origin

    for o in sorted(new.operators, key=lambda o: len(o.view.inputs)):
        alike = [
            p for p in free.values() if (p.view.names, p.view.reuse_key) == (o.view.names, o.view.reuse_key)
        ]
        if o.id not in names and alike:
            best = min(alike, key=partial(_unlikeness, world, o, inputs(o)))
            names[o.id] = best.id
            del free[best.id]
    return names


def _unlikeness(
    world: World, now: JoinOperator, inputs: list[FeedOrigin | None], was: JoinOperator
) -> tuple[int, bool, float, bool, bool, str]:
    """How much of an old operator would change for it to be a new one."""
    moved, fed_otherwise = was.node != now.node, [f.origin for f in was.feeds] != inputs
    far = world.distance(was.node, now.node) if was.node in world.network.index else math.inf
    return moved + fed_otherwise, moved, far, was.view != now.view, was.id != now.id, was.id
