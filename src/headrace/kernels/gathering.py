"""Gathering: rows (_ws, _we, k…, p…) of the same windows, sent by the slots of the level before, merged.

All slots close a window in the same batch, so all its rows are here when the batch is, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from headrace.kernels.operator import CEILING, Due
from headrace.kernels.sql_pieces import columns, group_by, merge_list
from headrace.kernels.workspace import Workspace
from headrace.program.program import GatherNode
from headrace.state import Span


class Gathering:
    """A `GatherNode` in one slot."""

    def __init__(self, node: GatherNode, space: Workspace) -> None:
        self.node, self.space = node, space
        self._arrived: list[pa.Table] = []

    def absorb(self, rows: pa.Table) -> None:
        self._arrived.append(rows)

    def arrived(self) -> list[pa.Table]:
        return self._arrived

    def due(self) -> Iterable[Due]:
        return ()

    def advance(self, low: int, high: int) -> None:
        """The windows of this round; those of other rounds are there too, or will be."""
        if not self._arrived:
            self.space.define_empty(self.node.view)
            return
        name = self.space.register(f"all_{self.node.name}", pa.concat_tables(self._arrived))
        keys, _ = columns(self.node)
        listed = ", ".join([*keys, *merge_list(self.node), "_ws", "_we"])
        sql = f"SELECT {listed} FROM {name} WHERE _we > {low} AND _we <= {high}"
        self.space.define(self.node.view, sql + group_by([*keys, "_ws", "_we"]))

    def needed_from(self) -> int:
        return CEILING

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        return None
