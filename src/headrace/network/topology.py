"""The network: sites, the links between them, and what a unit of data costs on its way.

A network is data: nodes and undirected links, frozen. A node may limit the tuples per second its operators
take in (`capacity`) or host no operators at all (`hosts=False`: a display, a sensor). A link has a latency, a
price and an up/down state. What a unit of data costs on a link is an additive *cost model*, chosen apart from
the network; the default is the document's network usage, rate × latency (004, section 2.2). Additive is all
the planners need: costs along a path and over the edges of a plan are summed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from headrace.errors import NetworkError


@dataclass(frozen=True)
class NetworkNode:
    """A site. `capacity` is in tuples per second taken in by the operators it hosts."""

    name: str
    capacity: float = math.inf
    hosts: bool = True
    position: tuple[float, float] | None = None


@dataclass(frozen=True)
class Link:
    """An undirected link; the same latency and price in both directions."""

    a: str
    b: str
    latency: float = 1.0
    price: float = 1.0
    up: bool = True

    def joins(self, a: str, b: str) -> bool:
        return {self.a, self.b} == {a, b}


@dataclass(frozen=True)
class CostModel:
    """Weights of the additive costs: per unit of data and link, and per tuple taken in by an operator.

    `unit` says what is summed over links: bytes per second, or tuples per second (every tuple the same size).
    """

    latency: float = 1.0
    price: float = 0.0
    hops: float = 0.0
    processing: float = 0.0
    unit: Literal["bytes", "tuples"] = "bytes"

    def weight(self, link: Link) -> float:
        return self.latency * link.latency + self.price * link.price + self.hops


USAGE = CostModel()
COST_MODELS = {
    "usage": USAGE,
    "price": CostModel(latency=0.0, price=1.0),
    "hops": CostModel(latency=0.0, hops=1.0),
    "tuples": CostModel(unit="tuples"),
    "usage+processing": CostModel(processing=1.0),
}


@dataclass(frozen=True)
class Network:
    """Nodes and links. Every change gives a new network."""

    nodes: tuple[NetworkNode, ...]
    links: tuple[Link, ...]
    name: str = field(default="network", compare=False)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for node in self.nodes:
            if node.name in seen:
                raise NetworkError(
                    f"network {self.name!r}: node {node.name!r} is declared twice; give each its own name"
                )
            if node.capacity < 0 or math.isnan(node.capacity):
                raise NetworkError(
                    f"network {self.name!r}: node {node.name!r} has capacity {node.capacity};"
                    " expected a number of tuples per second of at least 0"
                )
            seen.add(node.name)
        for link in self.links:
            for end in (link.a, link.b):
                if end not in seen:
                    raise NetworkError(
                        f"network {self.name!r}: link {link.a} - {link.b} ends at {end!r},"
                        " which is not a declared node; declare it under `nodes`"
                    )
            if not (0 <= link.latency < math.inf and 0 <= link.price < math.inf):
                raise NetworkError(
                    f"network {self.name!r}: link {link.a} - {link.b} has latency {link.latency} and"
                    f" price {link.price}; expected finite numbers of at least 0"
                )

    @cached_property
    def index(self) -> dict[str, int]:
        return {node.name: i for i, node in enumerate(self.nodes)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)

    @property
    def live_links(self) -> tuple[Link, ...]:
        return tuple(link for link in self.links if link.up)

    def at(self, name: str) -> int:
        """The index of a node, or an error which names what is near it."""
        try:
            return self.index[name]
        except KeyError:
            raise NetworkError(
                f"network {self.name!r} has no node {name!r}; it has {_some(self.names)}"
            ) from None

    def remove_node(self, name: str) -> Network:
        """The network after a node left or failed: it and its links are gone."""
        self.at(name)
        return replace(
            self,
            nodes=tuple(n for n in self.nodes if n.name != name),
            links=tuple(link for link in self.links if name not in (link.a, link.b)),
        )

    def with_link(self, a: str, b: str, up: bool) -> Network:
        """The network with the links between two nodes up or down."""
        if not any(link.joins(a, b) for link in self.links):
            raise NetworkError(f"network {self.name!r} has no link {a} - {b}")
        links = tuple(replace(link, up=up) if link.joins(a, b) else link for link in self.links)
        return replace(self, links=links)


def _some(names: Iterable[str], most: int = 8) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f", … ({len(listed)} in all)" if len(listed) > most else "")
