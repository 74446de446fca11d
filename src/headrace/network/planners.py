"""All planners under one roof: by name, with what they prepare once per network.

A planner is a function of (query, what is deployed) to a plan. Hierarchies belong to a network, not to a query;
`PreparedWorld` makes each the first time a planner asks for it. The baselines of the document's experiments are in
`benchmarks/network/baselines`, which add themselves to these by name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.errors import NetworkError, UnplaceableError
from headrace.network.bottom_up import bottom_up
from headrace.network.deployment import Deployment
from headrace.network.exact import exact
from headrace.network.hierarchy import Hierarchy, build_hierarchy, measure_diameters
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.npc import npc
from headrace.network.plan_then_deploy import plan_then_deploy
from headrace.network.top_down import top_down
from headrace.network.world import World
from headrace.sql.error_places import suggest

Planner = Callable[[JoinQuery, Deployment], QueryPlan]
DEFAULT_MAX_CS = 32


@dataclass(frozen=True)
class PreparedWorld:
    """A world with what planners prepare for it."""

    world: World
    max_cs: int = DEFAULT_MAX_CS
    seed: int = 0
    reuse: bool = True
    planners: Mapping[str, WorldPlanner] | None = None  # None: those of this module

    @cached_property
    def _parts(self) -> dict[int, NetworkPart]:
        return {}

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What a planner needs of the network, made the first time it is asked for."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def part(self, sink: str) -> NetworkPart:
        """The part of the network in which a sink can be reached, with what hierarchical planners need."""
        nodes = self.world.metric.reachable(self.world.network.at(sink))
        first = int(nodes[0])
        if first not in self._parts:
            self._parts[first] = NetworkPart(self, nodes)
        return self._parts[first]

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy of a network in one part; of several, that of the part the first node is in."""
        return self.part(self.world.network.names[0]).hierarchy

    @property
    def spans(self) -> tuple[float, ...]:
        return self.part(self.world.network.names[0]).spans

    def planner(self, algorithm: str) -> Planner:
        """A planner by name."""
        planners = PLANNERS if self.planners is None else self.planners
        found = planners.get(algorithm)
        if found is None:
            raise NetworkError(f"no planner is called {algorithm!r}; there are {', '.join(planners)}")

        def plan(query: JoinQuery, deployed: Deployment) -> QueryPlan:
            if query.sink not in self.world.network.index:
                network = self.world.network
                near = suggest(query.sink, network.names)
                raise NetworkError(
                    f"query {query.name!r} goes to the node {query.sink!r}, which {network.name!r} has not, or has not "
                    f"any more.{near} Give the query another sink, or remove it"
                )
            try:
                return found(self, query, deployed)
            except UnplaceableError:  # by its rule: in a zone without room, say; elsewhere there may be some
                return exact(self.world, query, deployed, self.reuse)

        return plan


WorldPlanner = Callable[[PreparedWorld, JoinQuery, Deployment], QueryPlan]

PLANNERS: dict[str, WorldPlanner] = {
    "exact": lambda p, q, d: exact(p.world, q, d, p.reuse),
    "top-down": lambda p, q, d: top_down(p.world, q, p.part(q.sink).hierarchy, d, p.reuse),
    "npc": lambda p, q, d: npc(p.world, q, p.part(q.sink).hierarchy, d, p.reuse, p.part(q.sink).spans),
    "bottom-up": lambda p, q, d: bottom_up(p.world, q, p.part(q.sink).hierarchy, d, p.reuse),
    "plan-then-deploy": lambda p, q, d: plan_then_deploy(p.world, q, d, p.reuse),
}


@dataclass(frozen=True)
class NetworkPart:
    """Nodes that reach one another: in a network in several parts, each is planned for by itself."""

    prepared: PreparedWorld
    nodes: NDArray[np.int64]

    @cached_property
    def hierarchy(self) -> Hierarchy:
        p = self.prepared
        names = [p.world.network.names[i] for i in self.nodes]
        return build_hierarchy(p.world.network, p.world.metric, p.max_cs, p.seed, names)

    @cached_property
    def spans(self) -> tuple[float, ...]:
        world = self.prepared.world
        return measure_diameters(self.hierarchy, world.network, world.metric)
