"""The plan as a drawing: a layered graph from streams on the left to queries on the right.

A node's column is the length of the longest path to it, so edges go right only. An edge over several
columns is led through a free place in each (a dummy), so that lines do not run behind boxes. Within a
column, places are ordered by the mean place of their neighbours, a few sweeps each way (the barycentre
method of Sugiyama, Tagawa and Toda, 1981).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

_CHAR, _LINE, _PAD, _GAP_X, _GAP_Y = 7.0, 15.0, 11.0, 56.0, 16.0  # _CHAR: of the details' font
_WRAP, _LINES = 34, 4
_STYLES = ("stream", "query", "unserved")
_COUNT_CHAR = 6.2  # of the counts at edges


@dataclass(frozen=True)
class _Box:
    """A node as drawn; `style` is a class of the style sheet: stream, shared, query or unserved."""

    label: str
    kind: str
    lines: tuple[str, ...]
    title: str
    style: str = "shared"

    @property
    def width(self) -> float:
        longest = max(len(self.label) * 1.3, len(self.kind) + 1, *(len(line) for line in self.lines), 8)
        return longest * _CHAR + 2 * _PAD

    @property
    def height(self) -> float:
        return 2 * _LINE + len(self.lines) * _LINE + _PAD


def draw(plan: Mapping[str, Any], counts: Mapping[tuple[str, str], str] | None = None) -> str:
    """An SVG of `plan`: nodes [{id, label, kind, detail}], edges [[from, to]] (unknown ends are ignored). Nodes of kind stream or
    query look so; others as their `style` says.

    `counts` is what to write at edges, by their ends.
    """
    boxes = {str(node["id"]): _box(node) for node in plan.get("nodes", ())}
    edges = [
        (str(a), str(b)) for a, b in plan.get("edges", ()) if str(a) in boxes and str(b) in boxes and a != b
    ]
    edges = list(dict.fromkeys(edges))
    if not boxes:
        return ""
    columns, paths = _places(list(boxes), edges)
    columns = _ordered(columns, [pair for path in paths for pair in pairwise(path)])
    return _svg(boxes, columns, paths, counts or {})


def _box(node: Mapping[str, Any]) -> _Box:
    detail = node.get("detail") or ""
    whole = "\n".join(f"{k}: {v}" for k, v in detail.items()) if isinstance(detail, Mapping) else str(detail)
    lines: list[str] = []
    for part in whole.splitlines():
        lines += textwrap.wrap(part, _WRAP) or [""]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], lines[_LINES - 1][: _WRAP - 1] + "…"]
    label = re.sub(
        r"\$\d+", "", str(node.get("label") or node["id"])
    )  # a part of a query goes by the query's name
    shown = label if len(label) <= _WRAP else label[: _WRAP - 1] + "…"
    kind = str(node.get("kind") or "node")
    style = str(node.get("style") or kind)
    return _Box(shown, kind, tuple(lines), f"{label}\n{whole}".strip(), style if style in _STYLES else "shared")


def _places(
    names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Columns of places (nodes and dummies), and each edge as its path through places."""
    rank = dict.fromkeys(names, 0)
    for _ in names:  # a graph without cycles settles in at most this many rounds
        moved = False
        for a, b in edges:
            if rank[b] < rank[a] + 1:
                rank[b], moved = rank[a] + 1, True
        if not moved:
            break
    columns: list[list[str]] = [[] for _ in range(max(rank.values()) + 1)]
    for name in names:
        columns[rank[name]].append(name)
    paths = []
    for number, (a, b) in enumerate(edges):
        path = [a]
        for column in range(rank[a] + 1, rank[b]):
            path.append(f"\0{number}.{column}")
            columns[column].append(path[-1])
        paths.append([*path, b])
    return columns, paths


def _ordered(columns: list[list[str]], links: Iterable[tuple[str, str]]) -> list[list[str]]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for a, b in links:
        after.setdefault(a, []).append(b)
        before.setdefault(b, []).append(a)
    columns = [list(column) for column in columns]
    for sweep in range(8):
        forward = sweep % 2 == 0
        neighbours = before if forward else after
        order = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
        for i in order:
            other = {name: place for place, name in enumerate(columns[i - 1 if forward else i + 1])}

            def mean(
                name: str, here: int, other: dict[str, int] = other, near: dict[str, list[str]] = neighbours
            ) -> float:
                places = [other[n] for n in near.get(name, ()) if n in other]
                return sum(places) / len(places) if places else float(here)

            keys = {name: mean(name, place) for place, name in enumerate(columns[i])}
            columns[i].sort(key=keys.__getitem__)
    return columns


def _svg(
    boxes: Mapping[str, _Box],
    columns: Sequence[Sequence[str]],
    paths: Sequence[Sequence[str]],
    counts: Mapping[tuple[str, str], str],
) -> str:
    gap = _GAP_X + max((len(text) * _COUNT_CHAR for text in counts.values()), default=0.0)
    heights = [
        sum((boxes[n].height if n in boxes else 6.0) + _GAP_Y for n in column) - _GAP_Y for column in columns
    ]
    total = max(heights)
    corner: dict[str, tuple[float, float, float, float]] = {}  # x, y, width, height
    x = 2.0
    for column, height in zip(columns, heights, strict=True):
        width = max((boxes[n].width for n in column if n in boxes), default=20.0)
        y = 2.0 + (total - height) / 2
        for name in column:
            tall = boxes[name].height if name in boxes else 6.0
            corner[name] = (x, y, width, tall)
            y += tall + _GAP_Y
        x += width + gap
    parts, written = [], []
    for path in paths:
        if count := counts.get((path[0], path[-1])):
            bx, by, _, bh = corner[path[-1]]
            written.append(_count(count, bx, by + bh / 2, corner[path[-2]], path[-2] in boxes))
        for a, b in pairwise(path):
            ax, ay, aw, ah = corner[a]
            bx, by, _, bh = corner[b]
            start, y1, end, y2 = ax + aw, ay + ah / 2, bx, by + bh / 2
            middle = (start + end) / 2
            curve = f"M{start:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {end:.1f} {y2:.1f}"
            tip = ' marker-end="url(#tip)"' if b in boxes else ""
            parts.append(f'<path class="edge" d="{curve}"{tip}/>')
            if b not in boxes:  # straight through the dummy's place
                parts.append(f'<path class="edge" d="M{bx:.1f} {y2:.1f}H{bx + corner[b][2]:.1f}"/>')
    for name, box in boxes.items():
        bx, by, width, height = corner[name]
        texts = [
            f'<text class="kind" x="{_PAD}" y="17">{escape(box.kind)}</text>',
            f'<text class="label" x="{_PAD}" y="33">{escape(box.label)}</text>',
            *(
                f'<text class="detail" x="{_PAD}" y="{33 + _LINE * i:.0f}">{escape(line)}</text>'
                for i, line in enumerate(box.lines, 1)
            ),
        ]
        parts.append(
            f'<g class="node {box.style}" transform="translate({bx:.1f} {by:.1f})">'
            f'<title>{escape(box.title)}</title><rect width="{width:.1f}" height="{height:.1f}" rx="7"/>'
            f"{''.join(texts)}</g>"
        )
    wide, high = x - gap + 2, total + 4
    head = f'viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}"'
    marker = (
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0L8 4L0 8Z"/></marker>'
    )
    inside = f"<defs>{marker}</defs>{''.join(parts)}{''.join(written)}"
    return f'<svg class="plan" {head} role="img" aria-label="Query graph">{inside}</svg>'


def _count(
    text: str, x: float, y: float, source: tuple[float, float, float, float], is_box: bool
) -> str:
    """What is written at the end of an edge, before its tip; the line may come from above or below."""
    from_y = source[1] + source[3] / 2
    place = y + 13 if is_box and from_y < y - 4 else y - 5  # on the side where the line is not
    return f'<text class="count" x="{x - 10:.1f}" y="{place:.1f}" text-anchor="end">{escape(text)}</text>'
