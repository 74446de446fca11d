"""A network, a catalog and a cost model together: everything a planner asks "what does it cost?"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headrace.errors import NetworkError
from headrace.network.deployment import Deployment, FeedOrigin, JoinOperator, SinkDelivery, ViewFeed
from headrace.network.distance_metric import DistanceMetric, Vector
from headrace.network.join_query import JoinQuery
from headrace.network.join_view import View, combine_views, is_connected, rename_view, restrict_view
from headrace.network.rate_estimate import RateEstimator
from headrace.network.stream_catalog import Catalog
from headrace.network.topology import USAGE, CostModel, Network

# per producer and wider view: the cost, the loads, and the limit past which pricing was given up
Relaxations = dict[tuple[FeedOrigin, View], tuple[float, dict[str, float], float]]


@dataclass(frozen=True)
class World:
    network: Network
    catalog: Catalog
    costs: CostModel = USAGE

    def __post_init__(self) -> None:
        for stream in self.catalog.streams:
            if stream.node not in self.network.index:
                raise NetworkError(
                    f"stream {stream.name!r} arises at node {stream.node!r}, which network"
                    f" {self.network.name!r}"
                    " does not have; correct the stream's `node` or add the node"
                )

    @cached_property
    def metric(self) -> DistanceMetric:
        return DistanceMetric(self.network, self.costs)

    @cached_property
    def estimate(self) -> RateEstimator:
        return RateEstimator(self.catalog)

    def flow(self, view: View) -> float:
        """What a view puts on each link it crosses, in the cost model's unit."""
        found = self._flows.get(view)
        if found is None:
            whole = self.costs.unit == "bytes"
            found = self._flows[view] = self.estimate.bytes(view) if whole else self.estimate.tuples(view)
        return found

    @cached_property
    def _flows(self) -> dict[View, float]:
        return {}

    def views_of(self, query: JoinQuery) -> dict[int, View]:
        """What a query needs of sets of its streams, as far as it was worked out; 0 is the whole of it."""
        return self._views.setdefault(query, {})

    @cached_property
    def _views(self) -> dict[JoinQuery, dict[int, View]]:
        return {}

    def distance(self, a: str, b: str) -> float:
        return self.metric.between(self.network.at(a), self.network.at(b))

    def feed_cost(self, feed: ViewFeed, to: str) -> float:
        return self.metric.travel(self.flow(feed.view), self.network.at(feed.node), self.network.at(to))

    def load(self, operator: JoinOperator) -> float:
        """Tuples per second an operator takes in."""
        return sum(self.estimate.tuples(feed.view) for feed in operator.feeds)

    def cost(self, deployment: Deployment) -> float:
        """Σ flow × distance over all feeds, and processing where the cost model has it."""
        travel = sum(self.feed_cost(feed, to) for feed, to in deployment.feeds())
        if not self.costs.processing:
            return travel
        return travel + self.costs.processing * sum(self.load(o) for o in deployment.operators)

    def loads(self, deployment: Deployment) -> Vector:
        """Tuples per second taken in at each node."""
        total = np.zeros(len(self.network.nodes))
        for operator in deployment.operators:
            total[self.network.at(operator.node)] += self.load(operator)
        return total

    def spare(self, deployment: Deployment) -> Vector:
        """Capacity left at each node; below 0 where it may host nothing."""
        limits = np.array([n.capacity if n.hosts else -1.0 for n in self.network.nodes])
        return limits - self.loads(deployment) if np.isfinite(limits).any() else limits

    def relaxation(
        self,
        deployment: Deployment,
        origin: FeedOrigin,
        asked: View,
        limit: float = math.inf,
        known: Relaxations | None = None,
    ) -> tuple[float, dict[str, float]]:
        """What it costs to let a deployed operator or sink also serve a view, and the load it adds per
        operator.

        Upstream of it every feed grows from what it carried to what both need; consumers of before filter as
        before. Past `limit` the answer is infinite: nobody will want it. `known` keeps answers between calls
        on one deployment.
        """
        offered = deployment.offered_view(origin)
        widened = combine_views((offered, asked))
        if widened == offered:
            return 0.0, {}
        return self.widening(deployment, origin, widened, limit, {} if known is None else known)

    def widening(
        self, deployment: Deployment, origin: FeedOrigin, widened: View, limit: float, known: Relaxations
    ) -> tuple[float, dict[str, float]]:
        """What it costs to let an operator or sink carry a wider view; no relaxing makes a join a cross
        product.
        """
        found = known.get((origin, widened))
        if found is None or (math.isinf(found[0]) and limit > found[2]):  # given up at a lower limit: go on
            found = (*self._widening(deployment, origin, widened, limit, known), limit)
            known[origin, widened] = found
        return found[0], found[1]

    def _widening(
        self, deployment: Deployment, origin: FeedOrigin, widened: View, limit: float, known: Relaxations
    ) -> tuple[float, dict[str, float]]:
        producer: JoinOperator | SinkDelivery
        is_operator = origin.kind == "operator"
        producer = deployment.operator[origin.name] if is_operator else deployment.delivery[origin.name]
        feeds = producer.feeds if isinstance(producer, JoinOperator) else (producer.feed,)
        cost = 0.0
        loads: dict[str, float] = {}
        for feed in feeds:
            wide = restrict_view(widened, feed.view.names)
            if wide.predicates != feed.view.predicates and not is_connected(wide):
                return math.inf, {}
            distance = self.distance(feed.node, producer.node)
            if distance:
                more = self.flow(wide) - self.flow(feed.view)
                cost += more * distance if more else 0.0
            if isinstance(producer, JoinOperator):
                more = self.estimate.tuples(wide) - self.estimate.tuples(feed.view)
                loads[producer.id] = loads.get(producer.id, 0.0) + more
                cost += self.costs.processing * more
            if cost > limit:
                return math.inf, {}
            if feed.origin.kind != "stream":
                asked = rename_view(wide, feed.aliases)
                above, further = self.relaxation(deployment, feed.origin, asked, limit, known)
                cost += above
                for name, more in further.items():
                    loads[name] = loads.get(name, 0.0) + more
        return cost, loads
