"""Closing windows: from pane rows to one merged row per group and window.

The windows that close together overlap. Panes that lie in exactly the same of them form a *block*: the block is merged
once and then joined to each of its windows, so twelve windows of sixty panes cost one pass over the 49 panes they all
share plus a few small blocks at both ends, not 720 panes (the shared core; document 003 §6.2.2 merges panes window by window).
Windows sorted by end cover a pane in one run of positions, so a block is known by that run's two ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from headrace.kernels.spec import Node
from headrace.kernels.sql import columns, group_by, merge_list
from headrace.windows import Window


class Cover(NamedTuple):
    """Which pane is in which block, and which block in which window."""

    panes: pa.Table  # pane, block
    windows: pa.Table  # block, _ws, _we
    shared: bool  # whether some block of several panes is in several windows


def cover(panes: Sequence[int], windows: Sequence[Window]) -> Cover:
    """Blocks for sorted pane starts and windows sorted by end."""
    pane_list: list[int] = []
    pane_block: list[int] = []
    runs: dict[tuple[int, int], int] = {}
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
        block = runs.setdefault((first, last), len(runs))
        sizes[block] = sizes.get(block, 0) + 1
        pane_list.append(pane)
        pane_block.append(block)
    rows = [(b, windows[w].start, windows[w].end) for (i, j), b in runs.items() for w in range(i, j)]
    shared = any(sizes[b] > 1 and j - i > 1 for (i, j), b in runs.items())
    return Cover(
        pa.table({"pane": pa.array(pane_list, pa.int64()), "block": pa.array(pane_block, pa.int32())}),
        pa.table(
            {
                "block": pa.array([r[0] for r in rows], pa.int32()),
                "_ws": pa.array([r[1] for r in rows], pa.int64()),
                "_we": pa.array([r[2] for r in rows], pa.int64()),
            }
        ),
        shared,
    )


def close_sql(node: Node, rows: str, pane_map: str, window_map: str, shared: bool) -> str:
    """SQL for (k…, p…, _ws, _we) from relation `rows` and the two maps of a cover."""
    keys, partials = columns(node)
    merged = ", ".join([*keys, *merge_list(node)])
    if not shared:
        joined = f"{rows} JOIN {pane_map} USING (pane) JOIN {window_map} USING (block)"
        return f"SELECT {merged}, _ws, _we FROM {joined}" + group_by([*keys, "_ws", "_we"])
    blocks = f"SELECT {merged}, block FROM {rows} JOIN {pane_map} USING (pane)" + group_by([*keys, "block"])
    listed = ", ".join([*keys, *partials, "block"])
    return (
        f"SELECT {merged}, _ws, _we FROM (SELECT {listed} FROM ({blocks})) JOIN {window_map} USING (block)"
        + group_by([*keys, "_ws", "_we"])
    )
