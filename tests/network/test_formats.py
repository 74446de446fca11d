"""Files in and out: YAML, JSON, generators, real topologies, deployments; and what is said when they are
wrong.
"""

from __future__ import annotations

import json
import random

import pytest
import yaml

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY
from headrace.network.deployment_json import deployment_from_data, deployment_to_data, network_to_data
from headrace.network.distance_metric import DistanceMetric
from headrace.network.exact import exact
from headrace.network.network_files import load_queries, load_world, parse_network
from headrace.network.network_generators import FIVE_REAL, find_network, load_topology, transit_stub
from headrace.network.network_plan import deploy_plan
from headrace.network.topology import COST_MODELS, USAGE, Link, Network, NetworkNode
from headrace.network.workload import enterprise, synthetic

from .worlds import random_query, random_world


def test_transit_stub_is_the_documents():
    """Four transit nodes, four stubs of eight nodes at each: 132 nodes, connected, cheap inside, seeded."""
    network = transit_stub(7)
    assert len(network.nodes) == 4 + 4 * 4 * 8
    assert transit_stub(7) == network != transit_stub(8)
    assert DistanceMetric(network, USAGE).matrix.max() < float("inf")
    inner = [k.latency for k in network.links if k.a[0] == k.b[0] == "s"]
    outer = [k.latency for k in network.links if k.a[0] == k.b[0] == "t"]
    assert max(inner) < min(outer)


@pytest.mark.parametrize("name", FIVE_REAL)
def test_real_topologies(name):
    """Five of topohub's, with latencies from lengths."""
    pytest.importorskip("topohub")
    network = load_topology(name)
    assert len(network.nodes) >= 11
    assert all(k.latency > 0 for k in network.links)
    assert find_network(name).names == network.names


def test_unknown_topology():
    """The message shows what names look like."""
    pytest.importorskip("topohub")
    with pytest.raises(NetworkError, match="topozoo/Abilene"):
        load_topology("topozoo/Nowhere")


@pytest.mark.parametrize("seed", range(15))
def test_deployments_survive_json(seed):
    """A deployment is data: to JSON and back it is the same, filters and all."""
    rng = random.Random(seed)
    world = random_world(rng, 6, 4)
    deployed = EMPTY
    for number in range(4):
        deployed = deploy_plan(deployed, exact(world, random_query(rng, world, f"Q{number}", 3), deployed))
    assert deployment_from_data(json.loads(json.dumps(deployment_to_data(deployed)))) == deployed


def test_networks_survive_json():
    """Capacities, positions and links that are down included."""
    network = Network(
        (NetworkNode("a", 10.0, True, (1.0, 2.0)), NetworkNode("b", hosts=False)),
        (Link("a", "b", 2.0, 3.0, up=False),),
        "n",
    )
    assert parse_network(json.loads(json.dumps(network_to_data(network)))) == network


def test_yaml_and_json_files_are_the_same(tmp_path):
    """A network file in either form."""
    data = {
        "nodes": ["a", {"name": "b", "capacity": 5}],
        "links": [["a", "b", 2.5]],
        "streams": {"S": {"node": "a", "rate": 3, "columns": {"k": {"width": 4, "distinct": 9}, "v": 20}}},
    }
    (tmp_path / "n.yaml").write_text(yaml.safe_dump(data))
    (tmp_path / "n.json").write_text(json.dumps(data))
    one, other = load_world(tmp_path / "n.yaml"), load_world(tmp_path / "n.json")
    assert one == other
    assert one.catalog.stream("S").size == 24


BAD = {
    "nodes: [a, a]\nlinks: []": "declared twice",
    "nodes: [a]\nlinks: [[a, b]]": "not a declared node",
    "nodes: [a]\nlinks: [a]": "expected a link",
    "nodes: [{name: a, colour: red}]\nlinks: []": "unknown entry 'colour'",
    "nodes: [{name: a, capacity: -1}]\nlinks: []": "capacity",
    "nodes: [a]\nlinks: []\nstreams: {S: {node: a}}": "`node` and `rate`",
    "nodes: [a]\nlinks: []\nstreams: {S: {node: z, rate: 1}}": "does not have",
    "nodes: [a]\nlinks: []\nselectivities: {A.k = B.k: 2}": "expected a number 0 to 1",
    "links: []": "list under `nodes`",
    "[1, 2]": "expected a mapping",
    "nodes: [": "not valid YAML",
    "generate: {gt_itm: 1}": "transit_stub",
}


@pytest.mark.parametrize("text", BAD)
def test_wrong_files_say_what_is_wrong(tmp_path, text):
    """File, entry, what was expected."""
    file = tmp_path / "net.yaml"
    file.write_text(text)
    with pytest.raises(NetworkError, match=BAD[text]) as caught:
        load_world(file)
    assert "net.yaml" in str(caught.value)


def test_wrong_queries_say_what_is_wrong(tmp_path):
    """An unknown stream, a missing sink, a predicate without `=`."""
    (tmp_path / "n.yaml").write_text("nodes: [a]\nlinks: []\nstreams: {S: {node: a, rate: 1}}")
    catalog = load_world(tmp_path / "n.yaml").catalog
    for text, message in {
        "queries: [{name: q, sink: a, from: [T]}]": "unknown stream 'T'",
        "queries: [{name: q, from: [S]}]": "`sink` is missing",
        "queries: [{name: q, sink: a, from: [S], join: [S.k]}]": "in `join`",
        "queries: 3": "list under `queries`",
    }.items():
        (tmp_path / "q.yaml").write_text(text)
        with pytest.raises(NetworkError, match=message):
            load_queries(tmp_path / "q.yaml", catalog)
    with pytest.raises(NetworkError, match="cannot read"):
        load_queries(tmp_path / "none.yaml", catalog)


def test_workloads_have_the_documents_shape():
    """100 queries of 2 to 5 joins; 300 queries in the mix 80 / 15 / 5 over the five sources of Fig. 5."""
    _, queries = synthetic(transit_stub(0), 0)
    assert len(queries) == 100
    assert {len(q.inputs) for q in queries} == {3, 4, 5, 6}
    world, asked = enterprise(transit_stub(0), 0)
    kinds = [q.name.split("-")[0] for q in asked]
    assert [kinds.count(k) for k in ("gate", "terminal", "monitor")] == [240, 45, 15]
    assert {s.name: round(s.rate * 60) for s in world.catalog.streams} == {
        "FLIGHTS": 300, "CHECKINS": 240, "BAGGAGE": 500, "WEATHER": 90, "SALES": 70,
    }  # fmt: skip
    assert all(s.size == 100 == sum(c.width for c in s.columns) for s in world.catalog.streams)


def test_other_additive_costs():
    """Price, hops and processing by choice: each planner's cost is that of its deployment under the model."""
    from headrace.network.world import World

    rng = random.Random(2)
    world = random_world(rng, 7, 4)
    query = random_query(rng, world, "Q", 4)
    costs = {}
    for name, model in COST_MODELS.items():
        other = World(world.network, world.catalog, model)
        plan = exact(other, query)
        costs[name] = plan.cost
        assert other.cost(deploy_plan(EMPTY, plan)) == pytest.approx(plan.cost)
    assert len(set(costs.values())) == len(costs)
