"""A picture of the network with the streams drawn on it, as plain SVG.

Links are grey. What crosses a link is drawn beside one another: a band per base stream in its colour, and one
dark band for all derived streams, each as wide as the flow is large (on a log scale, in the cost model's unit).
Nodes that do something are labelled, each label where it covers least.
"""

from __future__ import annotations

import math
from itertools import pairwise
from xml.sax.saxutils import escape

import networkx

from headrace.network.deployment import Deployment
from headrace.network.topology import Network
from headrace.network.world import World

WIDTH, HEIGHT, MARGIN, LEGEND = 900.0, 640.0, 40.0, 190.0
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#b59f00",
    "#7a4fbf",
    "#4d8f2f",
    "#a0522d",
)
DERIVED = "#333333"
Points = dict[str, tuple[float, float]]


def draw_network(world: World, deployment: Deployment, title: str = "") -> str:
    """The whole picture."""
    at = lay_out(world.network)
    streams = sorted({f.origin.name for f, _ in deployment.feeds() if f.origin.kind == "stream"})
    colour = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(streams)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}"'
        ' font-family="sans-serif">',
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="white"/>',
        '<g stroke="#d0d0d0" fill="none">',
    ]
    for link in world.network.links:
        dash = "" if link.up else ' stroke-dasharray="3 4" stroke="#e08080"'
        parts.append(_line(at[link.a], at[link.b], 1.0, dash))
    parts += ["</g>", '<g fill="none" stroke-linecap="round" stroke-opacity="0.85">']
    parts += _feeds(world, deployment, at, colour)
    parts += [
        "</g>",
        *_nodes(deployment, at, colour),
        *_legend(world, deployment, colour, title),
        "</svg>",
    ]
    return "\n".join(parts)


def lay_out(network: Network) -> Points:
    """Given positions where every node has one, else a spring layout by latency, seeded."""
    if all(n.position is not None for n in network.nodes):
        raw = {n.name: n.position for n in network.nodes if n.position is not None}
        flipped = {k: (x, -y) for k, (x, y) in raw.items()}
    else:
        graph = networkx.Graph()
        graph.add_nodes_from(network.names)
        for k in network.links:
            graph.add_edge(
                k.a, k.b, weight=1.0 / math.sqrt(max(k.latency, 0.1)), length=max(k.latency, 0.1) ** 0.5
            )
        if len(network.nodes) <= 200 and networkx.is_connected(graph):
            found = networkx.kamada_kawai_layout(graph, weight="length")
        else:
            found = networkx.spring_layout(graph, seed=1, weight="weight", iterations=60)
        flipped = {str(k): (float(v[0]), float(v[1])) for k, v in found.items()}
    xs, ys = [p[0] for p in flipped.values()], [p[1] for p in flipped.values()]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    room = (WIDTH - LEGEND - 2 * MARGIN, HEIGHT - 2 * MARGIN)
    return {
        k: (MARGIN + (x - min(xs)) / wide * room[0], MARGIN + (y - min(ys)) / high * room[1])
        for k, (x, y) in flipped.items()
    }


def _feeds(world: World, deployment: Deployment, at: Points, colour: dict[str, str]) -> list[str]:
    """Per link one band per base stream and one for all derived streams, as wide as what they carry together."""
    index, names = world.network.index, world.network.names
    crossing: dict[tuple[str, str], dict[str, float]] = {}
    for feed, to in deployment.feeds():
        shade = colour[feed.origin.name] if feed.origin.kind == "stream" else DERIVED
        path = [names[i] for i in world.metric.path(index[feed.node], index[to])]
        for a, b in pairwise(path):
            bands = crossing.setdefault((min(a, b), max(a, b)), {})
            bands[shade] = bands.get(shade, 0.0) + world.flow(feed.view)
    flows = [f for bands in crossing.values() for f in bands.values()]
    least = math.log(max(min(flows, default=1.0), 1e-9))
    span = (math.log(max(max(flows, default=1.0), 1e-9)) - least) or 1.0
    parts = []
    for (a, b), bands in sorted(crossing.items()):
        widths = {s: 1.2 + 3.3 * (math.log(max(f, 1e-9)) - least) / span for s, f in sorted(bands.items())}
        offset = -sum(w + 0.8 for w in widths.values()) / 2
        for shade, width in widths.items():
            place = offset + width / 2
            ends = _beside(at[a], at[b], place), _beside(at[b], at[a], -place)
            parts.append(_line(*ends, width, f' stroke="{shade}"'))
            offset += width + 0.8
    return parts


def _beside(a: tuple[float, float], b: tuple[float, float], by: float) -> tuple[float, float]:
    """A point next to a, seen on the way to b."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    size = math.hypot(dx, dy) or 1.0
    return a[0] - dy / size * by, a[1] + dx / size * by


def _line(a: tuple[float, float], b: tuple[float, float], width: float, extra: str) -> str:
    ends = f'x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"'
    return f'<line {ends} stroke-width="{width:.1f}"{extra}/>'


def _nodes(deployment: Deployment, at: Points, colour: dict[str, str]) -> list[str]:
    sources: dict[str, list[str]] = {}
    for feed, _ in deployment.feeds():
        if feed.origin.kind == "stream":
            sources.setdefault(feed.node, []).append(feed.origin.name)
    joins: dict[str, int] = {}
    for o in deployment.operators:
        joins[o.node] = joins.get(o.node, 0) + 1
    sinks: dict[str, list[str]] = {}
    for d in deployment.deliveries:
        sinks.setdefault(d.node, []).append(d.query)
    parts, texts = [], []
    active = [at[n] for n in at if n in sources or n in joins or n in sinks]
    boxes = [(x - 8, y - 8, x + 8, y + 8) for x, y in active]
    for name, (x, y) in at.items():
        busy = name in sources or name in joins or name in sinks
        if not busy:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="#b0b0b0"/>')
            continue
        if name in sinks:
            side = 13
            parts.append(
                f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side}" height="{side}" rx="2"'
                ' fill="white" stroke="#333333" stroke-width="1.4"/>'
            )
        fill = colour[sources[name][0]] if name in sources else "white"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.6" fill="{fill}" stroke="#333333"/>')
        notes = sorted(set(sources.get(name, ())))
        notes += [f"⋈{joins[name] if joins[name] > 1 else ''}"] if name in joins else []
        asked = sorted(sinks.get(name, ()))
        notes += asked if len(asked) < 4 else [f"{len(asked)} sinks"]
        label = f"{name}: {', '.join(notes)}"
        left, base, box = _free_place(x, y, 5.6 * len(label), boxes)
        boxes.append(box)
        texts.append(
            f'<text x="{left:.1f}" y="{base:.1f}" font-size="10" stroke="white" stroke-width="3"'
            f' paint-order="stroke" fill="#111111">{escape(label)}</text>'
        )
    return parts + texts


Box = tuple[float, float, float, float]


def _free_place(x: float, y: float, width: float, boxes: list[Box]) -> tuple[float, float, Box]:
    """Where a label goes: the place near a node that covers least of the nodes and labels there are."""
    best: tuple[float, float, float, Box] | None = None
    for far in (0.0, 10.0, 22.0):
        for left, base in (
            (x + 9, y - 7 - far), (x + 9, y + 14 + far), (x - 9 - width, y - 7 - far),
            (x - 9 - width, y + 14 + far), (x - width / 2, y - 12 - far), (x - width / 2, y + 20 + far),
        ):  # fmt: skip
            box = (left, base - 10, left + width, base + 2)
            outside = max(0.0, 2 - box[0]) + max(0.0, box[2] - (WIDTH - LEGEND))
            covered = sum(_overlap(box, other) for other in boxes) + 20 * outside
            if best is None or covered < best[0]:
                best = (covered, left, base, box)
    assert best is not None
    return best[1:]


def _overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _legend(world: World, deployment: Deployment, colour: dict[str, str], title: str) -> list[str]:
    x, y = WIDTH - LEGEND + 10, 30.0
    heading = escape(title or world.network.name)
    parts = [f'<text x="{x:g}" y="{y:g}" font-size="12" font-weight="bold">{heading}</text>']
    facts = (
        f"cost {world.cost(deployment):.5g}",
        f"{len(deployment.queries)} queries, {len(deployment.operators)} joins",
    )
    for fact in facts:
        y += 17
        parts.append(f'<text x="{x:g}" y="{y:g}" font-size="11">{escape(fact)}</text>')
    y += 8
    for name, shade in [*colour.items(), ("derived streams", DERIVED)]:
        y += 17
        level = f'y1="{y - 4:g}" y2="{y - 4:g}"'
        parts.append(f'<line x1="{x:g}" x2="{x + 22:g}" {level} stroke="{shade}" stroke-width="4"/>')
        parts.append(f'<text x="{x + 28:g}" y="{y:g}" font-size="11">{escape(name)}</text>')
    y += 22
    for note in ("● source   □ sink   ⋈ join", f"width: log of {world.costs.unit}/s"):
        parts.append(f'<text x="{x:g}" y="{y:g}" font-size="10" fill="#555555">{note}</text>')
        y += 15
    return parts
