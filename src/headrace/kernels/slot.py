"""The stateful stage: one slot, one level, one batch.

A slot receives partial rows and progress, gives both to its operators, and runs the steps of its level once for each
round of progress: operators advance, queries downstream are computed in SQL, results are written, rows for the next
level are sent. Then what later batches need becomes a segment. It is a function of (state, delta, progress) to
(state, output, progress); what it did is told in a `SlotReport`. Its mini-partitions may take turns (`slot_turns.py`): then
each turn is such a function, over mini-partitions and progress of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernels import operator, payloads
from headrace.kernels.connection import connect
from headrace.kernels.delta import Delta
from headrace.kernels.find_versions import StoredVersions, define_versions
from headrace.kernels.folder_samples import FolderSampler
from headrace.kernels.gathering import Gathering
from headrace.kernels.hot_keys import name_hot_keys
from headrace.kernels.join_rows import define_join
from headrace.kernels.joint_aggregation import JointAggregation
from headrace.kernels.merge_reports import list_live, merge_reports
from headrace.kernels.node_segments import NodeSegments
from headrace.kernels.operator import Operator, split_rounds
from headrace.kernels.pane_aggregation import PaneAggregation
from headrace.kernels.passed_rows import PassedRows
from headrace.kernels.result_files import ResultWriter
from headrace.kernels.slot_turns import FrontierMap, Turn, plan_turns
from headrace.kernels.source_stage import Chunk, read_own_rows
from headrace.kernels.sql_pieces import name_pid_sql
from headrace.kernels.static_tables import StaticTables
from headrace.kernels.stored_rows import StoredRows
from headrace.kernels.worker import measure_peak, name_executor
from headrace.kernels.workspace import Workspace
from headrace.program.aggregations import GatherNode, JointNode, PaneNode
from headrace.program.fold_progress import fold_progress
from headrace.program.messages import (
    Frontiers,
    HotKey,
    LevelProgress,
    NodeActivity,
    Orders,
    SlotReport,
    SourceReport,
    Timings,
)
from headrace.program.node import Node
from headrace.program.program import Program
from headrace.program.row_joins import JoinRows, RowNode
from headrace.program.slot_steps import Advance, Compute, Emit, Send
from headrace.program.table_lookups import LookUp, TransitNode
from headrace.program.version_joins import FindVersions, VersionNode
from headrace.progress import (
    HIGHEST,
    LOWEST,
    meld,
)
from headrace.state import SegmentMeta
from headrace.state.dealt_route import list_dealt
from headrace.state.leaf_numbers import find_owner, list_owners, number_hashes, number_leaf


def run_slot(
    program: Program,
    orders: Orders,
    level: int,
    received: Iterable[pa.RecordBatch],
    read_own: Callable[[int], Iterable[Chunk]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The stateful stage over what one slot received, and over rows it reads by itself: those of folders it owns, as
    `read_own` gives them for its number.
    """
    began, busy = time.perf_counter(), time.process_time()
    arrived: list[tuple[str, pa.Table]] = []
    sources: list[SourceReport] = []
    frontiers: Frontiers | None = None
    behind: list[FrontierMap] = []
    sizes: dict[str, int] = {}
    slot: int | None = None
    for at, node, payload in payloads.read_rows(received):
        slot = at
        if node == payloads.MESSAGE:
            message = payloads.read_message(payload)
            if isinstance(message, SlotReport):  # on its way to the driver
                yield payloads.make_row(0, node, payload)
            elif isinstance(message, SourceReport):
                sources.append(message)
            elif isinstance(message, LevelProgress):
                frontiers = message.streams
                behind += [message.behind] if message.behind is not None else []
        elif program.node(node).level > level:  # a union of rows from several levels is read above all of them
            yield payloads.make_row(at, node, payload)
        else:
            arrived.append((node, payloads.read_table(payload)))
            sizes[node] = sizes.get(node, 0) + payload.size
    if slot is None:
        return
    after = frontiers if frontiers is not None else fold_progress(program, orders, sources)
    waited = time.perf_counter() - began
    sampler = FolderSampler(program)
    if read_own is not None:
        arrived += read_own_rows(program, orders, read_own(slot), sampler)
    sent = sum(source.sent for source in sources)
    plan = plan_turns(program, orders, level, slot, after, _meld_behind(after, behind), arrived, sent)
    results = ResultWriter(orders.store, orders.version, program.schemas)
    segments, reports = plan.segments, []
    run: Slot | None = None
    try:
        for turn in plan.turns:
            run = Slot(program, orders, level, slot, turn, segments, results)
            yield from run.run(turn.read_rows())
            reports.append(run.finish(after))
            run.close()
            segments = list_live(segments, reports[-1:])
        if level + 1 < len(program.levels):
            for each in range(orders.slots):
                yield payloads.make_message(each, LevelProgress(after, plan.behind))
        report = merge_reports(reports, orders.segments, segments)
        files, writing = results.close(), time.perf_counter()
        orders.store.sync([m.path for m in report.segments] + [f.path for each in files.values() for f in each])
        spent, synced = report.timings, time.perf_counter() - writing
        spent = replace(spent, keep=spent.keep + synced, total=spent.total + synced)
        yield payloads.make_message(
            0,
            replace(
                report,
                results=files,
                timings=replace(spent, wait=waited, cpu=time.process_time() - busy),
                sources=tuple(sources) if slot == 0 else (),
                executor=name_executor(),
                peak_memory=measure_peak(),
                received=sizes,
                samples=sampler.give(),
                waiting=plan.waiting,
                cut=plan.cut,
            ),
        )
    except BaseException:
        with suppress(Exception):  # the first error is the one to tell
            results.close()
            if run is not None:
                run.close()
        raise


def _meld_behind(after: Frontiers, behind: Sequence[FrontierMap]) -> FrontierMap | None:
    """What all slots of the level before have reached; None if that is all of the batch's progress."""
    if not behind:
        return None
    return {s: meld([p.frontier, *(each[s] for each in behind)]) for s, p in after.items()}


class Slot:
    """The operators of one level in one slot, for one turn of a batch."""

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
        self.program, self.orders, self.slot, self.turn = program, orders, slot, turn
        self.level, self._steps = level, program.levels[level].steps
        con = connect(program.time_zone, program.user, orders.memory, orders.scratch)
        self.space = Workspace(con, program.levels[level].stored)
        self.tables = StaticTables(self.space, orders.store, orders.tables, program.pids)
        self.results = results
        self._numbers = len(list_owners(orders.route))
        self._dealt = {one.dealt for _, one in list_dealt(orders.route)}
        self._load, self._close = 0.0, 0.0
        self._started = time.perf_counter()
        self._progress = turn.progress
        self._nodes = {n.name: n for n in program.nodes if n.level == level}
        self._met: set[str] = set()  # views of joins that an earlier round has given
        self._result_pids: dict[str, np.ndarray] = {}
        stale = frozenset(number for number in orders.stale if find_owner(orders.route, number) == slot)
        self.segments = {
            name: NodeSegments(
                orders.store, name, segments, turn.pids, orders.version, stale, partial(self._renumber, node)
            )
            for name, node in self._nodes.items()
        }
        self.operators = {name: self._operator(node) for name, node in self._nodes.items()}

    def _operator(self, node: Node) -> Operator:
        progress = self._progress
        if isinstance(node, RowNode):
            segments = self.segments[node.name]
            kind = StoredVersions if isinstance(node, VersionNode) else StoredRows
            return kind(node, self.space, segments.read_between, progress[node.needed].after.bound)
        if isinstance(node, TransitNode):
            return PassedRows(node, self.space)
        if isinstance(node, JointNode):
            both = [(progress[own], progress[each]) for own, each in zip(node.own, node.each, strict=True)]
            before, after = ([(own[end].bound, each[end].bound) for own, each in both] for end in (0, 1))
            return JointAggregation(node, self.space, lambda: self._read_state(node.name), before, after)
        known = progress[node.name]
        if isinstance(node, GatherNode):
            return Gathering(node, self.space, lambda: self._read_state(node.name), known)
        flush = self.orders.flush
        assert isinstance(node, PaneNode)
        return PaneAggregation(
            node,
            self.space,
            lambda: self._read_state(node.name),
            known,
            self.orders.born.get(node.name),
            flush.reports.get(node.name) if flush is not None else None,
            operator.ROUND_ROWS,
        )

    def _read_state(self, node: str) -> list[pa.Table]:
        started = time.perf_counter()
        tables = self.segments[node].read()
        self._load += time.perf_counter() - started
        return tables

    def _renumber(self, node: Node, rows: pa.Table) -> pa.Table:
        """The same rows under the numbers that they have on this route: copies that came with a leaf being dealt are gone when it
        is whole again.
        """
        copies = self.orders.copies.get(node.name)
        if copies:
            rows = rows.filter(pa.array(~np.isin(rows["pid"].to_numpy(), list(copies))))
        name = self.space.register("stale_rows", rows.append_column("_row", pa.array(np.arange(rows.num_rows))))
        numbered = name_pid_sql(node, self.orders.route, f"SELECT * EXCLUDE (pid) FROM {name}")
        found = self.space.fetch_numpy(f"SELECT _row, pid FROM ({numbered}) ORDER BY _row")
        self.space.forget(name)
        rows = rows.take(pa.array(np.asarray(found["_row"], np.int64)))
        before, after = rows["pid"].to_numpy(), np.asarray(found["pid"], np.uint16)
        pids = len(self.orders.route)
        if not np.array_equal(before % pids, after % pids):
            raise InternalError(f"keys of {node.label} have another hash in state than when they came")
        return rows.set_column(rows.column_names.index("pid"), "pid", pa.array(after))

    # -- rounds --------------------
    def run(self, arrived: Iterable[tuple[str, pa.Table]]) -> Iterator[pa.RecordBatch]:
        """Take what arrived, run the rounds, give what is for the next level."""
        for node, table in arrived:
            self.operators[node].absorb(table)
        dues = [due for one in self.operators.values() for due in one.due()]
        # a join meets all rows of a batch at once, also those that queries before it in this slot give
        fed = any(isinstance(s, Send) and s.local and isinstance(self._nodes[s.node], RowNode) for s in self._steps)
        for low, high in [(LOWEST, HIGHEST)] if fed else split_rounds(dues, operator.ROUND_ROWS):
            self.space.begin_round()
            yield from self._run_round(low, high)
        self._close = time.perf_counter() - self._started - self._load

    def _run_round(self, low: int, high: int) -> Iterator[pa.RecordBatch]:
        for step in self._steps:
            if isinstance(step, Advance):
                self.operators[step.node].advance(low, high)
            elif isinstance(step, (JoinRows, FindVersions)):
                self._meet(step)
            elif step.reads is not None and self.space.is_empty(step.reads):
                if step.gives is not None:
                    self.space.define_empty(step.gives)
            elif isinstance(step, Compute):
                if isinstance(step, LookUp):
                    self.tables.open(step)
                self.space.define(step.view, step.sql, step.source)
            elif isinstance(step, Send):
                yield from self._send(step)
            elif isinstance(step, Emit):
                self._emit(step)

    def _meet(self, step: JoinRows | FindVersions) -> None:
        """Rows of several inputs, in the first round: what they wait for is the batch's progress, not the round's."""
        if step.view in self._met:
            self.space.define_empty(step.view)
        elif isinstance(step, JoinRows):
            self._join(step)
        else:
            self._find_versions(step)
        self._met.add(step.view)

    def _join(self, step: JoinRows) -> None:
        inputs = [self._delta(side.node) for side in step.inputs]
        complete = [self._progress[side.complete] for side in step.inputs]
        born = [self.orders.born.get(side.node) for side in step.inputs]
        by_pid = any(side.node in self._dealt for side in step.inputs)
        define_join(self.space, step, inputs, complete, born, by_pid)

    def _delta(self, node: str) -> Delta:
        rows = self.operators[node]
        assert isinstance(rows, StoredRows)
        return rows.delta()

    def _find_versions(self, step: FindVersions) -> None:
        rows, versions = self._delta(step.rows), self._delta(step.versions)
        define_versions(self.space, step, rows, versions, self._progress[step.complete])

    def _send(self, step: Send) -> Iterator[pa.RecordBatch]:
        node = self.program.node(step.node)
        sql = name_pid_sql(node, self.orders.route, step.sql)
        if isinstance(node, RowNode):  # a lookup passes late rows on, and a join takes none
            passed = self._progress[node.name].before
            sql += f" WHERE _t IS NULL OR _t >= {passed.bound}" if passed.is_known else ""
        for table in self.space.stream(sql, step.source):  # a join may give far more rows than state has
            if step.local:
                self.operators[node.name].absorb(table)
                continue
            for slot, part in payloads.split_by_slot(table, self.orders.route, self.orders.slots):
                yield from payloads.make_payloads(slot, node.name, part)

    def _emit(self, step: Emit) -> None:
        for table in self.space.stream(step.sql, step.source):
            if not table.num_rows:
                continue
            if step.by_pid:
                last = table.num_columns - 1
                numbers = self._find_own(number_hashes(self.orders.route, table.column(last).to_numpy()))
                counts = np.bincount(numbers, minlength=self._numbers)
                self._result_pids[step.node] = self._result_pids.get(step.node, 0) + counts
                table = table.remove_column(last)
            self.results.write(step.query, table)

    def _find_own(self, numbers: np.ndarray) -> np.ndarray:
        """The mini-partitions of results. Keys lead to the first part of a dealt leaf; results are of one that is here."""
        if not self._dealt:
            return numbers
        for leaf, one in list_dealt(self.orders.route):
            parts = [number_leaf(part, len(self.orders.route)) for part in one.list_parts(leaf)]
            mine = [part for part in parts if part in self.turn.pids]
            if mine and parts[0] not in mine:
                numbers = np.where(numbers == parts[0], mine[0], numbers)
        return numbers

    # -- the end --------------------
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
            {},
            tuple(activity),
            Timings(self._load, self._close, ended - started, ended - self._started),
            hot_keys=self._name_hot_keys(),
        )

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
        results = self._result_pids.get(node, np.zeros(count, np.int64))
        busy = np.flatnonzero(rows + state_rows + results)
        columns = (rows, state_rows, state_bytes, results)
        return NodeActivity(node, tuple(busy.tolist()), *(tuple(c[busy].tolist()) for c in columns))

    def close(self) -> None:
        """Leave nothing behind."""
        self.space.close()
