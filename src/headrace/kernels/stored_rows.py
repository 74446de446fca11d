"""Stored rows: rows (pid, _t, k…, v…) of one input of joins, kept until no other input can reach them.

What came since the last round is *new*, everything before *old*: joins are given both (`kernels/delta.py`). Old rows are segments
on disk, read when a join asks for a span of values that they cover, and never copied. Rows with a null key, or of no time, meet
nobody: joins see them while they are new, and they are not kept (unless for SELECT DISTINCT, to which nulls are equal).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.delta import Delta
from headrace.kernels.operator import Operator, OperatorContext
from headrace.program.row_joins import RowNode
from headrace.progress import LOWEST
from headrace.state import Span


class StoredRows(Operator[RowNode]):
    """A `RowNode` in one slot. Rows before `needed` are not needed after this batch."""

    def __init__(self, node: RowNode, context: OperatorContext) -> None:
        super().__init__(node, context)
        self._needed = context.progress[node.needed].after.bound
        self._earlier: list[pa.Table] = []  # that arrived in earlier rounds
        self._new: list[pa.Table] = []

    def advance(self, low: int, high: int) -> None:
        self._earlier += self._new
        self._new = self._arrived[len(self._earlier) :]

    def delta(self) -> Delta:
        """This round's rows as new ones, those before them as old ones."""
        earlier = [t for t in self._earlier if t.num_rows]
        read = self._context.state.read_between
        return Delta(tuple(self._new), lambda low, high, pids: [*read(low, high, pids), *earlier])

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
        for name in ("_t", *([] if self.node.nulls else self.node.list_keys())):
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
