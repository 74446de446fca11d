"""Each planner: its plans are what they say, within the document's bounds, and never better than the
optimum.
"""

from __future__ import annotations

import math
import random
from contextlib import suppress
from dataclasses import replace

import pytest
from benchmarks.network.baselines import ALL_PLANNERS
from benchmarks.network.baselines import COMPARED_PLANNERS as COMPARED

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY
from headrace.network.exact import exact
from headrace.network.hierarchy import measure_diameters
from headrace.network.network_generators import transit_stub
from headrace.network.network_plan import deploy_plan, iterate_joins, iterate_leaves
from headrace.network.npc import estimate_costs
from headrace.network.planners import PreparedWorld
from headrace.network.search_space import count_covers, count_orders, count_plans
from headrace.network.subsets import Entry, Subsets
from headrace.network.workload import synthetic
from headrace.network.world import World

from .worlds import plain_query, random_query, random_world


@pytest.mark.parametrize("algorithm", COMPARED)
def test_plans_add_what_they_say_and_no_less_than_the_optimum(algorithm):
    """On random worlds, with filters, projections and reuse."""
    for seed in range(15):
        rng = random.Random(seed)
        world = random_world(rng, 14, 5)
        planner = PreparedWorld(world, rng.choice([2, 4, 8]), planners=ALL_PLANNERS).planner(algorithm)
        deployed = EMPTY
        for number in range(4):
            query = random_query(rng, world, f"Q{number}", rng.randint(1, 5))
            plan = planner(query, deployed)
            assert plan.cost >= exact(world, query, deployed).cost * (1 - 1e-9) - 1e-9
            after = deploy_plan(deployed, plan)
            assert world.cost(after) - world.cost(deployed) == pytest.approx(plan.cost, abs=1e-6)
            assert {n for leaf in iterate_leaves(plan.tree) for n in leaf.view.names} == {
                i.name for i in query.inputs
            }
            deployed = after


@pytest.mark.parametrize("algorithm", ["top-down", "bottom-up", "npc"])
def test_one_cluster_is_the_optimum(algorithm):
    """With max_cs as large as the network there is one coordinator, who knows everything."""
    for seed in range(10):
        rng = random.Random(seed)
        world = random_world(rng, 10, 4)
        prepared = PreparedWorld(world, 10, planners=ALL_PLANNERS)
        query = random_query(rng, world, "Q", 4)
        assert prepared.planner(algorithm)(query, EMPTY).cost == pytest.approx(exact(world, query).cost)


def test_lemma_1():
    """The document's own numbers: 64 and 128 nodes, five streams; four streams in a 57-node cluster."""
    assert count_plans(5, 64) == pytest.approx(3.02e9, rel=0.01)
    assert count_plans(5, 128) == pytest.approx(4.83e10, rel=0.01)
    assert count_plans(4, 57) == pytest.approx(3.3e6, rel=0.02)
    assert [count_orders(k) for k in (1, 2, 3, 4, 5)] == [1, 1, 3, 18, 180]


def test_covers_count_the_ways_to_use_derived_streams():
    """Three base streams and two copies of a derived pair: one cover of three inputs, two of two."""
    from headrace.network.deployment import FeedOrigin

    entries = [Entry(m, 0, 0.0, FeedOrigin("stream", str(m))) for m in (1, 2, 4)]
    entries += [Entry(3, n, 0.0, FeedOrigin("operator", str(n))) for n in (0, 1)]
    assert count_covers(7, entries) == {3: 1, 2: 2}


@pytest.mark.parametrize("max_cs", [4, 8, 16, 32])
def test_theorems_2_and_4(max_cs):
    """Top-Down and Bottom-Up (and NPC) examine at most β times the exhaustive search space."""
    world, queries = synthetic(transit_stub(5), 5, 25)
    prepared = PreparedWorld(world, max_cs, reuse=False, planners=ALL_PLANNERS)
    for query in queries:
        most = prepared.hierarchy.height * count_plans(len(query.inputs), max_cs)
        for algorithm in ("top-down", "bottom-up", "npc"):
            assert prepared.planner(algorithm)(query, EMPTY).examined <= most


def _edges(world: World, tree) -> float:
    """Σ of the rates on the edges of a tree."""
    views = [leaf.view for leaf in iterate_leaves(tree)] + [j.view for j in iterate_joins(tree)]
    return sum(world.flow(v) for v in views)


@pytest.mark.parametrize("seed", range(30))
def test_theorem_3(seed):
    """Top-Down's excess is at most Σ over the edges of its tree of Σ_{i<h} 2dᵢ × rate."""
    rng = random.Random(seed)
    world = random_world(rng, rng.randint(8, 30), 5, plain=True)
    prepared = PreparedWorld(world, rng.choice([2, 3, 4, 6]), seed, reuse=False, planners=ALL_PLANNERS)
    spans = measure_diameters(prepared.hierarchy, world.network, world.metric)
    slack = sum(2 * d for d in spans[:-1])
    for number in range(5):
        query = random_query(rng, world, f"Q{number}", rng.randint(2, 5), plain=True)
        plan = prepared.planner("top-down")(query, EMPTY)
        best = exact(world, query, reuse=False)
        # The proof needs the estimate of the optimal tree too: the edges of both trees bound it for certain.
        assert plan.cost - best.cost <= slack * (_edges(world, plan.tree) + _edges(world, best.tree)) + 1e-9
        assert plan.cost - best.cost <= slack * _edges(world, plan.tree) + 1e-9


def test_npc_weighs_now_against_later():
    """Γ grows with the flow of what is remote, Ω with the flow of the result; at the top nothing is left to
    wait for.
    """
    from headrace.network.descend import Descent

    world, queries = synthetic(transit_stub(1), 1, 5)
    prepared = PreparedWorld(world, 16, planners=ALL_PLANNERS)
    problem = Subsets(world, queries[0])
    descent = Descent(problem, prepared.hierarchy, [], world.spare(EMPTY))
    cluster = prepared.hierarchy.ancestor(queries[0].sink, 1)
    now, later = estimate_costs(descent, prepared.spans, 1, cluster, 1, 10.0)
    reach = later / problem.flow(problem.full)
    remote = sum(problem.flow(p) for p in problem.components(problem.full & ~1))
    assert now == pytest.approx(10.0 + remote * reach)
    assert 0 < reach <= max(prepared.spans)
    top = prepared.hierarchy.height
    assert estimate_costs(descent, prepared.spans, top, prepared.hierarchy.root, 1, 10.0) == (10.0, 0.0)


@pytest.mark.parametrize("algorithm", COMPARED)
def test_capacities_are_kept_by_every_planner(algorithm):
    """Nodes that can hold one join: no planner puts more on them; where nothing fits, all say so."""
    for seed in range(8):
        rng = random.Random(seed)
        world = random_world(rng, 10, 5, plain=True)
        nodes = tuple(replace(n, capacity=rng.choice([math.inf, 200, 120, 60])) for n in world.network.nodes)
        world = World(replace(world.network, nodes=nodes), world.catalog)
        planner = PreparedWorld(world, 4, planners=ALL_PLANNERS).planner(algorithm)
        deployed = EMPTY
        for number in range(4):
            query = random_query(rng, world, f"Q{number}", rng.randint(2, 4), plain=True)
            with suppress(NetworkError):  # what does not fit is refused
                deployed = deploy_plan(deployed, planner(query, deployed))
        for load, node in zip(world.loads(deployed), nodes, strict=True):
            assert load <= node.capacity * (1 + 1e-9)
    none = World(replace(world.network, nodes=tuple(replace(n, hosts=False) for n in nodes)), world.catalog)
    with pytest.raises(NetworkError, match="cannot be placed"):
        PreparedWorld(none, 4, planners=ALL_PLANNERS).planner(algorithm)(
            random_query(random.Random(1), none, "Q", 3, plain=True), EMPTY
        )


def test_clear_errors():
    """An unreachable source, an unknown stream, an unknown sink, an unknown planner."""
    rng = random.Random(0)
    world = random_world(rng, 6, 3, plain=True)
    query = random_query(rng, world, "Q", 3, plain=True)
    cut = world.network
    source = world.catalog.streams[0].node
    other = next(n for n in cut.names if n != source)
    for link in cut.links:
        if source in (link.a, link.b):
            cut = cut.with_link(link.a, link.b, up=False)
    lonely = World(cut, world.catalog)
    with pytest.raises(NetworkError, match="cannot reach sink"):
        exact(lonely, replace(query, sink=other))
    with pytest.raises(NetworkError, match=r"unknown stream 'XX'.*S0, S1, S2"):
        exact(world, replace(query, inputs=(replace(query.inputs[0], name="XX"),), predicates=()))
    with pytest.raises(NetworkError, match="no node 'nowhere'"):
        exact(world, replace(query, sink="nowhere"))
    with pytest.raises(NetworkError, match="no planner is called 'magic'"):
        PreparedWorld(world, planners=ALL_PLANNERS).planner("magic")


def test_cross_products_only_where_needed():
    """Two unconnected pairs are joined inside first and multiplied last; asked for, all orders are tried."""
    world = random_world(random.Random(3), 5, 4, plain=True)
    asked = plain_query("Q", "n0", ["S0", "S1", "S2", "S3"], [("S0.kS1", "S1.kS0"), ("S2.kS3", "S3.kS2")])
    problem = Subsets(world, asked)
    assert len([m for m in problem.sensible if m.bit_count() == 2]) == 2
    assert exact(world, asked, cross_products=True).cost <= exact(world, asked).cost


@pytest.mark.parametrize("algorithm", COMPARED)
def test_a_query_whose_sink_is_gone_is_named(algorithm):
    """Whatever plans it: which query, which node, and what to do."""
    rng = random.Random(0)
    world = random_world(rng, 6, 3)
    query = replace(random_query(rng, world, "Q7", 2), sink="n9")
    with pytest.raises(NetworkError, match=r"query 'Q7' goes to the node 'n9', which .* Give the query another sink, or remove it"):
        PreparedWorld(world, planners=ALL_PLANNERS).planner(algorithm)(query, EMPTY)
