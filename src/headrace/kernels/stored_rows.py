"""Stored rows: rows (pid, _t, k…, v…) of one input of joins, kept until no other input can reach them.

What came since the last round is *new*, everything before *old*; joins read both (`kernels/join_rows.py`). Old rows are segments
on disk, read when a join asks for a span of values that they cover, and never copied. Rows with a null key, or of no time, meet
nobody: joins see them while they are new, and they are not kept (unless for SELECT DISTINCT, to which nulls are equal).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.operator import Operator
from headrace.kernels.workspace import Workspace
from headrace.program.program import RowNode
from headrace.progress import LOWEST
from headrace.state import Span


class StoredRows(Operator):
    """A `RowNode` in one slot. Rows before `needed` are not needed after this batch."""

    def __init__(
        self,
        node: RowNode,
        space: Workspace,
        read_state: Callable[[int, int, Collection[int] | None], list[pa.Table]],
        needed: int,
    ) -> None:
        super().__init__()
        self.node, self.space, self._read_state, self._needed = node, space, read_state, needed
        self._seen = 0  # how many of the tables that arrived earlier rounds have had
        self.new: list[pa.Table] = []

    def advance(self, low: int, high: int) -> None:
        self.new, self._seen = self._arrived[self._seen :], len(self._arrived)

    def old(self, low: int, high: int, pids: Collection[int] | None = None) -> list[pa.Table]:
        """Rows from before this round, among them all with values in [low, high] (and of these mini-partitions, if given)."""
        earlier = self._arrived[: len(self._arrived) - len(self.new)]
        return [*self._read_state(low, high, pids), *(t for t in earlier if t.num_rows)]

    def span(self) -> tuple[int, int] | None:
        """The least and largest value of the new rows."""
        ends = [e for t in self.new if (e := pc.min_max(t["_t"]))["min"].is_valid]
        if not ends:
            return None
        return min(e["min"].as_py() for e in ends), max(e["max"].as_py() for e in ends)

    def needed_from(self) -> int:
        return self._needed

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        return self.keep_from(self._needed, tables)

    def keep_from(self, needed: int, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        """Rows from `needed` on that can meet somebody."""
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        rows = pa.concat_tables(tables)
        wanted = pc.greater_equal(rows["_t"], needed) if needed > LOWEST else None
        for name in ("_t", *(f"k{i}" for i in range(0 if self.node.nulls else self.node.keys))):
            if rows[name].null_count:
                known = pc.is_valid(rows[name])
                wanted = known if wanted is None else pc.and_(wanted, known)
        if wanted is not None:
            rows = rows.filter(wanted)
        if not rows.num_rows:
            return None
        rows = rows.take(pa.array(np.argsort(rows["pid"].to_numpy(), kind="stable")))
        span = pc.min_max(rows["_t"])
        return rows, Span(span["min"].as_py(), span["max"].as_py() + 1)
