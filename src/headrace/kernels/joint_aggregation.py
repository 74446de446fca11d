"""Joint aggregation: groups by the times of several inputs of a join, closed box by box (document 003, section 7.2).

A result of a join that is still to come has a row still to come: so on some input its time is not behind that input's
low-watermark b_i. A group whose windows end at e_0, e_1, … is therefore complete when e_i <= b_i for all i: the box of joint
punctuation (Figures 7-3 and 7-4), however wide the band. It is also complete when one e_i has been passed by the individual
punctuation of the join on t_i: the slab. Whichever comes first closes it.

State is partial rows (pid, k…, p…). What was complete before a batch has been given before, and no row of it can come any more,
so a group is given when it is complete after the batch and was not before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.operator import Operator, OperatorContext
from headrace.kernels.sql_pieces import group_by, merge_list
from headrace.program.aggregations import JointNode
from headrace.progress import LOWEST
from headrace.state import Span

Bounds = Sequence[tuple[int, int]]  # of each time: what its input excludes, what the join excludes


class JointAggregation(Operator[JointNode]):
    """A `JointNode` in one slot, from the bounds before the batch to those after it."""

    def __init__(self, node: JointNode, context: OperatorContext) -> None:
        super().__init__(node, context)
        both = [(context.progress[own], context.progress[each]) for own, each in zip(node.own, node.each, strict=True)]
        self._before = [(own.before.bound, each.before.bound) for own, each in both]
        self._after = [(own.after.bound, each.after.bound) for own, each in both]

    def advance(self, low: int, high: int) -> None:
        tables = [t for t in (*self._context.state.read(), *self._arrived) if t.num_rows] if self._before != self._after else []
        if not tables:
            self.space.define_empty(self.node.view)
            return
        name = self.space.register(f"all_{self.node.name}", pa.concat_tables(tables))
        keys = self.node.list_keys()
        now, earlier = self._complete_sql(self._after), self._complete_sql(self._before)
        sql = f"SELECT {', '.join([*keys, *merge_list(self.node)])} FROM {name} WHERE {now} AND NOT {earlier}"
        self.space.define(self.node.view, sql + group_by(keys))

    def needed_from(self) -> int:
        return self._after[0][1] + 1

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        keys = self.node.list_keys()
        rows = self.space.register("kept", pa.concat_tables(tables))
        listed = ", ".join(["pid", *keys, *merge_list(self.node)])
        kept = f"SELECT {listed} FROM {rows} WHERE NOT {self._complete_sql(self._after)}{group_by(['pid', *keys])} ORDER BY pid"
        table = self.space.query(kept)
        if not table.num_rows:
            return None
        self.space.register("spanned", table)
        ends = self.space.query(f"SELECT min({self.node.ends[0]}) AS low, max({self.node.ends[0]}) AS high FROM spanned")
        return table, Span(pc.min(ends["low"]).as_py(), pc.max(ends["high"]).as_py() + 1)

    def _complete_sql(self, bounds: Bounds) -> str:
        """Whether a group is complete, over its keys."""
        pairs = list(zip(self.node.ends, bounds, strict=True))
        slabs = [f"{end} <= {slab}" for end, (_, slab) in pairs if slab > LOWEST]
        if all(own > LOWEST for own, _ in bounds):
            slabs.append("(" + " AND ".join(f"{end} <= {own}" for end, (own, _) in pairs) + ")")
        return f"({' OR '.join(slabs) or 'false'})"
