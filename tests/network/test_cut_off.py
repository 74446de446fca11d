"""Nodes no live link leads to, and streams that carry nothing: zero times infinity must not decide a plan."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.network.baselines import ALL_PLANNERS
from benchmarks.network.baselines import COMPARED_PLANNERS as COMPARED
from benchmarks.network.baselines.exhaustive import exhaustive

from headrace.network.deployment import EMPTY
from headrace.network.distance_metric import DistanceMetric, travel_cost
from headrace.network.exact import exact
from headrace.network.hierarchy import build_hierarchy, elect_coordinator
from headrace.network.network_plan import deploy_plan, iterate_joins
from headrace.network.planners import PreparedWorld
from headrace.network.stream_catalog import BaseStream, Catalog, Selectivity
from headrace.network.topology import USAGE, Link, Network, NetworkNode
from headrace.network.world import World

from .worlds import add_node, plain_query, random_query, random_world


def silent_world(first: str = "lonely") -> World:
    """Two streams, one of them silent, and a node nothing leads to, which is first or last in the list."""
    names = ["a", "b", "c"]
    nodes = [first, *names] if first == "lonely" else [*names, "lonely"]
    network = Network(tuple(NetworkNode(n) for n in nodes), (Link("a", "b", 2.0), Link("b", "c", 3.0)))
    streams = (BaseStream("S", "a", 0.0), BaseStream("T", "c", 5.0))
    return World(network, Catalog(streams, (Selectivity("S.k", "T.k", 0.1),)))


ASKED = plain_query("Q", "b", ["S", "T"], [("S.k", "T.k")])


@pytest.mark.parametrize("place", ["lonely", "last"])
@pytest.mark.parametrize("algorithm", [*COMPARED, "exhaustive"])
def test_a_silent_stream_is_placed_where_it_can_arrive(algorithm, place):
    """A flow of zero to a node no link leads to is impossible, not free, and not NaN."""
    world = silent_world(place)
    plan = PreparedWorld(world, planners=ALL_PLANNERS).planner(algorithm)(ASKED, EMPTY)
    assert math.isfinite(plan.cost)
    assert "lonely" not in {j.node for j in iterate_joins(plan.tree)}
    assert world.cost(deploy_plan(EMPTY, plan)) == pytest.approx(plan.cost)


def test_zero_times_a_distance():
    """The one rule: nothing costs nothing along a path, and no path costs infinity whatever is carried."""
    far = np.array([0.0, 2.0, np.inf])
    assert travel_cost(0.0, far).tolist() == [0.0, 0.0, np.inf]
    assert travel_cost(3.0, far).tolist() == [0.0, 6.0, np.inf]


@pytest.mark.parametrize("dense", [True, False])
def test_spreading_a_silent_stream(dense):
    """By matrix and by Dijkstra alike."""
    world = silent_world()
    metric = DistanceMetric(world.network, USAGE, dense=dense)
    start = np.array([np.inf, 7.0, np.inf, np.inf])
    cost, origin = metric.spread(start, 0.0)
    assert cost.tolist() == [np.inf, 7.0, 7.0, 7.0]
    assert origin(3) == 1


def cut_world(rng: random.Random, silent: bool) -> World:
    """A random world in which two nodes that are no sources lose all their links; some streams are silent."""
    world = random_world(rng, 14, 4, plain=True)
    sources = {s.node for s in world.catalog.streams}
    lonely = set(rng.sample([n for n in world.network.names if n not in sources], 2))
    links = tuple(replace(k, up=not ({k.a, k.b} & lonely)) for k in world.network.links)
    streams = tuple(
        replace(s, rate=0.0 if silent and rng.random() < 0.5 else s.rate) for s in world.catalog.streams
    )
    return World(replace(world.network, links=links), replace(world.catalog, streams=streams))


@pytest.mark.parametrize("algorithm", COMPARED)
def test_every_planner_stays_where_the_sink_can_be_reached(algorithm):
    """Joins only at nodes that reach the sink; whatever the optimum can place, every planner can place."""
    placed = 0
    for seed in range(40):
        rng = random.Random(seed)
        world = cut_world(rng, silent=seed % 2 == 0)
        prepared = PreparedWorld(world, max_cs=rng.choice([2, 4, 8]), planners=ALL_PLANNERS)
        query = random_query(rng, world, "Q", 3, plain=True)
        sources = [world.catalog.stream(i.stream).node for i in query.inputs]
        if not all(math.isfinite(world.distance(s, query.sink)) for s in sources):
            continue
        best = exact(world, query)
        plan = prepared.planner(algorithm)(query, EMPTY)
        assert math.isfinite(plan.cost)
        assert plan.cost >= best.cost - 1e-9
        for join in iterate_joins(plan.tree):
            assert math.isfinite(world.distance(join.node, query.sink))
        placed += 1
    assert placed > 10


@pytest.mark.parametrize("seed", range(15))
def test_exact_equals_exhaustive_with_silent_streams_and_cut_off_nodes(seed):
    """The reference agrees, and neither answers NaN."""
    rng = random.Random(seed)
    world = random_world(rng, 4, 3, plain=True)
    streams = tuple(replace(s, rate=rng.choice([0.0, s.rate])) for s in world.catalog.streams)
    network = add_node(world.network, NetworkNode("lonely"), [])
    world = World(network, replace(world.catalog, streams=streams))
    query = random_query(rng, world, "Q", 3, plain=True)
    if query.sink != "lonely":
        cost = exact(world, query).cost
        assert cost == pytest.approx(exhaustive(world, query).cost)
        assert math.isfinite(cost)


def test_two_islands_each_plan_for_themselves():
    """A network in two parts: a query whose sources and sink are in the smaller part is planned there."""
    rng = random.Random(5)
    big, small = random_world(rng, 9, 2, plain=True), random_world(rng, 4, 2, plain=True)
    rename = {n: f"i{n}" for n in small.network.names}
    nodes = big.network.nodes + tuple(NetworkNode(rename[n]) for n in small.network.names)
    links = big.network.links + tuple(replace(k, a=rename[k.a], b=rename[k.b]) for k in small.network.links)
    streams = (BaseStream("S0", "in0", 5.0), BaseStream("S1", "in3", 50.0))
    world = World(Network(nodes, links), Catalog(streams, small.catalog.selectivities))
    query = plain_query("Q", "in1", ["S0", "S1"], [("S0.kS1", "S1.kS0")])
    best = exact(world, query).cost
    for algorithm in COMPARED:
        for max_cs in (2, 3, 8):
            plan = PreparedWorld(world, max_cs=max_cs, planners=ALL_PLANNERS).planner(algorithm)(query, EMPTY)
            assert best - 1e-9 <= plan.cost < math.inf


def test_a_cut_off_member_does_not_coordinate():
    """The coordinator reaches as many members as possible, then is nearest to them."""
    network = silent_world().network
    metric = DistanceMetric(network, USAGE)
    assert elect_coordinator(network, metric, list(network.names)).coordinator == "b"
    part = build_hierarchy(network, metric, 2, members=["a", "b", "c"])
    assert sorted(m for c in part.levels[0] for m in c.members) == ["a", "b", "c"]
