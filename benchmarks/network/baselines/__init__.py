"""The planners that document 004 compares with: exhaustive search, Relaxation and In-network.

They plan on a `PreparedWorld` like those of `headrace.network.planners`, and only experiments and tests use them.
"""

from __future__ import annotations

from benchmarks.network.baselines.cost_space import embed_network
from benchmarks.network.baselines.exhaustive import exhaustive
from benchmarks.network.baselines.in_network import ZONES, make_zones
from benchmarks.network.baselines.in_network import in_network as plan_in_zones
from benchmarks.network.baselines.relaxation import relaxation
from headrace.network.deployment import Deployment
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.planners import PLANNERS, PreparedWorld, WorldPlanner


def in_network(prepared: PreparedWorld, query: JoinQuery, deployed: Deployment) -> QueryPlan:
    """In-network placement in the zones of the part of the network that reaches the sink."""
    part = prepared.part(query.sink)
    key = ("zones", int(part.nodes[0]))
    zones = prepared.once(key, lambda: make_zones(prepared.world.metric, ZONES, prepared.seed, part.nodes))
    return plan_in_zones(prepared.world, query, zones, deployed, prepared.reuse)


def relax(prepared: PreparedWorld, query: JoinQuery, deployed: Deployment) -> QueryPlan:
    """Relaxation in the cost space of the network."""
    points = prepared.once("points", lambda: embed_network(prepared.world.metric, prepared.seed))
    return relaxation(prepared.world, query, points, deployed, prepared.reuse)


BASELINES: dict[str, WorldPlanner] = {
    "in-network": in_network,
    "relaxation": relax,
    "exhaustive": lambda p, q, d: exhaustive(p.world, q, d, p.reuse),
}
ALL_PLANNERS = {**PLANNERS, **BASELINES}
COMPARED_PLANNERS = tuple(name for name in ALL_PLANNERS if name != "exhaustive")
