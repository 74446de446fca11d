"""Small pieces of DuckDB SQL that several kernels share."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.program.program import GatherNode, Node, PaneNode


def pane_sql(time: str, width: int, offset: int) -> str:
    """The start of the pane of a tick; floor for negative ticks too."""
    shifted = f"({time})" if offset == 0 else f"(({time}) - {offset})"
    return f"(({time}) - (({shifted} % {width}) + {width}) % {width})"


def pid_sql(node: Node, pids: int) -> str:
    """The mini-partition of a partial row: a hash of the node's partitioning keys."""
    return hash_pid_sql([f"k{i}" for i in node.partition], pids)


def hash_pid_sql(keys: Sequence[str], pids: int) -> str:
    """The mini-partition that keys belong to."""
    return f"(hash({', '.join(keys)}) % {pids})::USMALLINT" if keys else "0::USMALLINT"


def columns(node: PaneNode | GatherNode) -> tuple[list[str], list[str]]:
    """Key and partial column names."""
    return [f"k{i}" for i in range(node.keys)], [f"p{i}" for i in range(len(node.merges))]


def merge_list(node: PaneNode | GatherNode) -> list[str]:
    return [f"{merge} AS p{i}" for i, merge in enumerate(node.merges)]


def group_by(names: list[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""
