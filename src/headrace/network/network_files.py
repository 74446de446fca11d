"""Networks, catalogs and queries from YAML or JSON files; errors say which file and which entry.

name: airline
nodes: [N1, N2, {name: N3, capacity: 500}, {name: Sink4, hosts: false}]
links: [[N1, N2, 2.5], {a: N2, b: N3, latency: 4, price: 1, up: false}]
# or instead of both: generate: {transit_stub: {seed: 1}}, or generate: {topohub: topozoo/Abilene}
streams:
  FLIGHTS: {node: N1, rate: 5, size: 100, columns: {NUM: {width: 4, distinct: 1500}, STATUS: 20, TS: 8}, time: TS}
selectivities: {FLIGHTS.NUM = CHECKINS.FLIGHT: 0.0007}
filters: {FLIGHTS: {DEPARTING = ATLANTA: 0.1}}
sinks: {Q1: Sink4}                                  # where the queries of a .sql file go

queries:
  - name: Q1
    sink: Sink4
    slide: 1 minute
    from: {FLIGHTS: {window: 5 minutes, columns: [STATUS], where: [DEPARTING = ATLANTA]}, CHECKINS: {…}}
    join: [FLIGHTS.NUM = CHECKINS.FLIGHT]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from headrace.errors import NetworkError
from headrace.network.field_checks import (
    check_count,
    check_finite,
    check_list,
    check_mapping,
    check_name,
    check_number,
    check_truth,
)
from headrace.network.filter_text import parse_duration, parse_filter
from headrace.network.join_query import JoinQuery, check_columns, parse_predicate
from headrace.network.join_view import ViewInput
from headrace.network.network_generators import load_topology, transit_stub
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics, Selectivity
from headrace.network.stream_filters import conjoin_conditions
from headrace.network.topology import USAGE, CostModel, Link, Network, NetworkNode
from headrace.network.unique_keys import read_json, read_yaml
from headrace.network.world import World

NETWORK_ENTRIES = {
    "name", "nodes", "links", "generate", "streams", "selectivities", "filters", "sinks", "queries",
}  # fmt: skip


def read_mapping(path: str | Path, entries: str = "`nodes`, `links`, `streams`") -> dict[str, Any]:
    """A YAML or JSON file that holds a mapping."""
    file = Path(path)
    text = read_text(file)
    try:
        data = read_json(text) if file.suffix == ".json" else read_yaml(text)
    except (ValueError, yaml.YAMLError) as problem:
        raise NetworkError(
            f"{file} is not valid {'JSON' if file.suffix == '.json' else 'YAML'}: {problem}"
        ) from None
    if not isinstance(data, dict):
        raise NetworkError(
            f"{file}: expected a mapping with {entries}; got {'nothing' if data is None else type(data).__name__}"
        )
    return data


def read_text(path: str | Path) -> str:
    """A file's text, in UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise NetworkError(f"cannot read {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError as problem:
        raise NetworkError(f"cannot read {path}: not UTF-8 text (byte {problem.start})") from None


def load_world(path: str | Path, costs: CostModel = USAGE) -> World:
    """The network and catalog of a file."""
    data = read_mapping(path)
    try:
        check_mapping(data, "top level", NETWORK_ENTRIES)
        return World(parse_network(data), parse_catalog(data), costs)
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None


def load_queries(path: str | Path, catalog: Catalog) -> list[JoinQuery]:
    """The queries of a file."""
    data = read_mapping(path, "`queries`")
    try:
        found = parse_queries(data, catalog)
        check_mapping(data, "top level", NETWORK_ENTRIES)
        return found
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None


def parse_network(data: Mapping[str, Any]) -> Network:
    """A network from its data, listed or generated."""
    if "generate" in data:
        return _generate(data["generate"])
    for part in ("nodes", "links"):
        if not isinstance(data.get(part), list):
            raise NetworkError(f"expected a list under `{part}`, or a network under `generate`")
    nodes = tuple(_node(n, f"nodes[{i}]") for i, n in enumerate(data["nodes"]))
    links = tuple(_link(n, f"links[{i}]") for i, n in enumerate(data["links"]))
    return Network(nodes, links, check_name(data.get("name", "network"), "name"))


def _generate(recipe: Any) -> Network:
    if not isinstance(recipe, dict) or len(recipe) != 1 or not {"transit_stub", "topohub"} & set(recipe):
        raise NetworkError(f"`generate` takes `transit_stub: {{seed: …}}` or `topohub: NAME`, got {recipe!r}")
    if "topohub" in recipe:
        return load_topology(check_name(recipe["topohub"], "generate.topohub"))
    place = "generate.transit_stub"
    counts = {"seed": 0, "transit": 1, "stubs": 0, "stub_size": 1}
    one = check_mapping(recipe["transit_stub"] or {}, place, {*counts, "density"})
    numbers: dict[str, Any] = {
        k: check_count(one[k], f"{place}.{k}", least) for k, least in counts.items() if k in one
    }
    if "density" in one:
        numbers["density"] = check_number(one["density"], f"{place}.density", 0, 1)
    return transit_stub(**numbers)


def _node(data: Any, place: str) -> NetworkNode:
    if not isinstance(data, dict):
        return NetworkNode(check_name(data, place))
    one = check_mapping(data, place, {"name", "capacity", "hosts", "position"})
    name = check_name(one.get("name"), f"{place}.name")
    place = f"node {name}"
    capacity = check_number(one.get("capacity", math.inf), f"{place}, capacity")
    hosts = check_truth(one.get("hosts", True), f"{place}, hosts")
    position = None
    if one.get("position") is not None:
        at = check_list(one["position"], f"{place}, position")
        if len(at) != 2:
            raise NetworkError(f"{place}, position: expected two numbers [x, y]; got {at!r}")
        x, y = (check_number(v, f"{place}, position", -math.inf) for v in at)
        position = (x, y)
    return NetworkNode(name, capacity, hosts, position)


def _link(data: Any, place: str) -> Link:
    if isinstance(data, list) and 2 <= len(data) <= 4:
        data = dict(zip(("a", "b", "latency", "price"), data, strict=False))
    if not isinstance(data, dict) or not {"a", "b"} <= set(data):
        raise NetworkError(
            f"{place}: expected a link as [a, b, latency] or {{a: …, b: …, latency: …}}, got {data!r}"
        )
    one = check_mapping(data, place, {"a", "b", "latency", "price", "up"})
    a, b = (check_name(one[end], f"{place}.{end}") for end in ("a", "b"))
    place = f"link {a} - {b}"
    latency = check_finite(one.get("latency", 1.0), f"{place}, latency")
    price = check_finite(one.get("price", latency), f"{place}, price")
    return Link(a, b, latency, price, check_truth(one.get("up", True), f"{place}, up"))


def parse_catalog(data: Mapping[str, Any]) -> Catalog:
    """Streams, selectivities and filters from their data."""
    streams = tuple(_stream(name, one) for name, one in _section(data, "streams").items())
    edges = []
    for text, value in _section(data, "selectivities").items():
        left, equals, right = text.partition("=")
        if not equals:
            raise NetworkError(f"selectivity of {text!r}: expected `stream.column = stream.column`")
        share = check_number(value, f"selectivity of {text}", 0, 1)
        edges.append(Selectivity(left.strip(), right.strip(), share))
    filters = [
        (stream, text, check_number(value, f"filters.{stream}, {text!r}", 0, 1))
        for stream, texts in _section(data, "filters").items()
        for text, value in check_mapping(texts, f"filters.{stream}").items()
    ]
    return Catalog(streams, tuple(edges), tuple(filters))


def parse_sinks(data: Mapping[str, Any]) -> dict[str, str]:
    """Where the queries of a .sql file go, by query name."""
    return {q: check_name(node, f"sinks.{q}") for q, node in _section(data, "sinks").items()}


def _section(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    return check_mapping(data.get(name) or {}, name)


def _stream(name: str, data: Any) -> BaseStream:
    place = f"stream {name}"
    one = check_mapping(data, place, {"node", "rate", "size", "columns", "time"})
    if "node" not in one or "rate" not in one:
        raise NetworkError(f"stream {name!r}: expected `node` and `rate` (tuples per second)")
    listed = check_mapping(one.get("columns") or {}, f"{place}, columns")
    columns = tuple(_column(place, c, d) for c, d in listed.items())
    size = check_finite(one.get("size", sum(c.width for c in columns) or 100.0), f"{place}, size", above=True)
    node = check_name(one["node"], f"{place}, node")
    time = None if one.get("time") is None else check_name(one["time"], f"{place}, time")
    return BaseStream(name, node, check_finite(one["rate"], f"{place}, rate"), size, columns, time)


def _column(stream: str, name: str, data: Any) -> ColumnStatistics:
    place = f"{stream}, column {name}"
    if not isinstance(data, dict) and data is not None:
        return ColumnStatistics(name, check_finite(data, place))
    one = check_mapping(data or {}, place, {"width", "distinct", "low", "high"})
    numbers = {
        k: check_finite(v, f"{place}, {k}", -math.inf if k in ("low", "high") else 0, k == "distinct")
        for k, v in one.items()
    }
    if numbers.get("low", 0.0) > numbers.get("high", math.inf):
        raise NetworkError(f"{place}: low {numbers['low']:g} is above high {numbers['high']:g}")
    return ColumnStatistics(name, **numbers)


def parse_queries(data: Mapping[str, Any], catalog: Catalog) -> list[JoinQuery]:
    listed = data.get("queries")
    if not isinstance(listed, list):
        raise NetworkError("expected a list under `queries`")
    found = [_query(one, f"queries[{i}]", catalog) for i, one in enumerate(listed)]
    names = [q.name for q in found]
    twice = [n for n in names if names.count(n) > 1]
    if twice:
        raise NetworkError(f"query {twice[0]!r} is there twice; give each query its own name")
    return found


def _query(data: Any, place: str, catalog: Catalog) -> JoinQuery:
    one = check_mapping(data, place, {"name", "sink", "slide", "from", "join"})
    for part in ("name", "sink", "from"):
        if one.get(part) is None:
            raise NetworkError(f"query {one.get('name', place)!r}: `{part}` is missing")
    name = check_name(one["name"], f"{place}.name")
    place = f"query {name}"
    sources = one["from"]
    if isinstance(sources, list):
        sources = {check_name(s, f"{place}, from"): None for s in sources}
    inputs = tuple(_input(n, d, place, catalog) for n, d in check_mapping(sources, f"{place}, from").items())
    predicates = []
    for text in check_list(one.get("join", []), f"{place}, join"):
        left, equals, right = str(text).partition("=")
        if not equals or "=" in right or set("<>!") & set(str(text)):
            raise NetworkError(
                f"query {name!r}: expected `input.column = input.column` in `join`, got {text!r}"
            )
        predicates.append(parse_predicate(left.strip(), right.strip()))
    slide = None if one.get("slide") is None else _duration(one["slide"], f"{place}, slide")
    query = JoinQuery(name, check_name(one["sink"], f"{place}, sink"), inputs, tuple(predicates), slide)
    check_columns(catalog, query)
    return query


def _input(name: str, data: Any, query: str, catalog: Catalog) -> ViewInput:
    place = f"{query}, input {name}"
    one = check_mapping(data or {}, place, {"window", "columns", "where"})
    stream = name.partition("#")[0]
    catalog.stream(stream)
    try:
        texts = check_list(one.get("where") or [], f"{place}, where")
        where = conjoin_conditions(parse_filter(catalog, stream, str(text)) for text in texts)
    except NetworkError as problem:
        raise NetworkError(f"{place}: {problem}") from None
    columns = None
    if one.get("columns") is not None:
        listed = check_list(one["columns"], f"{place}, columns")
        columns = frozenset(check_name(c, f"{place}, columns") for c in listed)
    window = None if one.get("window") is None else _duration(one["window"], f"{place}, window")
    return ViewInput(name, where, window, columns)


def _duration(value: Any, place: str) -> float:
    try:
        return parse_duration(value)
    except NetworkError as problem:
        raise NetworkError(f"{place}: {problem}") from None
