"""Networks to try things on: transit-stub as the document's (section 4.1), and real ones.

The document's generator (GT-ITM) makes one transit domain of four nodes, and at each of them four stub
domains of eight nodes: 4 + 128 nodes. Links within a stub are cheap, to the backbone dearer, on the backbone
dearest.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from headrace.errors import NetworkError
from headrace.network.topology import Link, Network, NetworkNode

STUB, ACCESS, TRANSIT = (1.0, 5.0), (5.0, 15.0), (20.0, 60.0)
FIVE_REAL = (
    "topozoo/Abilene",
    "topozoo/Geant2012",
    "topozoo/AttMpls",
    "topozoo/TataNld",
    "caida/2024-08/7018",
)


def transit_stub(
    seed: int = 0, transit: int = 4, stubs: int = 4, stub_size: int = 8, density: float = 0.3
) -> Network:
    """One transit domain of `transit` nodes, `stubs` stub domains of `stub_size` nodes at each of them."""
    rng = random.Random(seed)
    backbone = [f"t{i}" for i in range(transit)]
    nodes, links = list(backbone), list(_domain(rng, backbone, TRANSIT, 0.6))
    for i, gateway in enumerate(backbone):
        for j in range(stubs):
            members = [f"s{i}.{j}.{k}" for k in range(stub_size)]
            nodes += members
            links += _domain(rng, members, STUB, density)
            links.append(_link(rng, gateway, rng.choice(members), ACCESS))
    return Network(tuple(NetworkNode(n) for n in nodes), tuple(links), f"transit-stub-{len(nodes)}-{seed}")


def _domain(
    rng: random.Random, members: list[str], span: tuple[float, float], density: float
) -> Iterator[Link]:
    """A connected random graph: a random tree and further links with the given probability."""
    linked = set()
    for i in range(1, len(members)):
        j = rng.randrange(i)
        linked.add((j, i))
        yield _link(rng, members[j], members[i], span)
    for i in range(len(members)):
        for j in range(i):
            if (j, i) not in linked and rng.random() < density:
                yield _link(rng, members[j], members[i], span)


def _link(rng: random.Random, a: str, b: str, span: tuple[float, float]) -> Link:
    latency = round(rng.uniform(*span), 3)
    return Link(a, b, latency=latency, price=latency)


def load_topology(name: str) -> Network:
    """A topology of PyPI `topohub`, such as `topozoo/Abilene`; latency is link length at 200 km per ms."""
    try:
        import topohub
    except ImportError:
        raise NetworkError(
            "real topologies come from the package topohub: install headrace[network]"
        ) from None
    try:
        data = topohub.get(name)
    except KeyError:
        raise NetworkError(
            f"topohub has no topology {name!r}; names look like {', '.join(FIVE_REAL)}, sndlib/germany50"
        ) from None
    labels: dict[object, str] = {}
    for node in data["nodes"]:
        label = str(node.get("name") or node["id"])
        labels[node["id"]] = label if label not in labels.values() else f"{label}~{node['id']}"
    nodes = tuple(NetworkNode(labels[n["id"]], position=_position(n)) for n in data["nodes"])
    links = []
    for edge in data["edges"]:
        latency = max(0.05, float(edge.get("dist") or 0.0) / 200.0)
        links.append(Link(labels[edge["source"]], labels[edge["target"]], latency=latency, price=latency))
    return Network(nodes, tuple(links), name)


def _position(node: dict[str, object]) -> tuple[float, float] | None:
    at = node.get("pos")
    if isinstance(at, (list, tuple)) and len(at) == 2:
        return float(at[0]), float(at[1])
    return None


def find_network(name: str, seed: int = 0) -> Network:
    """A network by name: `transit-stub`, `transit-stub:TRANSITxSTUBSxSIZE` or a topohub name."""
    if name.startswith("transit-stub"):
        _, _, shape = name.partition(":")
        if not shape:
            return transit_stub(seed)
        if not re.fullmatch(r"[1-9]\d*x\d+x[1-9]\d*", shape):
            raise NetworkError(
                f"network {name!r}: expected transit-stub:TRANSITxSTUBSxSIZE, such as transit-stub:4x4x8"
            )
        transit, stubs, size = (int(part) for part in shape.split("x"))
        return transit_stub(seed, transit, stubs, size)
    return load_topology(name)
