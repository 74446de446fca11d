"""The product's join kernel on rows in memory: what the joins of the studies have in common.

The order-agnostic join and its in-order rivals differ in what they hold and when they join, not in how: all of them
call `define_join`, as a slot does, and what is measured is the price of order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.connection import connect
from headrace.kernels.delta import Delta
from headrace.kernels.join_rows import define_join
from headrace.kernels.workspace import Workspace
from headrace.program.program import Program
from headrace.program.row_joins import JoinRows, RowNode
from headrace.progress import Frontier
from headrace.progress.advance_program import Interval, advance_program, pair_up
from headrace.progress.waits import Waits, meld_waits

FLOW = ("srcIP", "destIP", "srcPort", "destPort")
BACK = ("destIP", "srcIP", "destPort", "srcPort")


def keyed(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Packets as a slot stores them: mini-partition, time, keys."""
    named = {f"k{i}": rows[name] for i, name in enumerate(keys)}
    return pa.table({"pid": pa.array(np.zeros(rows.num_rows, np.uint16)), "_t": rows["ts"], **named})


def bound_of(waits: Waits, frontiers: Mapping[str, Frontier]) -> int:
    return meld_waits(waits, frontiers).bound


class HeldTable(NamedTuple):
    low: int  # the least and the largest time
    high: int
    rows: pa.Table


class HeldRows:
    """Rows of one input, one table for each batch."""

    def __init__(self) -> None:
        self._tables: list[HeldTable] = []

    def add(self, table: pa.Table) -> None:
        if table.num_rows:
            ends = pc.min_max(table["_t"])
            self._tables.append(HeldTable(ends["min"].as_py(), ends["max"].as_py(), table))

    def between(self, low: int, high: int, pids: Collection[int] | None = None) -> list[pa.Table]:
        """The tables that reach into [low, high], as segments are read; all is one mini-partition."""
        return [t.rows for t in self._tables if t.low <= high and t.high >= low]

    def drop_before(self, bound: int) -> pa.Table | None:
        """Forget the rows before a bound, and return them."""
        dropped = []
        held, self._tables = self._tables, []
        for table in held:
            if table.low >= bound:
                self._tables.append(table)
            elif table.high < bound:
                dropped.append(table.rows)
            else:
                before = pc.less(table.rows["_t"], bound)
                dropped.append(table.rows.filter(before))
                self.add(table.rows.filter(pc.invert(before)))
        return pa.concat_tables(dropped) if dropped else None

    @property
    def rows(self) -> int:
        return sum(t.rows.num_rows for t in self._tables)

    @property
    def bytes(self) -> int:
        return sum(t.rows.nbytes for t in self._tables)


class KernelJoin:
    """The only join of a program."""

    def __init__(self, program: Program) -> None:
        steps = [s for level in program.levels for s in level.steps]
        (self.step,) = [s for s in steps if isinstance(s, JoinRows)]
        self.nodes = [
            node for side in self.step.inputs if isinstance(node := program.node(side.node), RowNode)
        ]
        self.rules = program.rules
        self.space = Workspace(connect(program.time_zone))

    def run(self, old: Sequence[HeldRows], new: Sequence[pa.Table], sql: str) -> pa.Table | None:
        """`sql` over the new results, of new rows with old ones and with each other."""
        self.space.begin_round()
        inputs = [Delta((now,) if now.num_rows else (), before.between) for before, now in zip(old, new, strict=True)]
        define_join(self.space, self.step, inputs, (Interval(), Interval()), (None, None))
        view = self.step.view
        return None if self.space.is_empty(view) else self.space.query(sql, view)

    def needed(self, number: int, frontiers: Mapping[str, Frontier]) -> int:
        """Rows of an input before this meet nobody any more."""
        return advance_program(self.rules, pair_up(frontiers, frontiers))[self.nodes[number].needed].after.bound
