"""What the steps of `list_moves` do to a deployment: the reference that shows a list of them to be complete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.network.deployment import Deployment, FeedOrigin, JoinOperator, SinkDelivery, ViewFeed
from headrace.network.deployment_moves import DeploymentMove


def apply_moves(deployment: Deployment, moves: Iterable[DeploymentMove]) -> Deployment:
    """The deployment after some steps; operators and deliveries in the order of their names."""
    steps = tuple(moves)
    names = {}
    for step in steps:
        if (
            step.kind == "rename"
            and isinstance(step.old, SinkDelivery)
            and isinstance(step.new, SinkDelivery)
        ):
            names[step.old.query] = step.new.query
    parts = rename_sinks(deployment, names)
    operators, deliveries = dict(parts.operator), dict(parts.delivery)
    for step in steps:
        if step.kind != "rename":
            if isinstance(step.old, JoinOperator):
                del operators[step.old.id]
            elif step.old is not None:
                del deliveries[step.old.query]
    for step in steps:
        if isinstance(step.new, JoinOperator):
            operators[step.new.id] = step.new
        elif step.new is not None:
            deliveries[step.new.query] = step.new
    return sort_parts(Deployment(tuple(operators.values()), tuple(deliveries.values())))


def sort_parts(deployment: Deployment) -> Deployment:
    """The same deployment, parts in the order of their names."""
    return Deployment(
        tuple(sorted(deployment.operators, key=lambda o: o.id)),
        tuple(sorted(deployment.deliveries, key=lambda d: d.query)),
    )


def rename_sinks(deployment: Deployment, names: dict[str, str]) -> Deployment:
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
