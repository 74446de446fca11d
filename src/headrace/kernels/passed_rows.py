"""Passed rows: rows (pid, _t, k…, v…) of streams on their way through a slot, for lookups to read. Nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headrace.kernels.operator import Operator, OperatorContext
from headrace.program.table_lookups import TransitNode
from headrace.progress import HIGHEST
from headrace.state import Span


class PassedRows(Operator[TransitNode]):
    """A `TransitNode` in one slot."""

    def __init__(self, node: TransitNode, context: OperatorContext) -> None:
        super().__init__(node, context)
        self._given = 0  # how many of the tables that arrived earlier rounds have had

    def advance(self, low: int, high: int) -> None:
        """Everything that has come, once: it waits for nothing."""
        fresh = [t for t in self._arrived[self._given :] if t.num_rows]
        self._given = len(self._arrived)
        if not fresh:
            self.space.define_empty(self.node.view)
            return
        name = self.space.register(f"all_{self.node.name}", pa.concat_tables(fresh))
        listed = [f"{k} AS _{k}" for k in self.node.list_keys()]
        listed += [f'v{i} AS "{c}"' for i, c in enumerate(self.node.names)]
        self.space.define(self.node.view, f"SELECT {', '.join(listed) or '1 AS _one'} FROM {name}")

    def needed_from(self) -> int:
        return HIGHEST

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        return None
