"""Closing windows: from pane rows to one merged row per group and window.

Windows are data: a table of runs (windows that hold the same panes, `windows/spec.py`) is joined to the pane rows,
groups are merged once per run, and runs become windows when their results are written. Three ways to merge, by what
they cost (document 003 §6.2.2 merges panes window by window, which is the first):

* *copy*: each pane row is copied into every run it is in. Right where windows hardly overlap, or rows are few.
* *filter*: one pass groups rows by key alone and computes an aggregate per run with FILTER, a few runs at a time;
  the hash table then has one entry per group instead of one per group and run. Panes that lie in exactly the same
  runs form a *block* and are merged first. This needs aggregates that take a FILTER as they are (sums, extremes,
  bits, booleans) and a handful of runs: DuckDB takes longer to plan hundreds of filters than to copy some ten
  thousand rows.
* *tree*: panes are merged pairwise, pairs pairwise, and so on; a run of n panes is then at most 2·log₂(n) merged rows
  per group. With thousands of overlapping windows the work is linear in rows and results, up to that logarithm,
  and any aggregate will do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.sql_pieces import group_by, merge_list
from headrace.kernels.workspace import Workspace
from headrace.program.aggregations import PaneNode
from headrace.windows import Runs, WindowSpec

_SIMPLE = re.compile(r"([^p]*)\b(sum|min|max|bit_or|bit_and|bit_xor|bool_and|bool_or)\((p\d+)\)([^p]*)")

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class PaneRows:
    """The relation `name` of a node's pane rows: its panes, sorted, and how many rows each has."""

    name: str
    panes: Array
    sizes: Array


def define_closed(
    space: Workspace, node: PaneNode, rows: PaneRows, window: WindowSpec, runs: Runs, view: str
) -> None:
    """Define `view` (k…, p…, _ws, _we, and _pid of nodes kept by folder): the groups of every window in `runs`."""
    used = slice(int(runs.low.min()), int(runs.high.max()))  # panes; the others are left out from here on
    rows = PaneRows(rows.name, rows.panes[used], rows.sizes[used])
    runs = Runs(runs.first, runs.stop, runs.low - used.start, runs.high - used.start)
    low = np.searchsorted(runs.high, np.arange(rows.panes.size), "right")  # the runs each pane is in
    high = np.searchsorted(runs.low, np.arange(rows.panes.size), "right")
    copies = int((rows.sizes * np.maximum(high - low, 0)).sum())
    once = bool((high - low).max(initial=0) <= 1)
    merges = [_SIMPLE.fullmatch(m) for m in node.merges]
    simple = [m for m in merges if m is not None]
    before: list[str] = []
    limits = space.limits.close
    if once or copies < limits.few_copies:
        merged = _copy(space, node, rows, low, high, once, view)
    elif len(runs) <= limits.filtered_runs and len(simple) == len(merges) and _overlap(low, high) >= limits.overlap:
        before, merged = _filter(space, node, rows, low, high, simple, view)
    elif len(pairs := _decompose(runs)) * 2 < int((runs.high - runs.low).sum()):
        merged = _tree(space, node, rows, pairs, view)
    else:
        merged = _copy(space, node, rows, low, high, once, view)
    _register_windows(space, window, runs, f"w_{view}")
    keys, partials = node.list_keys(), node.list_partials()
    listed = ", ".join([*keys, *partials, "_ws", "_we", *(["pid AS _pid"] if node.by_folder else [])])
    space.define(view, f"SELECT {listed} FROM ({merged}) JOIN w_{view} USING (_run)", before=before)


def _group_columns(node: PaneNode) -> tuple[list[str], list[str]]:
    """What groups are by, with the mini-partition if that is a folder's, and the partials."""
    keys, partials = node.list_keys(), node.list_partials()
    return [*(["pid"] if node.by_folder else []), *keys], partials


def _register_windows(space: Workspace, window: WindowSpec, runs: Runs, name: str) -> None:
    wids = runs.wids()
    run = np.repeat(np.arange(len(runs)), runs.stop - runs.first)
    start, end = window.start_of(wids), window.end_of(wids)
    space.register(name, pa.table({"_run": run, "_ws": pa.array(start, pa.int64()), "_we": pa.array(end, pa.int64())}))


def _copy(
    space: Workspace, node: PaneNode, rows: PaneRows, low: Array, high: Array, once: bool, view: str
) -> str:
    keys, partials = _group_columns(node)
    used = low < high
    space.register(f"m_{view}", pa.table({"pane": rows.panes[used], "_low": low[used], "_high": high[used]}))
    run = "_low" if once else "unnest(range(_low, _high))"
    copied = f"SELECT {', '.join([*keys, *partials])}, {run} AS _run FROM {rows.name} JOIN m_{view} USING (pane)"
    return f"SELECT {', '.join([*keys, *merge_list(node)])}, _run FROM ({copied})" + group_by([*keys, "_run"])


def _overlap(low: Array, high: Array) -> float:
    """The runs a block is in, on average; a block is the panes that are in the same runs."""
    used = low < high
    blocks = np.unique(np.stack([low[used], high[used]]), axis=1)
    return float((blocks[1] - blocks[0]).mean()) if blocks.size else 0.0


def _filter(
    space: Workspace,
    node: PaneNode,
    rows: PaneRows,
    low: Array,
    high: Array,
    merges: Sequence[re.Match[str]],
    view: str,
) -> tuple[list[str], str]:
    keys, partials = _group_columns(node)
    used = low < high
    spans, block, sizes = np.unique(np.stack([low[used], high[used]]), axis=1, return_inverse=True, return_counts=True)
    block = block.reshape(-1)
    large = ((sizes > 1) & (spans[1] - spans[0] > 1))[block]  # blocks of several panes that are in several runs
    mapping = {"pane": rows.panes[used], "_block": block, "_large": large}
    space.register(f"m_{view}", pa.table(mapping))
    placed = f"{rows.name} JOIN m_{view} USING (pane)"
    listed = ", ".join([*keys, *partials, "_block"])
    if large.any():
        grouped = f"SELECT {', '.join([*keys, *merge_list(node), '_block'])} FROM {placed} WHERE _large"
        grouped += group_by([*keys, "_block"])
        blocks = f"{grouped} UNION ALL SELECT {listed} FROM {placed} WHERE NOT _large"
    else:
        blocks = f"SELECT {listed} FROM {placed}"
    tables = [(f"b_{view}", blocks)]
    selects: list[str] = []
    runs = int(spans[1].max())
    step = space.limits.close.runs_per_pass
    for start in range(0, runs, step):
        chunk = range(start, min(start + step, runs))
        aggregates: list[str] = []
        for run in chunk:
            inside = np.flatnonzero((spans[0] <= run) & (run < spans[1]))  # blocks in order: a run of them
            where = f"FILTER (WHERE _block BETWEEN {inside[0]} AND {inside[-1]})"
            aggregates.append(f"count(*) {where} AS n_{run}")
            aggregates += [f"{m[2]}({m[3]}) {where} AS {m[3]}_{run}" for m in merges]
            parts = ", ".join([*keys, *(f"{p}_{run} AS {p}" for p in partials), f"{run}::BIGINT AS _run"])
            selects.append(f"SELECT {parts} FROM g_{view}_{start} WHERE n_{run} > 0")
        sql = f"SELECT {', '.join([*keys, *aggregates])} FROM b_{view}"
        among = np.flatnonzero((spans[0] < chunk.stop) & (chunk.start < spans[1]))
        sql += f" WHERE _block BETWEEN {among[0]} AND {among[-1]}" + group_by(keys)
        tables.append((f"g_{view}_{start}", sql))
    outer = [f"{m[1]}{p}{m[4]} AS {p}" for m, p in zip(merges, partials, strict=True)]
    merged = f"SELECT {', '.join([*keys, *outer, '_run'])} FROM ({' UNION ALL '.join(selects)})"
    if int(rows.sizes.sum()) < space.limits.close.short_rows:
        return [f"{name} AS MATERIALIZED ({sql})" for name, sql in tables], merged
    for name, sql in tables:
        space.store(name, sql)
    return [], merged


@dataclass(frozen=True)
class Pairs:
    """Which nodes of the tree make which run; node n of level l is the panes [n·2^l, (n+1)·2^l)."""

    level: Array
    node: Array
    run: Array

    def __len__(self) -> int:
        return int(self.level.size)


def _decompose(runs: Runs) -> Pairs:
    """Every run of panes as at most two tree nodes on each level."""
    low, high, run = runs.low.copy(), runs.high.copy(), np.arange(len(runs))
    taken: list[tuple[Array, Array, Array]] = []
    level = 0
    while run.size:
        odd = (low & 1) == 1
        taken.append((np.full(int(odd.sum()), level), low[odd], run[odd]))
        low = low + odd
        odd = ((high & 1) == 1) & (high > low)
        taken.append((np.full(int(odd.sum()), level), high[odd] - 1, run[odd]))
        high = high - odd
        low, high, level = low >> 1, high >> 1, level + 1
        left = low < high
        low, high, run = low[left], high[left], run[left]
    return Pairs(*(np.concatenate(part) for part in zip(*taken, strict=True)))


def _tree(space: Workspace, node: PaneNode, rows: PaneRows, pairs: Pairs, view: str) -> str:
    keys, partials = _group_columns(node)
    number = pa.table({"pane": rows.panes, "_node": np.arange(rows.panes.size)})
    space.register(f"m_{view}", number)
    leaves = f"SELECT {', '.join([*keys, *partials])}, 0 AS _level, _node FROM {rows.name} JOIN m_{view} USING (pane)"
    space.store(f"t_{view}", leaves)
    for level in range(int(pairs.level.max())):
        listed = ", ".join([*keys, *merge_list(node)])
        above = f"SELECT {listed}, {level + 1}, _node // 2 FROM t_{view} WHERE _level = {level}"
        space.con.execute(f"INSERT INTO t_{view} {above}" + group_by([*keys, "_node // 2"]))
    table = pa.table({"_level": pa.array(pairs.level, pa.int32()), "_node": pairs.node, "_run": pairs.run})
    space.register(f"r_{view}", table)
    joined = f"t_{view} JOIN r_{view} USING (_level, _node)"
    return f"SELECT {', '.join([*keys, *merge_list(node)])}, _run FROM {joined}" + group_by([*keys, "_run"])
