"""Networks, catalogs and queries from YAML or JSON files; errors say which file and which entry.

name: airline nodes: [N1, N2, {name: N3, capacity: 500}, {name: Sink4, hosts: false}]     # or: generate:
{transit_stub: {seed: 1}} links: [[N1, N2, 2.5], {a: N2, b: N3, latency: 4, price: 1, up: false}]     # or:
generate: {topohub: topozoo/Abilene} streams: FLIGHTS: {node: N1, rate: 5, size: 100, columns: {NUM: {width:
4, distinct: 1500}, STATUS: 20}} selectivities: {FLIGHTS.NUM = CHECKINS.FLIGHT: 0.0007} filters: {FLIGHTS:
{DEPARTING = ATLANTA: 0.1}} sinks: {Q1: Sink4}                                                          #
where the queries of a .sql file go

queries:
- {name: Q1, sink: Sink4, slide: 1 minute, join: [FLIGHTS.NUM = CHECKINS.FLIGHT], from: {FLIGHTS: {window: 5
  minutes, columns: [STATUS], where: [DEPARTING = ATLANTA]}, CHECKINS: {…}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from headrace.errors import NetworkError
from headrace.network.filter_text import parse_duration, parse_filter
from headrace.network.join_query import JoinQuery, parse_predicate
from headrace.network.join_view import ViewInput
from headrace.network.network_generators import load_topology, transit_stub
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics, Selectivity
from headrace.network.stream_filters import conjoin_conditions
from headrace.network.topology import USAGE, CostModel, Link, Network, NetworkNode
from headrace.network.world import World


def read_mapping(path: str | Path) -> dict[str, Any]:
    """A YAML or JSON file that holds a mapping."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as problem:
        raise NetworkError(f"cannot read {file}: {problem.strerror or problem}") from None
    try:
        data = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as problem:
        raise NetworkError(
            f"{file} is not valid {'JSON' if file.suffix == '.json' else 'YAML'}: {problem}"
        ) from None
    if not isinstance(data, dict):
        raise NetworkError(
            f"{file}: expected a mapping with `nodes`, `links`, `streams`; got {type(data).__name__}"
        )
    return data


def load_world(path: str | Path, costs: CostModel = USAGE) -> World:
    """The network and catalog of a file."""
    data = read_mapping(path)
    try:
        return World(parse_network(data), parse_catalog(data), costs)
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None


def load_queries(path: str | Path, catalog: Catalog) -> list[JoinQuery]:
    """The queries of a file."""
    data = read_mapping(path)
    try:
        return parse_queries(data, catalog)
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None


def parse_network(data: Mapping[str, Any]) -> Network:
    """A network from its data, listed or generated."""
    if "generate" in data:
        recipe = data["generate"]
        if not isinstance(recipe, dict) or len(recipe) != 1 or not {"transit_stub", "topohub"} & set(recipe):
            raise NetworkError(
                f"`generate` takes `transit_stub: {{seed: …}}` or `topohub: NAME`, got {recipe!r}"
            )
        return (
            transit_stub(**(recipe["transit_stub"] or {}))
            if "transit_stub" in recipe
            else load_topology(recipe["topohub"])
        )
    for part in ("nodes", "links"):
        if not isinstance(data.get(part), list):
            raise NetworkError(f"expected a list under `{part}`, or a network under `generate`")
    nodes = tuple(_node(n) for n in data["nodes"])
    links = tuple(_link(n) for n in data["links"])
    return Network(nodes, links, str(data.get("name", "network")))


def _node(data: Any) -> NetworkNode:
    if not isinstance(data, dict):
        return NetworkNode(str(data))
    known = {"name", "capacity", "hosts", "position"}
    _only(data, known, "node")
    at = data.get("position")
    position = None if at is None else (float(at[0]), float(at[1]))
    return NetworkNode(
        str(data["name"]), float(data.get("capacity", "inf")), bool(data.get("hosts", True)), position
    )


def _link(data: Any) -> Link:
    if isinstance(data, (list, tuple)) and 2 <= len(data) <= 4:
        numbers = [float(x) for x in data[2:]]
        latency = numbers[0] if numbers else 1.0
        return Link(str(data[0]), str(data[1]), latency, numbers[1] if len(numbers) > 1 else latency)
    if not isinstance(data, dict) or not {"a", "b"} <= set(data):
        raise NetworkError(f"expected a link as [a, b, latency] or {{a: …, b: …, latency: …}}, got {data!r}")
    _only(data, {"a", "b", "latency", "price", "up"}, "link")
    latency = float(data.get("latency", 1.0))
    return Link(
        str(data["a"]), str(data["b"]), latency, float(data.get("price", latency)), bool(data.get("up", True))
    )


def parse_catalog(data: Mapping[str, Any]) -> Catalog:
    streams = []
    for name, one in (data.get("streams") or {}).items():
        _only(one, {"node", "rate", "size", "columns"}, f"stream {name}")
        if "node" not in one or "rate" not in one:
            raise NetworkError(f"stream {name!r}: expected `node` and `rate` (tuples per second)")
        columns = tuple(_column(str(c), d) for c, d in (one.get("columns") or {}).items())
        size = float(one.get("size", sum(c.width for c in columns) or 100.0))
        streams.append(BaseStream(str(name), str(one["node"]), float(one["rate"]), size, columns))
    edges = []
    for text, value in (data.get("selectivities") or {}).items():
        left, equals, right = str(text).partition("=")
        if not equals:
            raise NetworkError(f"selectivity of {text!r}: expected `stream.column = stream.column`")
        edges.append(Selectivity(left.strip(), right.strip(), float(value)))
    filters = [
        (str(s), str(t), float(v))
        for s, texts in (data.get("filters") or {}).items()
        for t, v in texts.items()
    ]
    return Catalog(tuple(streams), tuple(edges), tuple(filters))


def _column(name: str, data: Any) -> ColumnStatistics:
    if isinstance(data, (int, float)):
        return ColumnStatistics(name, float(data))
    data = data or {}
    _only(data, {"width", "distinct", "low", "high"}, f"column {name}")
    numbers = {k: float(v) for k, v in data.items()}
    return ColumnStatistics(name, **numbers)


def parse_queries(data: Mapping[str, Any], catalog: Catalog) -> list[JoinQuery]:
    listed = data.get("queries")
    if not isinstance(listed, list):
        raise NetworkError("expected a list under `queries`")
    return [_query(one, catalog) for one in listed]


def _query(data: dict[str, Any], catalog: Catalog) -> JoinQuery:
    _only(data, {"name", "sink", "slide", "from", "join"}, f"query {data.get('name')}")
    for part in ("name", "sink", "from"):
        if part not in data:
            raise NetworkError(f"query {data.get('name')!r}: `{part}` is missing")
    inputs = []
    sources = data["from"]
    for name, one in sources.items() if isinstance(sources, dict) else ((s, None) for s in sources):
        one = one or {}
        _only(one, {"window", "columns", "where"}, f"query {data['name']}, input {name}")
        stream = str(name).partition("#")[0]
        catalog.stream(stream)
        where = conjoin_conditions(parse_filter(catalog, stream, str(text)) for text in one.get("where", ()))
        columns = frozenset(map(str, one["columns"])) if "columns" in one else None
        window = None if one.get("window") is None else parse_duration(one["window"])
        inputs.append(ViewInput(str(name), where, window, columns))
    predicates = []
    for text in data.get("join", ()):
        left, equals, right = str(text).partition("=")
        if not equals:
            raise NetworkError(
                f"query {data['name']!r}: expected `input.column = input.column` in `join`, got {text!r}"
            )
        predicates.append(parse_predicate(left.strip(), right.strip()))
    slide = None if data.get("slide") is None else parse_duration(data["slide"])
    return JoinQuery(str(data["name"]), str(data["sink"]), tuple(inputs), tuple(predicates), slide)


def _only(data: Any, known: set[str], what: str) -> None:
    if not isinstance(data, dict):
        raise NetworkError(f"{what}: expected a mapping with {', '.join(sorted(known))}; got {data!r}")
    strange = sorted(set(map(str, data)) - known)
    if strange:
        raise NetworkError(f"{what}: unknown entry {strange[0]!r}; known are {', '.join(sorted(known))}")
