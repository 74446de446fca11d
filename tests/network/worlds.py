"""Random small worlds and queries for property tests, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.network.join_query import JoinQuery, parse_predicate
from headrace.network.join_view import ViewInput
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics, Selectivity
from headrace.network.stream_filters import NONE, Atom, Condition, StreamFilter
from headrace.network.topology import USAGE, CostModel, Link, Network, NetworkNode
from headrace.network.world import World
from headrace.sql import CreateStream, parse_script


def random_network(rng: random.Random, nodes: int) -> Network:
    names = [f"n{i}" for i in range(nodes)]
    links = [
        Link(names[rng.randrange(i)], names[i], rng.uniform(1, 20), rng.uniform(1, 20))
        for i in range(1, nodes)
    ]
    for _ in range(nodes // 2):
        a, b = rng.sample(names, 2)
        links.append(Link(a, b, rng.uniform(1, 20), rng.uniform(1, 20)))
    return Network(tuple(NetworkNode(n) for n in names), tuple(links))


def random_world(
    rng: random.Random, nodes: int = 4, streams: int = 4, plain: bool = False, costs: CostModel = USAGE
) -> World:
    """Streams S0, S1 …, each with a join column per other stream, a filter column and a payload."""
    network = random_network(rng, nodes)
    names = [f"S{i}" for i in range(streams)]
    found = []
    for name in names:
        columns = tuple(ColumnStatistics(f"k{o}", 4) for o in names if o != name)
        columns += (
            ColumnStatistics("f", 8, distinct=10),
            ColumnStatistics("payload", rng.choice([20, 80, 200])),
        )
        found.append(
            BaseStream(name, rng.choice(network.names), rng.uniform(1, 100), 100, () if plain else columns)
        )
    edges = tuple(
        Selectivity(f"{a}.k{b}", f"{b}.k{a}", rng.uniform(0.001, 0.05))
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    )
    return World(network, Catalog(tuple(found), edges), costs)


def random_query(rng: random.Random, world: World, name: str, size: int, plain: bool = False) -> JoinQuery:
    """A random tree (now and then with one more edge) over `size` of the streams."""
    names = rng.sample([s.name for s in world.catalog.streams], size)
    pairs = {tuple(sorted((names[rng.randrange(i)], names[i]))) for i in range(1, size)}
    if size > 2 and rng.random() < 0.3:
        pairs.add(tuple(sorted(rng.sample(names, 2))))
    predicates = tuple(parse_predicate(f"{a}.k{b}", f"{b}.k{a}") for a, b in sorted(pairs))
    inputs = tuple(ViewInput(n) if plain else _dressed(rng, n) for n in names)
    return JoinQuery(name, rng.choice(world.network.names), inputs, predicates)


def _dressed(rng: random.Random, name: str) -> ViewInput:
    kept: StreamFilter = NONE
    if rng.random() < 0.6:
        values = rng.sample(range(10), rng.randint(1, 3))
        atoms = frozenset(Atom(0.1, str(v)) for v in values)
        kept = StreamFilter((Condition("f", frozenset(("f",)), atoms),))
    return ViewInput(
        name, kept, None, rng.choice([frozenset(("payload",)), frozenset(), frozenset(("f",)), None])
    )


def plain_query(
    name: str,
    sink: str,
    streams: Iterable[str],
    equal: Iterable[tuple[str, str]] = (),
) -> JoinQuery:
    """A query without windows, filters or projection: streams and equated `stream.column`s."""
    predicates = tuple(parse_predicate(a, b) for a, b in equal)
    return JoinQuery(name, sink, tuple(ViewInput(s) for s in streams), predicates)


def catalog_from_sql(script: str, places: Mapping[str, tuple[str, float]]) -> Catalog:
    """Streams as CREATE STREAM declares them, with the node and the rate of each."""
    streams = []
    for statement in parse_script(script):
        if isinstance(statement, CreateStream):
            columns = tuple(
                ColumnStatistics(c.name, 4.0 if c.type.lower() == "int" else 8.0) for c in statement.columns
            )
            size = sum(c.width for c in columns)
            streams.append(BaseStream(statement.name, *places[statement.name], size, columns, statement.on))
    return Catalog(tuple(streams))


def change_rate(catalog: Catalog, name: str, rate: float) -> Catalog:
    streams = tuple(replace(s, rate=rate) if s.name == name else s for s in catalog.streams)
    assert streams != catalog.streams or catalog.stream(name).rate == rate
    return replace(catalog, streams=streams)


def change_capacity(network: Network, name: str, capacity: float) -> Network:
    nodes = tuple(replace(n, capacity=capacity) if n.name == name else n for n in network.nodes)
    return replace(network, nodes=nodes)


def add_node(network: Network, node: NetworkNode, links: Iterable[Link]) -> Network:
    return replace(network, nodes=(*network.nodes, node), links=(*network.links, *links))
