"""Closing windows: from pane rows to one merged row per group and window.

The windows that close together overlap, and two facts make that cheap (document 003 §6.2.2 merges panes
window by window):

* Panes that lie in exactly the same windows form a *block*. A block of several panes is merged once, before
  it meets its windows: of twelve windows of sixty panes, 49 panes are in all twelve. Panes and windows in
  order give blocks in order, and a window is a run of blocks.
* Where a block is in several windows, its rows need not be copied into each of them. One pass groups rows
  by key alone and computes an aggregate *per window* with FILTER, a few windows at a time; the hash table
  then has one entry per group instead of one per group and window. The copies are only made of the results.
  This needs aggregates that take a FILTER as they are (sums, extremes, bits, booleans); others, and windows
  that hardly overlap, are joined to their windows. So are few rows: DuckDB takes longer to plan hundreds of
  filters than to copy some ten thousand rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.kernels.spec import Node
from headrace.kernels.sql import columns, group_by, merge_list
from headrace.windows import Window

_SIMPLE = re.compile(r"([^p]*)\b(sum|min|max|bit_or|bit_and|bit_xor|bool_and|bool_or)\((p\d+)\)([^p]*)")
CHUNK = 6  # windows to one pass
OVERLAP = 3  # windows a block is in, on average, from which copies cost more than filters
FEW = 200_000  # copies of rows that are made sooner than filters are planned


class Cover(NamedTuple):
    """Which pane is in which block, and which blocks make a window."""

    panes: tuple[tuple[int, int], ...]  # pane, block
    spans: tuple[tuple[int, int, int], ...]  # pane, the first of its windows and the one after the last
    large: tuple[int, ...]  # blocks of several panes that are in several windows
    runs: tuple[tuple[int, int, Window], ...]  # first and last block of each window

    @property
    def overlap(self) -> float:
        blocks = len({b for first, last, _ in self.runs for b in (first, last)}) or 1
        spread = 1 + max((last for _, last, _ in self.runs), default=0)
        return sum(last - first + 1 for first, last, _ in self.runs) / max(blocks, spread)


def cover(panes: Sequence[int], windows: Sequence[Window]) -> Cover:
    """Blocks for sorted pane starts and windows sorted by end."""
    placed: list[tuple[int, int]] = []
    spans: list[tuple[int, int, int]] = []
    blocks: dict[tuple[int, int], int] = {}
    sizes: dict[int, int] = {}
    first = 0
    for pane in panes:
        while first < len(windows) and windows[first].end <= pane:
            first += 1
        last = first
        while last < len(windows) and windows[last].start <= pane:
            last += 1
        if last == first:
            continue
        block = blocks.setdefault((first, last), len(blocks))
        sizes[block] = sizes.get(block, 0) + 1
        placed.append((pane, block))
        spans.append((pane, first, last))
    held: dict[int, tuple[int, int]] = {}
    for (i, j), block in blocks.items():
        for w in range(i, j):
            held[w] = (min(block, held[w][0]), max(block, held[w][1])) if w in held else (block, block)
    return Cover(
        tuple(placed),
        tuple(spans),
        tuple(b for (i, j), b in blocks.items() if sizes[b] > 1 and j - i > 1),
        tuple((*held[w], windows[w]) for w in sorted(held)),
    )


def close_sql(
    node: Node, rows: str, name: str, covering: Cover, sizes: Mapping[int, int], windows: Sequence[Window]
) -> tuple[list[tuple[str, str]], str]:
    """Relations to compute first, and the SELECT of (k…, p…, _ws, _we), from the pane rows in `rows`, of which
    there are `sizes` in each pane.
    """
    if sum(sizes[pane] * (last - first) for pane, first, last in covering.spans) < FEW:
        return [], _copied(node, rows, covering, windows)
    keys, partials = columns(node)
    placed = ", ".join(f"({pane}, {block})" for pane, block in covering.panes)
    blocks = f"{rows} JOIN (VALUES {placed}) AS m(pane, block) USING (pane)"
    tables: list[tuple[str, str]] = []
    listed = ", ".join([*keys, *partials, "block"])
    if covering.large:
        large = f"block IN ({', '.join(map(str, covering.large))})"
        merged = f"SELECT {', '.join([*keys, *merge_list(node), 'block'])} FROM {blocks} WHERE {large}"
        merged += group_by([*keys, "block"])
        tables.append((f"b_{name}", f"{merged} UNION ALL SELECT {listed} FROM {blocks} WHERE NOT {large}"))
    filters = [_SIMPLE.fullmatch(m) for m in node.merges]
    if covering.overlap < OVERLAP or None in filters:
        source = f"b_{name}" if covering.large else f"(SELECT {listed} FROM {blocks})"
        values = ", ".join(f"({first}, {last}, {w.start}, {w.end})" for first, last, w in covering.runs)
        joined = f"{source} JOIN (VALUES {values}) AS w(_lo, _hi, _ws, _we) ON block BETWEEN _lo AND _hi"
        if all(first == last for first, last, _ in covering.runs):
            joined = f"{source} JOIN (VALUES {values}) AS w(_lo, _hi, _ws, _we) ON block = _lo"
        merged = ", ".join([*keys, *merge_list(node)])
        return tables, f"SELECT {merged}, _ws::BIGINT AS _ws, _we::BIGINT AS _we FROM {joined}" + group_by(
            [*keys, "_ws", "_we"]
        )
    if not covering.large:
        tables.append((f"b_{name}", f"SELECT {listed} FROM {blocks}"))
    return tables, _filtered(node, name, covering, [m for m in filters if m is not None], tables)


def _copied(node: Node, rows: str, covering: Cover, windows: Sequence[Window]) -> str:
    keys, partials = columns(node)
    spans = ", ".join(f"({pane}, {first}, {last})" for pane, first, last in covering.spans)
    numbered = ", ".join(f"({i}, {w.start}, {w.end})" for i, w in enumerate(windows))
    copies = f"SELECT {', '.join([*keys, *partials])}, unnest(range(_lo, _hi)) AS _w FROM {rows} "
    copies += f"JOIN (VALUES {spans}) AS m(pane, _lo, _hi) USING (pane)"
    merged = f"SELECT {', '.join([*keys, *merge_list(node)])}, _w FROM ({copies})" + group_by([*keys, "_w"])
    listed = ", ".join([*keys, *partials, "_ws::BIGINT AS _ws", "_we::BIGINT AS _we"])
    return f"SELECT {listed} FROM ({merged}) JOIN (VALUES {numbered}) AS w(_w, _ws, _we) USING (_w)"


def _filtered(
    node: Node, name: str, covering: Cover, merges: list[re.Match[str]], tables: list[tuple[str, str]]
) -> str:
    keys, partials = columns(node)
    selects: list[str] = []
    for start in range(0, len(covering.runs), CHUNK):
        chunk = covering.runs[start : start + CHUNK]
        table = f"g_{name}_{start}"
        aggregates: list[str] = []
        for j, (first, last, window) in enumerate(chunk):
            where = f"FILTER (WHERE block BETWEEN {first} AND {last})"
            aggregates.append(f"count(*) {where} AS n_{j}")
            parts = []
            for i, merge in enumerate(merges):
                aggregates.append(f"{merge[2]}({merge[3]}) {where} AS p{i}_{j}")
                parts.append(f"p{i}_{j} AS p{i}")
            times = f"{window.start}::BIGINT AS _ws, {window.end}::BIGINT AS _we"
            selects.append(f"SELECT {', '.join([*keys, *parts, times])} FROM {table} WHERE n_{j} > 0")
        low, high = min(c[0] for c in chunk), max(c[1] for c in chunk)
        sql = f"SELECT {', '.join([*keys, *aggregates])} FROM b_{name} WHERE block BETWEEN {low} AND {high}"
        tables.append((table, sql + group_by(keys)))
    outer = [f"{m[1]}{p}{m[4]} AS {p}" for m, p in zip(merges, partials, strict=True)]
    return f"SELECT {', '.join([*keys, *outer, '_ws', '_we'])} FROM ({' UNION ALL '.join(selects)})"
