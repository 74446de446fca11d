"""Moves are complete: applied to the old deployment they give the new one; and state is kept only where it is."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, FeedOrigin, JoinOperator, withdraw_query
from headrace.network.deployment_change import adapt_deployment, remove_query
from headrace.network.deployment_moves import keep_names, list_moves
from headrace.network.exact import exact
from headrace.network.network_plan import PlanJoin, PlanLeaf, QueryPlan, deploy_plan
from headrace.network.planners import PreparedWorld
from headrace.network.query_sets import deploy_in_order
from headrace.network.stream_catalog import BaseStream, Catalog, Selectivity
from headrace.network.subsets import Subsets
from headrace.network.topology import Link, Network, NetworkNode
from headrace.network.world import World

from .apply_moves import apply_moves, sort_parts
from .worlds import change_capacity, change_rate, plain_query, random_query, random_world


def change_something(rng: random.Random, world: World) -> World:
    """Another rate, a link up or down, a node gone, a capacity."""
    network, kind = world.network, rng.choice(["rate", "rate", "link", "link", "cut", "node", "capacity"])
    busy = {s.node for s in world.catalog.streams}
    idle = [n for n in network.names if n not in busy]
    if kind == "rate":
        stream = rng.choice(world.catalog.streams)
        return World(
            network, change_rate(world.catalog, stream.name, rng.choice([0.0, 1.0, 500.0])), world.costs
        )
    if kind == "link":
        link = rng.choice(network.links)
        network = network.with_link(link.a, link.b, up=not link.up)
    elif kind == "cut" and idle:
        lonely = rng.choice(idle)
        network = replace(
            network, links=tuple(replace(k, up=k.up and lonely not in (k.a, k.b)) for k in network.links)
        )
    elif kind == "node" and len(idle) > 2:
        network = network.remove_node(rng.choice(idle))
    elif kind == "capacity":
        network = change_capacity(network, rng.choice(network.names), rng.choice([50.0, 500.0, math.inf]))
    return World(network, world.catalog, world.costs)


def check(old, change, world) -> None:
    """The steps lead there, none costs infinity, and what has other inputs or another place is listed as such."""
    assert apply_moves(old, change.moves) == sort_parts(change.deployment)
    kinds = {m.new.id: m.kind for m in change.moves if isinstance(m.new, JoinOperator)}
    for move in change.moves:
        assert math.isfinite(move.cost)
        assert move.kind != "move" or math.isfinite(world.distance(move.source, move.target))
    for now in change.deployment.operators:
        was = old.operator.get(now.id)
        if was is None:
            assert kinds[now.id] == "start"
        elif was.node != now.node:
            assert kinds[now.id] in ("move", "rebuild")
        if was is not None and [f.view.names for f in was.feeds] != [f.view.names for f in now.feeds]:
            assert kinds[now.id] == "rebuild"


def test_applying_the_moves_gives_the_new_deployment_on_500_changes():
    """Failures, rates, capacities, departures and returns, one after the other on a hundred random worlds."""
    seen: dict[str, int] = {}
    for seed in range(100):
        rng = random.Random(seed)
        world = random_world(rng, 8, 4, plain=seed % 2 == 0)
        queries = [random_query(rng, world, f"Q{i}", rng.choice([2, 3, 3]), seed % 2 == 0) for i in range(4)]
        deployed = deploy_in_order(PreparedWorld(world).planner("exact"), queries).deployment
        for _ in range(5):
            if rng.random() < 0.25 and deployed.queries:
                change = remove_query(world, deployed, rng.choice(deployed.queries))
                assert {m.kind for m in change.moves} <= {"stop", "tighten", "withdraw"}
            else:
                after = change_something(rng, world)
                planner = PreparedWorld(after).planner("exact")
                asked = [q for q in queries if q.name in deployed.queries]
                horizon = rng.choice([None, 1e6])
                change = adapt_deployment(world, after, planner, asked, deployed, horizon)
                world = after
            check(deployed, change, world)
            for move in change.moves:
                seen[move.kind] = seen.get(move.kind, 0) + 1
            deployed = change.deployment
    assert {"start", "stop", "move", "rebuild", "relax", "tighten", "reroute", "withdraw"} <= set(seen), seen


def line_world() -> tuple[World, Subsets]:
    nodes = tuple(NetworkNode(n) for n in "abcd")
    links = (Link("a", "b", 1.0), Link("b", "c", 1.0), Link("c", "d", 1.0))
    streams = tuple(BaseStream(n, at, 10.0) for n, at in (("A", "a"), ("B", "b"), ("C", "c")))
    edges = (Selectivity("A.k", "B.k", 0.1), Selectivity("B.k", "C.k", 0.1), Selectivity("A.k", "C.k", 0.1))
    world = World(Network(nodes, links), Catalog(streams, edges))
    return world, Subsets(world, plain_query("Q", "d", ["A", "B", "C"], [("A.k", "B.k"), ("B.k", "C.k")]))


def tree_of(problem: Subsets, first: int, node: str):
    """(two of A, B, C) first, then the third, all at one node."""
    bases = {e.mask: e for e in problem.bases()}
    leaf = {
        m: PlanLeaf(problem.view_of(m), problem.world.network.names[e.node], e.origin)
        for m, e in bases.items()
    }
    pair = [m for m in leaf if m & first]
    inner = PlanJoin(problem.view_of(first), node, leaf[pair[0]], leaf[pair[1]])
    return QueryPlan("Q", "d", PlanJoin(problem.view_of(7), node, inner, leaf[7 ^ first]), 0.0, "test")


def test_an_operator_with_other_inputs_keeps_no_state():
    """(A ⋈ B) ⋈ C becomes A ⋈ (B ⋈ C) at the same node: same result, other windows, so it is rebuilt."""
    world, problem = line_world()
    old = deploy_plan(EMPTY, tree_of(problem, 0b011, "b"))
    new = keep_names(world, old, deploy_plan(EMPTY, tree_of(problem, 0b110, "b")))
    steps = {(m.kind, m.view) for m in list_moves(world, old, new)}
    assert ("rebuild", "A ⋈ B ⋈ C") in steps
    assert ("start", "B ⋈ C") in steps
    assert ("stop", "A ⋈ B") in steps


def test_the_same_joins_elsewhere_carry_their_state():
    """Every operator moves; inputs of the upper one are the same, wherever they come from now."""
    world, problem = line_world()
    old = deploy_plan(EMPTY, tree_of(problem, 0b011, "b"))
    new = keep_names(world, old, deploy_plan(EMPTY, tree_of(problem, 0b011, "c")))
    moves = [m for m in list_moves(world, old, new) if isinstance(m.new, JoinOperator)]
    assert {(m.kind, m.source, m.target) for m in moves} == {("move", "b", "c")}
    for move in moves:
        state = sum(world.estimate.state(f.view) for f in move.old.feeds)
        assert move.cost == pytest.approx(state * 1.0)


def test_from_a_cut_off_node_nothing_moves():
    """The node is there, but no link leads to it: rebuild, at the price of reading the windows again."""
    world, problem = line_world()
    old = deploy_plan(EMPTY, tree_of(problem, 0b011, "a"))
    network = world.network.with_link("a", "b", up=False)
    catalog = replace(
        world.catalog,
        streams=tuple(replace(s, node="b" if s.node == "a" else s.node) for s in world.catalog.streams),
    )
    after = World(network, catalog)
    new = keep_names(after, old, deploy_plan(EMPTY, tree_of(Subsets(after, problem.query), 0b011, "b")))
    moves = [m for m in list_moves(after, old, new) if isinstance(m.new, JoinOperator)]
    assert {m.kind for m in moves} == {"rebuild"}
    assert all(math.isfinite(m.cost) for m in moves)


def test_two_operators_of_one_view_at_one_node():
    """When the query of one leaves, the other is not relaxed: one stops, nothing else happens to joins."""
    world, problem = line_world()
    plan = tree_of(problem, 0b011, "b")
    both = deploy_plan(deploy_plan(EMPTY, plan), replace(plan, query="R"))
    for name in ("Q", "R"):
        kinds = [m.kind for m in remove_query(world, both, name).moves]
        assert sorted(kinds) == ["stop", "stop", "withdraw"]


def test_moves_read_like_sentences():
    """What, where, and what it costs."""
    world, problem = line_world()
    old = deploy_plan(EMPTY, tree_of(problem, 0b011, "b"))
    new = keep_names(world, old, deploy_plan(EMPTY, tree_of(problem, 0b011, "c")))
    texts = [str(m) for m in list_moves(world, old, new)]
    assert "move A ⋈ B at b → c, 2000 bytes of state, cost 2000.0" in texts
    with pytest.raises(NetworkError):
        exact(world, replace(problem.query, sink="nowhere"))


def test_a_sink_that_others_read_goes_on_under_another_name():
    """Its query comes back with another plan: the old sink is renamed, and who reads it keeps its state."""
    world, problem = line_world()
    plan = tree_of(problem, 0b011, "b")
    first = deploy_plan(EMPTY, plan)
    feed = PlanLeaf(problem.view_of(7), "d", FeedOrigin("sink", "Q"))
    both = deploy_plan(first, QueryPlan("R", "c", feed, 0.0, "test"))
    again = deploy_plan(withdraw_query(both, "Q"), tree_of(problem, 0b110, "c"))
    assert "Q (former)" in again.delivery
    new = keep_names(world, both, again)
    moves = list_moves(world, both, new)
    assert apply_moves(both, moves) == sort_parts(new)
    assert [m.kind for m in moves if m.view == "R"] == []
    assert "rename" in {m.kind for m in moves}
