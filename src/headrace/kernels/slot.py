"""The operators of one level in one slot: what arrives, the rounds of progress, and what is kept.

A slot gives partial rows and progress to its operators, and runs the steps of its level once for each round of progress:
operators advance, queries downstream are computed in SQL, results are written, rows for the next level are sent. Then what later
batches need becomes a segment. It is a function of (state, delta, progress) to (state, output, progress), and knows no kind of
node or step: `slot_kinds.py` does.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.connection import connect
from headrace.kernels.hot_keys import name_hot_keys
from headrace.kernels.node_segments import NodeSegments
from headrace.kernels.operator import Operator, OperatorContext, split_rounds
from headrace.kernels.renumber_rows import renumber_rows
from headrace.kernels.result_files import ResultWriter
from headrace.kernels.result_pids import ResultPids
from headrace.kernels.slot_context import SlotContext
from headrace.kernels.slot_kinds import OPERATORS, RUNNERS
from headrace.kernels.slot_turns import Turn
from headrace.kernels.static_tables import StaticTables
from headrace.kernels.workspace import Workspace
from headrace.program.messages import Frontiers, HotKey, NodeActivity, Orders, SlotReport, Timings
from headrace.program.node import Node
from headrace.program.program import Program
from headrace.progress import HIGHEST, LOWEST
from headrace.state import SegmentMeta
from headrace.state.dealt_route import list_dealt
from headrace.state.leaf_numbers import find_owner, list_owners


class Slot:
    """One level in one slot, for one turn of a batch."""

    def __init__(
        self,
        program: Program,
        orders: Orders,
        level: int,
        slot: int,
        turn: Turn,
        segments: Sequence[SegmentMeta],
        results: ResultWriter,
    ) -> None:
        self.orders, self.slot, self.level, self.turn = orders, slot, level, turn
        self._steps, self._close, self._started = program.levels[level].steps, 0.0, time.perf_counter()
        con = connect(program.time_zone, program.user, orders.memory, orders.scratch)
        self.space = Workspace(con, program.levels[level].stored, orders.limits)
        self._numbers = len(list_owners(orders.route))
        self._nodes = {n.name: n for n in program.nodes if n.level == level}
        stale = frozenset(number for number in orders.stale if find_owner(orders.route, number) == slot)
        self.segments = {
            name: NodeSegments(
                orders.store,
                name,
                segments,
                turn.pids,
                orders.version,
                stale,
                partial(renumber_rows, self.space, orders, node),
                orders.limits.fan_in,
            )
            for name, node in self._nodes.items()
        }
        self.operators = {name: self._make_operator(node) for name, node in self._nodes.items()}
        self._result_pids = ResultPids(orders.route, turn.pids)
        self._context = SlotContext(
            program,
            orders,
            self.space,
            turn.progress,
            self.operators,
            StaticTables(self.space, orders.store, orders.tables, program.pids),
            results,
            self._result_pids,
            frozenset(one.dealt for _, one in list_dealt(orders.route)),
        )

    def _make_operator(self, node: Node) -> Operator[Any]:
        born, flush = self.orders.born.get(node.name), self.orders.flush
        last_report = flush.reports.get(node.name) if flush is not None else None
        context = OperatorContext(self.space, self.segments[node.name], self.turn.progress, born, last_report)
        return OPERATORS[type(node)](node, context)

    def run(self, arrived: Iterable[tuple[str, pa.Table]]) -> Iterator[pa.RecordBatch]:
        """Take what arrived, run the rounds, give what is for the next level."""
        for node, table in arrived:
            self.operators[node].absorb(table)
        dues = [due for one in self.operators.values() for due in one.due()]
        # a join meets all rows of a batch at once, also those that queries before it in this slot give
        met = {node for step in self._steps for node in step.meets}
        fed = any(step.feeds in met and not step.leaves for step in self._steps)
        rounds = [(LOWEST, HIGHEST)] if fed else split_rounds(dues, self.orders.limits.round_rows)
        for number, one in enumerate(rounds):
            self.space.begin_round()
            yield from self._run_round(replace(self._context, round=one), number == 0)
        self._close = time.perf_counter() - self._started - self._load

    def _run_round(self, context: SlotContext, first: bool) -> Iterator[pa.RecordBatch]:
        for step in self._steps:
            # what rows that meet wait for is the batch's progress, not the round's: they meet in the first
            if (step.meets and not first) or (step.reads is not None and self.space.is_empty(step.reads)):
                if step.gives is not None:
                    self.space.define_empty(step.gives)
            else:
                yield from RUNNERS[type(step)](step, context) or ()

    def finish(self, progress: Frontiers) -> SlotReport:
        """Write state, and say what was done."""
        started = time.perf_counter()
        self.space.begin_round()
        activity = []
        for name, segments in self.segments.items():
            segments.retain(self.operators[name])
            activity.append(self._activity(name))
        ended = time.perf_counter()
        return SlotReport(
            self.orders.version,
            self.slot,
            self.level,
            progress,
            tuple(m for s in self.segments.values() for m in s.written),
            tuple(r for s in self.segments.values() for r in s.released),
            (),
            tuple(activity),
            Timings(self._load, self._close, ended - started, ended - self._started),
            hot_keys=self._name_hot_keys(),
        )

    @property
    def _load(self) -> float:
        return sum(segments.reading for segments in self.segments.values())

    def _name_hot_keys(self) -> tuple[HotKey, ...]:
        hot, pids = self.orders.hot, len(self.orders.route)
        named = [name_hot_keys(self.space, n, self.operators[n.name].arrived(), hot, pids) for n in self._nodes.values()]
        return tuple(key for keys in named for key in keys)

    def _activity(self, node: str) -> NodeActivity:
        count = self._numbers
        rows = np.zeros(count, np.int64)
        for table in self.operators[node].arrived():
            rows += np.bincount(table.column("pid").to_numpy(), minlength=count)
        state_rows, state_bytes = self.segments[node].count_rows(count)
        results = self._result_pids.count(node)
        busy = np.flatnonzero(rows + state_rows + results)
        columns = (rows, state_rows, state_bytes, results)
        return NodeActivity(node, tuple(busy.tolist()), *(tuple(c[busy].tolist()) for c in columns))

    def close(self) -> None:
        """Leave nothing behind."""
        self.space.close()
