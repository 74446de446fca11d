"""A plan: the join tree of one query with a node for every operator and an origin for every leaf.

`deploy_plan` adds a plan to a deployment. The marginal cost a planner states is checked by the difference it
makes: cost(deploy(d, plan)) − cost(d).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headrace.network.deployment import (
    Deployment,
    FeedOrigin,
    JoinOperator,
    SinkDelivery,
    ViewFeed,
    settle_views,
)
from headrace.network.join_view import Aliases, View


@dataclass(frozen=True)
class PlanLeaf:
    """A leaf: a base stream, or a derived stream which is already there."""

    view: View
    node: str
    origin: FeedOrigin
    aliases: Aliases = ()


@dataclass(frozen=True)
class PlanJoin:
    view: View
    node: str
    left: PlanTree
    right: PlanTree


PlanTree = PlanLeaf | PlanJoin


@dataclass(frozen=True)
class QueryPlan:
    """`cost` is what the plan adds; `examined` counts plans as the document does, `states` what was really
    computed. `bound`: no plan adds less, as far as the planner knows; equal to the cost of a proved optimum.
    """

    query: str
    sink: str
    tree: PlanTree
    cost: float
    algorithm: str
    examined: int = 0
    states: int = 0
    seconds: float = 0.0
    bound: float | None = None


def iterate_joins(tree: PlanTree) -> Iterator[PlanJoin]:
    """The joins of a tree, inputs before what reads them."""
    if isinstance(tree, PlanJoin):
        yield from iterate_joins(tree.left)
        yield from iterate_joins(tree.right)
        yield tree


def iterate_leaves(tree: PlanTree) -> Iterator[PlanLeaf]:
    if isinstance(tree, PlanLeaf):
        yield tree
    else:
        yield from iterate_leaves(tree.left)
        yield from iterate_leaves(tree.right)


def list_reused(tree: PlanTree) -> tuple[PlanLeaf, ...]:
    """The leaves that are derived streams."""
    return tuple(leaf for leaf in iterate_leaves(tree) if leaf.origin.kind != "stream")


def deploy_plan(deployment: Deployment, plan: QueryPlan) -> Deployment:
    """The deployment with a plan added and everything it reuses relaxed as far as it needs."""
    taken = set(deployment.operator)
    added: list[JoinOperator] = []

    def build(tree: PlanTree) -> ViewFeed:
        if isinstance(tree, PlanLeaf):
            return ViewFeed(tree.origin, tree.node, tree.view, tree.aliases)
        left, right = build(tree.left), build(tree.right)
        number = 1
        while f"{plan.query}.{number}" in taken:
            number += 1
        identity = f"{plan.query}.{number}"
        taken.add(identity)
        added.append(JoinOperator(identity, tree.node, tree.view, left, right))
        return ViewFeed(FeedOrigin("operator", identity), tree.node, tree.view)

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
    delivery = SinkDelivery(plan.query, plan.sink, plan.tree.view, feed)
    return settle_views(Deployment(operators, (*deliveries, delivery)))


def _reread(feed: ViewFeed, query: str, former: str) -> ViewFeed:
    same = feed.origin == FeedOrigin("sink", query)
    return replace(feed, origin=FeedOrigin("sink", former)) if same else feed
