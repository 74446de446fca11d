"""Section 2.1 of the document: network N, queries Q1 and Q2, advertised in its own words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.network.bottom_up import bottom_up
from headrace.network.deployment import EMPTY
from headrace.network.exact import exact
from headrace.network.hierarchy import Cluster, Hierarchy
from headrace.network.network_files import load_queries, load_world
from headrace.network.network_plan import PlanJoin, deploy_plan, iterate_joins, list_reused
from headrace.network.world import World

from .worlds import change_capacity

EXAMPLES = Path(__file__).parents[2] / "examples" / "network"


@pytest.fixture
def airline():
    world = load_world(EXAMPLES / "airline.yaml")
    q2, q1 = load_queries(EXAMPLES / "queries.yaml", world.catalog)
    return world, q1, q2


def where(plan) -> dict[str, str]:
    return {str(j.view): j.node for j in iterate_joins(plan.tree)}


def test_by_size_flights_meet_the_weather_first(airline):
    """(FLIGHTS ⋈ WEATHER) at N2, the join with CHECK-INS at N3."""
    world, q1, _ = airline
    assert where(exact(world, q1)) == {"FLIGHTS ⋈ WEATHER": "N2", "CHECKINS ⋈ FLIGHTS ⋈ WEATHER": "N3"}


@pytest.mark.parametrize("trouble", ["N2 overloaded", "link congested"])
def test_network_conditions_change_the_join_order(airline, trouble):
    """With N2 overloaded or flights → N2 gone: FLIGHTS ⋈ CHECK-INS at N1, the join with WEATHER at N3."""
    world, q1, _ = airline
    if trouble == "N2 overloaded":
        network = change_capacity(world.network, "N2", 1.0)
    else:
        network = world.network.with_link("flights", "N2", up=False)
    plan = exact(World(network, world.catalog), q1)
    assert where(plan) == {"CHECKINS ⋈ FLIGHTS": "N1", "CHECKINS ⋈ FLIGHTS ⋈ WEATHER": "N3"}


def test_q1_reuses_the_join_of_q2_with_one_more_column(airline):
    """Q2 runs FLIGHTS ⋈ CHECK-INS at N1; Q1 then takes that order, and DESTN is projected for it as well."""
    world, q1, q2 = airline
    first = exact(world, q2)
    assert where(first) == {"CHECKINS ⋈ FLIGHTS": "N1"}
    deployed = deploy_plan(EMPTY, first)
    second = exact(world, q1, deployed)
    assert [leaf.origin.name for leaf in list_reused(second.tree)] == ["Q2.1"]
    assert where(second) == {"CHECKINS ⋈ FLIGHTS ⋈ WEATHER": "N3"}
    after = deploy_plan(deployed, second)
    columns = {i.name: i.columns for i in after.operator["Q2.1"].view.inputs}
    assert columns == {"FLIGHTS": {"STATUS", "DESTN"}, "CHECKINS": {"STATUS"}}
    assert world.cost(after) - world.cost(deployed) == pytest.approx(second.cost)


def test_far_apart_sinks_duplicate_the_join(airline):
    """When Q2's join is far away, Q1 runs its own instead of reusing it."""
    world, q1, q2 = airline
    far = world.network.with_link("flights", "N1", up=False)
    far = far.with_link("N1", "N3", up=False)
    from headrace.network.topology import Link

    network = replace(far, links=(*far.links, Link("N1", "N3", 200.0), Link("flights", "N1", 2.0)))
    distant = World(network, world.catalog)
    catalog = world.catalog
    moved = World(network, replace(catalog, streams=tuple(
        replace(s, node="N3") if s.name == "CHECKINS" else s for s in catalog.streams)))  # fmt: skip
    deployed = deploy_plan(EMPTY, exact(distant, q2))
    assert list_reused(exact(moved, q1, deployed).tree) == ()


def test_bottom_up_joins_what_is_local_first(airline):
    """Section 3.3: FLIGHTS and CHECK-INS under the sink's cluster are joined there; WEATHER is asked for
    above.
    """
    world, q1, _ = airline
    local = ("N1", "flights", "checkins", "N3", "N4", "Sink4", "Sink3")
    remote = tuple(n for n in world.network.names if n not in local)
    level1 = (Cluster("N3", local), Cluster("N2", remote))
    hierarchy = Hierarchy(8, (level1, (Cluster("N3", ("N3", "N2")),)))
    plan = bottom_up(world, q1, hierarchy)
    assert isinstance(plan.tree, PlanJoin)
    inner = [j for j in iterate_joins(plan.tree) if j is not plan.tree]
    assert [str(j.view) for j in inner] == ["CHECKINS ⋈ FLIGHTS"]
    assert all(j.node in local for j in inner)
    assert inner[0].view.inputs[1].columns == {"STATUS", "DESTN"}  # V_local projects what Q1' joins on
