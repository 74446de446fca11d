"""A plan: the join tree of one query with a node for every operator and an origin for every leaf.

`deploy` adds a plan to a deployment. The marginal cost a planner states is checked by the difference it
makes: cost(deploy(d, plan)) − cost(d).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headrace.network.deployment import Delivery, Deployment, Feed, Operator, Origin, settle
from headrace.network.view import View


@dataclass(frozen=True)
class Take:
    """A leaf: a base stream, or a derived stream which is already there."""

    view: View
    node: str
    origin: Origin


@dataclass(frozen=True)
class Join:
    view: View
    node: str
    left: Tree
    right: Tree


Tree = Take | Join


@dataclass(frozen=True)
class Plan:
    """`cost` is what the plan adds; `examined` counts plans as the document does, `states` what was really
    computed.
    """

    query: str
    sink: str
    tree: Tree
    cost: float
    algorithm: str
    examined: int = 0
    states: int = 0
    seconds: float = 0.0


def joins(tree: Tree) -> Iterator[Join]:
    """The joins of a tree, inputs before what reads them."""
    if isinstance(tree, Join):
        yield from joins(tree.left)
        yield from joins(tree.right)
        yield tree


def leaves(tree: Tree) -> Iterator[Take]:
    if isinstance(tree, Take):
        yield tree
    else:
        yield from leaves(tree.left)
        yield from leaves(tree.right)


def reused(tree: Tree) -> tuple[Take, ...]:
    """The leaves that are derived streams."""
    return tuple(leaf for leaf in leaves(tree) if leaf.origin.kind != "stream")


def deploy(deployment: Deployment, plan: Plan) -> Deployment:
    """The deployment with a plan added and everything it reuses relaxed as far as it needs."""
    taken = set(deployment.operator)
    added: list[Operator] = []

    def build(tree: Tree) -> Feed:
        if isinstance(tree, Take):
            return Feed(tree.origin, tree.node, tree.view)
        left, right = build(tree.left), build(tree.right)
        number = 1
        while f"{plan.query}.{number}" in taken:
            number += 1
        identity = f"{plan.query}.{number}"
        taken.add(identity)
        added.append(Operator(identity, tree.node, tree.view, left, right))
        return Feed(Origin("operator", identity), tree.node, tree.view)

    feed = build(plan.tree)
    operators, deliveries = (*deployment.operators, *added), deployment.deliveries
    if plan.query in deployment.delivery:  # it left, but others read what arrives at its sink: that goes on
        former = f"{plan.query} (former)"
        while former in deployment.delivery:
            former += "+"
        operators = tuple(
            replace(o, left=_reread(o.left, plan.query, former), right=_reread(o.right, plan.query, former))
            for o in operators
        )
        deliveries = tuple(
            replace(
                d,
                query=former if d.query == plan.query else d.query,
                feed=_reread(d.feed, plan.query, former),
            )
            for d in deliveries
        )
        feed = _reread(feed, plan.query, former)
    delivery = Delivery(plan.query, plan.sink, plan.tree.view, feed)
    return settle(Deployment(operators, (*deliveries, delivery)))


def _reread(feed: Feed, query: str, former: str) -> Feed:
    same = feed.origin == Origin("sink", query)
    return replace(feed, origin=Origin("sink", former)) if same else feed
