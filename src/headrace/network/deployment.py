"""A deployment is data: which joins run where, what feeds them, and where results go.

Frozen, with a JSON round trip (`deployment_json`): the seam to whatever runs the parts on their sites. An operator
joins two feeds at a node; a delivery brings a query's result to its sink. Every operator and every delivery
is also a *derived stream* others may read (004, section 3.1.3), so a feed's origin is a base stream, an
operator or a sink. A delivery outlives its query (`wanted=False`) while others read it.

Filters and columns are not chosen, they follow: every producer carries the least view that serves its
consumers. That normal form is computed by `settle_views`; with it, sharing, telescoping and un-sharing when a query
leaves are one rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from headrace.errors import NetworkError
from headrace.network.join_view import Aliases, View, combine_views, rename_view, restrict_view


class FeedOrigin(NamedTuple):
    """Where a feed comes from: a base stream, an operator's output, or what arrives at a query's sink."""

    kind: Literal["stream", "operator", "sink"]
    name: str

    def __str__(self) -> str:
        return self.name if self.kind == "stream" else f"{self.kind} {self.name}"


@dataclass(frozen=True)
class ViewFeed:
    """A view on its way from the node where its origin is; `aliases` where the origin calls inputs otherwise."""

    origin: FeedOrigin
    node: str
    view: View
    aliases: Aliases = ()

    @property
    def taken(self) -> View:
        """The view in the words of its origin."""
        return rename_view(self.view, self.aliases)


@dataclass(frozen=True)
class JoinOperator:
    """A join of two feeds at a node."""

    id: str
    node: str
    view: View
    left: ViewFeed
    right: ViewFeed

    @property
    def feeds(self) -> tuple[ViewFeed, ViewFeed]:
        return self.left, self.right


@dataclass(frozen=True)
class SinkDelivery:
    """A query's result, brought to its sink. `asked` is the query's own view, `feed.view` what travels."""

    query: str
    node: str
    asked: View
    feed: ViewFeed
    wanted: bool = True


@dataclass(frozen=True)
class Deployment:
    operators: tuple[JoinOperator, ...] = ()
    deliveries: tuple[SinkDelivery, ...] = ()

    @cached_property
    def operator(self) -> dict[str, JoinOperator]:
        return {o.id: o for o in self.operators}

    @cached_property
    def delivery(self) -> dict[str, SinkDelivery]:
        return {d.query: d for d in self.deliveries}

    @cached_property
    def queries(self) -> tuple[str, ...]:
        return tuple(d.query for d in self.deliveries if d.wanted)

    def feeds(self) -> Iterator[tuple[ViewFeed, str]]:
        """Every feed with the node it goes to."""
        for operator in self.operators:
            for feed in operator.feeds:
                yield feed, operator.node
        for delivery in self.deliveries:
            yield delivery.feed, delivery.node

    @cached_property
    def consumers(self) -> dict[FeedOrigin, tuple[JoinOperator | SinkDelivery, ...]]:
        found: dict[FeedOrigin, list[JoinOperator | SinkDelivery]] = {}
        for operator in self.operators:
            for origin in dict.fromkeys(f.origin for f in operator.feeds):
                found.setdefault(origin, []).append(operator)
        for delivery in self.deliveries:
            found.setdefault(delivery.feed.origin, []).append(delivery)
        return {origin: tuple(users) for origin, users in found.items()}

    def offered_view(self, origin: FeedOrigin) -> View:
        """The view an operator or a sink offers."""
        if origin.kind == "operator":
            return self.operator[origin.name].view
        return self.delivery[origin.name].feed.view

    def selections(self) -> int:
        """Filters that run: one per feed that is narrower than what its origin offers."""
        count = 0
        for feed, _ in self.feeds():
            if feed.origin.kind == "stream":
                count += bool(feed.view.inputs[0].filter.conditions)
            else:
                offered = self.offered_view(feed.origin)
                pairs = list(zip(feed.taken.inputs, offered.inputs, strict=True))
                narrower = any((a.filter, a.window) != (b.filter, b.window) for a, b in pairs)
                count += narrower or feed.taken.predicates != offered.predicates
        return count


EMPTY = Deployment()


def settle_views(deployment: Deployment) -> Deployment:
    """The normal form: each producer carries the least view its consumers need; what nobody needs is gone.

    An operator's feeds always carry what its view needs of them, so where the view stays they stay.
    """
    needed: dict[FeedOrigin, View | None] = {}

    def need(origin: FeedOrigin) -> View | None:
        if origin in needed:
            return needed[origin]
        views = []
        if origin.kind == "sink" and deployment.delivery[origin.name].wanted:
            views.append(deployment.delivery[origin.name].asked)
        for user in deployment.consumers.get(origin, ()):
            if isinstance(user, SinkDelivery):
                asked = need(FeedOrigin("sink", user.query))
                if asked is not None:
                    views.append(rename_view(asked, user.feed.aliases))
            else:
                output = need(FeedOrigin("operator", user.id))
                if output is not None:
                    for feed in user.feeds:
                        if feed.origin == origin:
                            view = (
                                feed.view if output == user.view else restrict_view(output, feed.view.names)
                            )
                            views.append(rename_view(view, feed.aliases))
        needed[origin] = combine_views(views) if views else None
        return needed[origin]

    operators = []
    for operator in deployment.operators:
        view = need(FeedOrigin("operator", operator.id))
        if view == operator.view:
            operators.append(operator)
        elif view is not None:
            left, right = (replace(f, view=restrict_view(view, f.view.names)) for f in operator.feeds)
            operators.append(replace(operator, view=view, left=left, right=right))
    deliveries = []
    for delivery in deployment.deliveries:
        view = need(FeedOrigin("sink", delivery.query))
        if view == delivery.feed.view:
            deliveries.append(delivery)
        elif view is not None:
            deliveries.append(replace(delivery, feed=replace(delivery.feed, view=view)))
    return Deployment(tuple(operators), tuple(deliveries))


def withdraw_query(deployment: Deployment, query: str) -> Deployment:
    """The deployment after a query left: what others still use stays, relaxed only as far as they need."""
    if query not in deployment.queries:
        deployed = ", ".join(deployment.queries) or "none"
        raise NetworkError(f"query {query!r} is not deployed; deployed queries: {deployed}")
    deliveries = tuple(replace(d, wanted=False) if d.query == query else d for d in deployment.deliveries)
    return settle_views(replace(deployment, deliveries=deliveries))
