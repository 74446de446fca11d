"""Small pieces of DuckDB SQL that several kernels share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.program.aggregations import AggregateNode
from headrace.program.column_names import alias_partials
from headrace.program.node import Node
from headrace.progress.monotone_steps import Divide, FloorDivide, MonotoneStep, Shift, Truncate
from headrace.state.dealt_route import find_parts
from headrace.state.leaf_numbers import list_splits, number_hashes
from headrace.state.split_route import SplitRoute


def pane_sql(time: str, width: int, offset: int) -> str:
    """The start of the pane of a tick; floor for negative ticks too."""
    shifted = f"({time})" if offset == 0 else f"(({time}) - {offset})"
    return f"(({time}) - (({shifted} % {width}) + {width}) % {width})"


def map_tick_sql(steps: Sequence[MonotoneStep], tick: str = "_t") -> str:
    """A tick under functions that keep the order; DuckDB's // rounds towards zero, as DIV does."""
    for step in steps:
        if isinstance(step, Shift):
            tick = f"({tick} + {step.ticks})"
        elif isinstance(step, Truncate):
            tick = pane_sql(tick, step.width, 0)
        elif isinstance(step, Divide):
            tick = f"({tick} // {step.by})"
        elif isinstance(step, FloorDivide):
            tick = f"({pane_sql(tick, step.by, 0)} // {step.by})"
        else:
            tick = f"(greatest(-{step.most}, least({tick}, {step.most})) * {step.by})"
    return tick


def pid_sql(node: Node, route: SplitRoute) -> str:
    """The mini-partition of a partial row, by number: from a hash of the node's partitioning keys."""
    keys = node.partition_keys
    return number_sql(hash_sql(keys), route) if keys else f"{number_hashes(route, np.zeros(1, np.uint64))[0]}::USMALLINT"


def hash_sql(keys: Sequence[str]) -> str:
    """What the mini-partition of keys follows from."""
    return f"hash({', '.join(keys)})" if keys else "0::UBIGINT"


def number_sql(value: str, route: SplitRoute) -> str:
    """The number of the leaf that a hash belongs to."""
    pids = len(route)
    splits = list_splits(route)
    if not splits:
        return f"({value} % {pids})::USMALLINT"
    cases = [
        f"WHEN {pid} THEN [{', '.join(map(str, parts))}][(({value} // {pids}) % {len(parts)})::BIGINT + 1]"
        for pid, parts in splits.items()
    ]
    return f"(CASE {value} % {pids} {' '.join(cases)} ELSE {value} % {pids} END)::USMALLINT"


def name_pid_sql(node: Node, route: SplitRoute, rows: str) -> str:
    """Rows with their mini-partition first: that of the folder they are from, as they bring it along, or one by the hash of
    their keys. Rows of a table that is dealt are in any part of the leaf their keys lead to, copied ones in all parts.
    """
    if node.by_folder:
        return f"SELECT _pid AS pid, * EXCLUDE (_pid) FROM ({rows})"
    dealt, copied = find_parts(route, node.name)
    if not (dealt or copied):
        return f"SELECT {pid_sql(node, route)} AS pid, * FROM ({rows})"
    row = ", ".join(node.columns)
    part = " ".join(
        f"WHEN {first} THEN [[{', '.join(map(str, parts))}][(hash({row}) % {len(parts)})::BIGINT + 1]]"
        for first, parts in dealt.items()
    )
    every = " ".join(f"WHEN {first} THEN [{', '.join(map(str, parts))}]" for first, parts in copied.items())
    pid = f"unnest(CASE _first {part} {every} ELSE [_first] END)::USMALLINT"
    return f"SELECT {pid} AS pid, * EXCLUDE (_first) FROM (SELECT {pid_sql(node, route)} AS _first, * FROM ({rows}))"


def merge_list(node: AggregateNode) -> list[str]:
    return alias_partials(node.merges)


def group_by(names: list[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""
