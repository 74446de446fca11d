"""What is said of nodes of every kind when a table is lowered."""

from __future__ import annotations

from typing import TypedDict

from headrace.optimizer.plan import Plan, RowTable, TransitTable
from headrace.physical.keys import normalize_key
from headrace.program.node import SourceFeed
from headrace.progress.waits import Waits


class KnownOfNode(TypedDict):
    """The fields that every node has of its table."""

    name: str
    label: str
    level: int
    waits: Waits
    keys: int
    partition: tuple[int | str, ...]
    by_folder: bool


def lower_row_feeds(plan: Plan, table: RowTable | TransitTable) -> tuple[SourceFeed, ...]:
    """How rows of streams become rows of a table."""
    return tuple(
        SourceFeed(f.stream, f.where, tuple(map(normalize_key, f.keys, table.types)), f.values, f.steps)
        for f in plan.row_feeds[table.id]
    )
