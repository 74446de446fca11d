"""Deployments and networks to plain data and back (JSON), so that they can be kept, sent and compared."""

from __future__ import annotations

import math
from typing import Any

from headrace.errors import NetworkError
from headrace.network.deployment import Deployment, FeedOrigin, JoinOperator, SinkDelivery, ViewFeed
from headrace.network.join_view import JoinPredicate, View, ViewInput
from headrace.network.stream_filters import Atom, Condition, StreamFilter
from headrace.network.topology import Network

VERSION = 1


def deployment_to_data(deployment: Deployment) -> dict[str, Any]:
    return {
        "version": VERSION,
        "operators": [
            {
                "id": o.id,
                "node": o.node,
                "view": view_to_data(o.view),
                "left": _feed_to_data(o.left),
                "right": _feed_to_data(o.right),
            }
            for o in deployment.operators
        ],
        "deliveries": [
            {
                "query": d.query,
                "node": d.node,
                "asked": view_to_data(d.asked),
                "feed": _feed_to_data(d.feed),
                "wanted": d.wanted,
            }
            for d in deployment.deliveries
        ],
    }


def deployment_from_data(data: dict[str, Any]) -> Deployment:
    """A deployment from its data, whole: every feed comes from something that is there."""
    if data.get("version") != VERSION:
        raise NetworkError(f"a deployment of version {data.get('version')!r}; expected {VERSION}")
    found = _deployment_from_data(data)
    for feed, to in found.feeds():
        kind, name = feed.origin.kind, feed.origin.name
        if (kind == "operator" and name not in found.operator) or (
            kind == "sink" and name not in found.delivery
        ):
            raise NetworkError(f"what runs at {to} reads {feed.origin}, which the deployment does not have")
    return found


def _deployment_from_data(data: dict[str, Any]) -> Deployment:
    return Deployment(
        tuple(
            JoinOperator(
                o["id"],
                o["node"],
                view_from_data(o["view"]),
                _feed_from_data(o["left"]),
                _feed_from_data(o["right"]),
            )
            for o in data["operators"]
        ),
        tuple(
            SinkDelivery(
                d["query"], d["node"], view_from_data(d["asked"]), _feed_from_data(d["feed"]), d["wanted"]
            )
            for d in data["deliveries"]
        ),
    )


def _feed_to_data(feed: ViewFeed) -> dict[str, Any]:
    data = {feed.origin.kind: feed.origin.name, "node": feed.node, "view": view_to_data(feed.view)}
    return {**data, "aliases": dict(feed.aliases)} if feed.aliases else data


def _feed_from_data(data: dict[str, Any]) -> ViewFeed:
    kind = next(k for k in ("stream", "operator", "sink") if k in data)
    aliases = tuple(data.get("aliases", {}).items())
    return ViewFeed(FeedOrigin(kind, data[kind]), data["node"], view_from_data(data["view"]), aliases)


def view_to_data(view: View) -> dict[str, Any]:
    inputs = []
    for one in view.inputs:
        item: dict[str, Any] = {"name": one.name}
        if one.filter.conditions:
            item["where"] = [_condition_to_data(c) for c in one.filter.conditions]
        if one.window is not None:
            item["window"] = one.window
        if one.columns is not None:
            item["columns"] = sorted(one.columns)
        inputs.append(item)
    data: dict[str, Any] = {"inputs": inputs}
    if view.predicates:
        data["on"] = [[list(p.left), p.op, list(p.right)] for p in view.predicates]
    if view.slide is not None:
        data["slide"] = view.slide
    return data


def view_from_data(data: dict[str, Any]) -> View:
    inputs = tuple(
        ViewInput(
            i["name"],
            StreamFilter(tuple(_condition_from_data(c) for c in i.get("where", ()))),
            i.get("window"),
            frozenset(i["columns"]) if "columns" in i else None,
        )
        for i in data["inputs"]
    )
    on = tuple(JoinPredicate((a[0], a[1]), (b[0], b[1]), op) for a, op, b in data.get("on", ()))
    return View(inputs, on, data.get("slide"))


def _condition_to_data(condition: Condition) -> dict[str, Any]:
    atoms = []
    for atom in sorted(condition.atoms, key=lambda a: (a.value or "", a.low, a.high)):
        item: dict[str, Any] = {"selectivity": atom.selectivity}
        if atom.value is not None:
            item["value"] = atom.value
        if math.isfinite(atom.low):
            item["above" if atom.low_open else "from"] = atom.low
        if math.isfinite(atom.high):
            item["below" if atom.high_open else "to"] = atom.high
        atoms.append(item)
    return {"expression": condition.expression, "columns": sorted(condition.columns), "any": atoms}


def _condition_from_data(data: dict[str, Any]) -> Condition:
    atoms = frozenset(
        Atom(
            a["selectivity"],
            a.get("value"),
            a.get("above", a.get("from", -math.inf)),
            a.get("below", a.get("to", math.inf)),
            "above" in a,
            "below" in a,
        )
        for a in data["any"]
    )
    return Condition(data["expression"], frozenset(data["columns"]), atoms)


def network_to_data(network: Network) -> dict[str, Any]:
    """In the form `network_files.parse_network` reads."""
    nodes = []
    for n in network.nodes:
        item: dict[str, Any] = {"name": n.name}
        if math.isfinite(n.capacity):
            item["capacity"] = n.capacity
        if not n.hosts:
            item["hosts"] = False
        if n.position is not None:
            item["position"] = list(n.position)
        nodes.append(item)
    links = [{"a": k.a, "b": k.b, "latency": k.latency, "price": k.price, "up": k.up} for k in network.links]
    return {"name": network.name, "nodes": nodes, "links": links}
