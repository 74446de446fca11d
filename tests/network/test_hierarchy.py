"""Clusters, coordinators, Theorem 1, joins and departures, advertisements."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from headrace.errors import NetworkError
from headrace.network.advertise import gather_advertisements, list_advertisements
from headrace.network.deployment import EMPTY
from headrace.network.distance_metric import DistanceMetric
from headrace.network.exact import exact
from headrace.network.hierarchy import Hierarchy, build_hierarchy, measure_diameters
from headrace.network.membership import add_member, remove_member
from headrace.network.network_generators import transit_stub
from headrace.network.network_plan import deploy_plan
from headrace.network.topology import USAGE, Link, Network, NetworkNode
from headrace.network.workload import synthetic

from .worlds import add_node, random_network


def check(hierarchy: Hierarchy, network: Network) -> None:
    """What always holds: every node once, sizes bounded, coordinators members, one top."""
    members = [m for c in hierarchy.levels[0] for m in c.members]
    assert sorted(members) == sorted(network.names)
    assert len(hierarchy.levels[-1]) == 1
    for i, level in enumerate(hierarchy.levels):
        for cluster in level:
            assert 1 <= len(cluster.members) <= hierarchy.max_cs
            assert cluster.coordinator in cluster.members
        if i + 1 < hierarchy.height:
            above = [m for c in hierarchy.levels[i + 1] for m in c.members]
            assert sorted(above) == sorted(c.coordinator for c in level)


@pytest.mark.parametrize("max_cs", [3, 4, 8, 16, 32, 64, 200])
def test_clusters_are_bounded_and_nested(max_cs):
    """On the document's network, for every max_cs it tries."""
    network = transit_stub(3)
    check(build_hierarchy(network, DistanceMetric(network, USAGE), max_cs), network)


@pytest.mark.parametrize("seed", range(25))
def test_theorem_1(seed):
    """Actual cost ≤ estimate at level l + Σ_{i<l} 2dᵢ, for all pairs and levels; and the same the other
    way.
    """
    rng = random.Random(seed)
    network = random_network(rng, rng.randint(5, 40))
    metric = DistanceMetric(network, USAGE)
    hierarchy = build_hierarchy(network, metric, rng.choice([2, 3, 5, 8]), seed)
    spans = measure_diameters(hierarchy, network, metric)
    for level in range(1, hierarchy.height + 1):
        slack = sum(2 * d for d in spans[: level - 1])
        for a in network.names:
            for b in network.names:
                ends = [network.index[hierarchy.representative(n, level)] for n in (a, b)]
                estimate = metric.between(*ends)
                actual = metric.between(network.index[a], network.index[b])
                assert actual <= estimate + slack + 1e-9
                assert estimate <= actual + slack + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_joins_and_departures_keep_it_up_to_date(seed):
    """A hundred random joins and departures later the hierarchy still holds, and still has its bound."""
    rng = random.Random(seed)
    network = random_network(rng, 12)
    max_cs = rng.choice([2, 3, 5])
    hierarchy = build_hierarchy(network, DistanceMetric(network, USAGE), max_cs)
    for step in range(60):
        if rng.random() < 0.55 or len(network.nodes) < 4:
            name = f"new{step}"
            links = [Link(name, rng.choice(network.names), rng.uniform(1, 20)) for _ in range(2)]
            network = add_node(network, NetworkNode(name), links)
            hierarchy = add_member(hierarchy, network, DistanceMetric(network, USAGE), name)
        else:
            gone = rng.choice(network.names)
            near = [k.b if k.a == gone else k.a for k in network.links if gone in (k.a, k.b)]
            network = network.remove_node(gone)
            for a, b in pairwise(near):  # neighbours stay linked
                if a != b:
                    network = Network(network.nodes, (*network.links, Link(a, b, 5.0)))
            hierarchy = remove_member(hierarchy, network, DistanceMetric(network, USAGE), gone)
        check(hierarchy, network)


def test_a_new_node_enters_the_nearest_cluster():
    """Handed down from the top to the member nearest to it."""
    network = transit_stub(1)
    hierarchy = build_hierarchy(network, DistanceMetric(network, USAGE), 40)
    wider = add_node(network, NetworkNode("x"), [Link("x", "s2.1.3", 0.1)])
    grown = add_member(hierarchy, wider, DistanceMetric(wider, USAGE), "x")
    assert "s2.1.3" in grown.cluster(1, "x").members
    with pytest.raises(NetworkError, match="already"):
        add_member(grown, wider, DistanceMetric(wider, USAGE), "x")


def test_a_coordinator_that_leaves_is_replaced():
    """Its cluster elects another, who takes its place on every level."""
    network = transit_stub(1)
    hierarchy = build_hierarchy(network, DistanceMetric(network, USAGE), 16)
    top = hierarchy.root.coordinator
    smaller = network.remove_node(top)
    after = remove_member(hierarchy, smaller, DistanceMetric(smaller, USAGE), top)
    check(after, smaller)


def test_advertisements_are_gathered_upwards():
    """A coordinator knows exactly the streams at nodes under it, base and derived, and the top knows all."""
    network = transit_stub(2)
    world, queries = synthetic(network, 2, 5)
    deployed = EMPTY
    for query in queries:
        deployed = deploy_plan(deployed, exact(world, query, deployed))
    hierarchy = build_hierarchy(network, world.metric, 16)
    advertised = list_advertisements(world.catalog, deployed)
    assert {a.origin.kind for a in advertised} == {"stream", "operator", "sink"}
    directory = gather_advertisements(hierarchy, advertised)
    assert set(directory.known(hierarchy.height, hierarchy.root.coordinator)) == set(advertised)
    for level, clusters in enumerate(hierarchy.levels, 1):
        for cluster in clusters:
            under = hierarchy.under(level, cluster)
            assert set(directory.known(level, cluster.coordinator)) == {
                a for a in advertised if a.node in under
            }
    assert directory.messages <= len(advertised) * hierarchy.height


def test_max_cs_must_leave_room():
    """A cluster of one would never end."""
    network = transit_stub(0, 2, 1, 2)
    with pytest.raises(NetworkError, match="max_cs"):
        build_hierarchy(network, DistanceMetric(network, USAGE), 1)
