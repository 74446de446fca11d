"""Gathering: rows (_ws, _we, k…, p…) of the same windows, sent by the slots of the level before, merged.

Slots close a window in the same batch, so all its rows are here when the batch is, and nothing is kept. Unless what they give
is held back, as by a mini-partition that is behind (`kernels/slot_turns.py`): then windows that end after what all have
reached wait, as state, for the rows of that one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.operator import Operator, OperatorContext
from headrace.kernels.sql_pieces import group_by, merge_list
from headrace.program.aggregations import GatherNode
from headrace.state import Span


class Gathering(Operator[GatherNode]):
    """A `GatherNode` in one slot. Windows that end after what is known now wait; of state, those that end no later than what was
    known before have been given.
    """

    def __init__(self, node: GatherNode, context: OperatorContext) -> None:
        super().__init__(node, context)
        known = context.progress[node.name]
        self._given, self._complete = known.before.bound, known.after.bound

    def advance(self, low: int, high: int) -> None:
        """The windows of this round; those of other rounds are there too, or will be."""
        waited = [t.filter(pc.greater(t["_we"], self._given)) for t in self._context.state.read()]
        tables = [t for t in (*waited, *self._arrived) if t.num_rows]
        if not tables:
            self.space.define_empty(self.node.view)
            return
        name = self.space.register(f"all_{self.node.name}", pa.concat_tables(tables))
        keys = self.node.list_keys()
        listed = ", ".join([*keys, *merge_list(self.node), "_ws", "_we"])
        sql = f"SELECT {listed} FROM {name} WHERE _we > {low} AND _we <= {min(high, self._complete)}"
        self.space.define(self.node.view, sql + group_by([*keys, "_ws", "_we"]))

    def needed_from(self) -> int:
        return self._complete + 1

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        waiting = [t.filter(pc.greater(t["_we"], self._complete)) for t in tables if t.num_rows]
        if not any(t.num_rows for t in waiting):
            return None
        rows = pa.concat_tables(waiting)
        rows = rows.take(pa.array(np.argsort(rows["pid"].to_numpy(), kind="stable")))
        span = pc.min_max(rows["_we"])
        return rows, Span(span["min"].as_py(), span["max"].as_py() + 1)
