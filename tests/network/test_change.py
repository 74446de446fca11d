"""Failures, rate changes, departures: what is re-planned, what moves, what is lost."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from headrace.network.deployment import EMPTY
from headrace.network.deployment_change import adapt_deployment, find_affected, remove_query
from headrace.network.network_generators import transit_stub
from headrace.network.planners import PreparedWorld
from headrace.network.query_sets import deploy_in_order
from headrace.network.topology import Link
from headrace.network.workload import synthetic
from headrace.network.world import World

from .worlds import change_capacity, change_rate, random_network


@pytest.fixture(scope="module")
def running():
    world, queries = synthetic(transit_stub(4), 4, 12)
    return world, queries, deploy_in_order(PreparedWorld(world).planner("exact"), queries).deployment


def adapted(before, after, queries, deployed, horizon=None):
    return adapt_deployment(before, after, PreparedWorld(after).planner("exact"), queries, deployed, horizon)


def failing():
    """A well-connected world with a join on a node that is neither source, sink nor the only way anywhere."""
    for seed in range(30):
        rng = random.Random(seed)
        network = random_network(rng, 30)
        more = tuple(Link(*rng.sample(network.names, 2), rng.uniform(1, 20)) for _ in range(40))
        world, queries = synthetic(replace(network, links=(*network.links, *more)), seed, 6, streams=6)
        deployed = deploy_in_order(PreparedWorld(world).planner("exact"), queries).deployment
        busy = {s.node for s in world.catalog.streams} | {q.sink for q in queries}
        for node in sorted({o.node for o in deployed.operators} - busy):
            left = World(world.network.remove_node(node), world.catalog, world.costs)
            if np.isfinite(left.metric.matrix).all():
                return world, queries, deployed, node
    raise AssertionError("no seed has such a node")


def test_a_failed_node_loses_its_joins_and_nothing_else():
    """Queries resting on the node are planned again elsewhere; the others keep their operators."""
    world, queries, deployed, failed = failing()
    after = World(world.network.remove_node(failed), world.catalog, world.costs)
    hit = find_affected(after, deployed)
    assert hit
    change = adapted(world, after, queries, deployed)
    assert set(change.replanned) == hit
    assert not change.lost
    assert math.isinf(change.kept)
    assert set(change.deployment.queries) == {q.name for q in queries}
    assert failed not in {o.node for o in change.deployment.operators}
    assert change.after == pytest.approx(after.cost(change.deployment))
    assert all(math.isfinite(m.cost) for m in change.moves)
    assert any(m.kind in ("rebuild", "start") and m.source in (failed, None) for m in change.moves)


def test_a_failed_source_loses_only_the_queries_that_need_it(running):
    """Those are named with the reason; the rest goes on."""
    world, queries, deployed = running
    stream = world.catalog.streams[0]
    gone = World(
        world.network.remove_node(stream.node),
        replace(
            world.catalog,
            streams=tuple(s for s in world.catalog.streams if s.node != stream.node),
            selectivities=tuple(
                e
                for e in world.catalog.selectivities
                if stream.name not in (e.left.split(".")[0], e.right.split(".")[0])
            ),
        ),
        world.costs,
    )
    kept = [q for q in queries if q.sink != stream.node]
    change = adapted(world, gone, queries, deployed)
    lost = {name for name, _ in change.lost}
    assert {q.name for q in queries if stream.name in q.streams} <= lost
    assert all("unknown stream" in why or "no node" in why for _, why in change.lost)
    assert set(change.deployment.queries) == {q.name for q in kept} - lost


def test_a_failed_link_is_routed_around(running):
    """Nothing breaks while there is another path; with a horizon, plans follow if that pays."""
    world, queries, deployed = running
    for link in world.network.links:
        after = World(world.network.with_link(link.a, link.b, up=False), world.catalog, world.costs)
        if not find_affected(after, deployed) and after.cost(deployed) > world.cost(deployed):
            break
    still = adapted(world, after, queries, deployed)
    assert still.deployment == deployed
    assert still.moves == ()
    assert still.kept > still.before
    better = adapted(world, after, queries, deployed, horizon=1e9)
    assert better.after <= still.after


def test_a_rate_change_moves_joins_only_if_it_pays(running):
    """A stream a hundred times faster: with no horizon nothing moves, with a long one the cost falls and
    moves are listed.
    """
    world, queries, deployed = running
    name = world.catalog.streams[1].name
    after = World(world.network, change_rate(world.catalog, name, 5000.0), world.costs)
    still = adapted(world, after, queries, deployed)
    assert still.deployment == deployed
    short = adapted(world, after, queries, deployed, horizon=1e-9)
    assert sum(m.cost for m in short.moves) == 0
    long = adapted(world, after, queries, deployed, horizon=1e9)
    assert long.after < still.after
    assert long.replanned
    assert long.moves
    for move in long.moves:
        if move.kind == "move":
            assert move.cost == pytest.approx(move.state * after.distance(move.source, move.target))
            assert "bytes of state" in str(move)


def test_a_query_leaves(running):
    """Its joins stop unless others read them; the rest of the set costs what it cost without it."""
    world, queries, deployed = running
    rng = random.Random(0)
    current = deployed
    for query in rng.sample(queries, len(queries)):
        change = remove_query(world, current, query.name)
        assert change.after <= change.before + 1e-6
        assert {m.kind for m in change.moves} <= {"stop", "tighten", "withdraw"}
        current = change.deployment
    assert current == EMPTY


def test_an_overloaded_node_is_relieved(running):
    """When a node's capacity shrinks below its load, what runs there is planned again within it."""
    world, queries, deployed = running
    loads = world.loads(deployed)
    node = world.network.names[int(loads.argmax())]
    after = World(change_capacity(world.network, node, float(loads.max()) / 2), world.catalog, world.costs)
    change = adapted(world, after, queries, deployed)
    assert change.replanned
    assert after.loads(change.deployment)[after.network.at(node)] <= float(loads.max()) / 2 + 1e-6
