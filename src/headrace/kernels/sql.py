"""Small pieces of DuckDB SQL that several kernels share."""

from __future__ import annotations

from headrace.kernels.spec import Node


def pane_sql(time: str, width: int, offset: int) -> str:
    """The start of the pane of a tick; floor for negative ticks too."""
    shifted = f"({time})" if offset == 0 else f"(({time}) - {offset})"
    return f"(({time}) - (({shifted} % {width}) + {width}) % {width})"


def pid_sql(node: Node, pids: int) -> str:
    """The mini-partition of a partial row: a hash of the node's partitioning keys."""
    if not node.partition:
        return "0::USMALLINT"
    keys = ", ".join(f"k{i}" for i in node.partition)
    return f"(hash({keys}) % {pids})::USMALLINT"


def columns(node: Node) -> tuple[list[str], list[str]]:
    """Key and partial column names."""
    return [f"k{i}" for i in range(node.keys)], [f"p{i}" for i in range(len(node.merges))]


def merge_list(node: Node) -> list[str]:
    return [f"{merge} AS p{i}" for i, merge in enumerate(node.merges)]


def group_by(names: list[str]) -> str:
    return f" GROUP BY {', '.join(names)}" if names else ""
