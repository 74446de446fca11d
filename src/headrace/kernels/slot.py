"""The stateful stage: one slot, one level, one batch.

A function of (state, delta, progress) to (state, output, progress): partial rows that arrived are merged
with the segments of the slot's mini-partitions, windows that progress completes are closed, the queries
downstream are computed in SQL, results are written, and what open windows still need becomes a new segment.
Files are written under names of this attempt alone and only *named* in the META message; they exist for the
world when the driver's manifest names them (DESIGN §5).

Progress is applied in *rounds*: when very many windows close at once (a flush, a long lull), each round
closes as many as fit in memory. A round is a whole pass over the steps, so chained queries see complete
windows in every round.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.kernels import codec
from headrace.kernels.close import close_sql, cover
from headrace.kernels.compact import choose
from headrace.kernels.duck import arrow, connect
from headrace.kernels.flush import flush_to
from headrace.kernels.judge import repetitive
from headrace.kernels.spec import Batch, Close, Compute, Emit, Gather, Node, Program, Progress, Send
from headrace.kernels.sql import columns, group_by, merge_list, pane_sql, pid_sql
from headrace.progress import advance, meld
from headrace.state import SegmentMeta, pids_of, read_segment, write_segment
from headrace.windows import closing, needed_from

FLOOR, CEILING = -(1 << 62), 1 << 62
SMALL = 20_000  # pane rows below which one long statement is quicker than several with tables between them
ROUND_ROWS = 8_000_000  # pane rows joined to windows in one round, at most (unless one window needs more)


def run_slot(
    program: Program, batch: Batch, level: int, received: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The stateful stage over what one slot received."""
    deltas: dict[str, list[pa.Table]] = {}
    notes: list[dict[str, Any]] = []
    slot: int | None = None
    for at, node, payload in codec.received(received):
        slot = at
        if node == codec.META:
            yield codec.row(0, codec.META, payload)
        elif node == codec.PROGRESS:
            notes.append(codec.read_message(payload))
        elif (
            program.node(node).level > level
        ):  # a union of rows from several levels is read above all of them
            yield codec.row(at, node, payload)
        else:
            deltas.setdefault(node, []).append(codec.read_table(payload))
    if slot is None:
        return
    run = Slot(program, batch, level, slot, merged_progress(program, batch, notes), deltas)
    yield from run.run()
    yield codec.message(0, codec.META, run.meta(notes if level == 0 else []))


def merged_progress(program: Program, batch: Batch, notes: list[dict[str, Any]]) -> dict[str, Progress]:
    """Progress after this batch: every slot hears from every source task, so all come to the same answer."""
    after: dict[str, Progress] = {}
    known = {s: p.max_seen for s, p in batch.progress.items()}
    flushed = flush_to(program, known).bounds if batch.flush else {}
    for spec in program.streams:
        before = batch.progress[spec.name]
        seen = [n["streams"][spec.name]["max_seen"] for n in notes if spec.name in n["streams"]]
        largest = max((s for s in [before.max_seen, *seen] if s is not None), default=None)
        bound = None if largest is None else largest - spec.slack
        low_watermark = advance(advance(before.low_watermark, bound), flushed.get(spec.name))
        after[spec.name] = Progress(largest, low_watermark)
    return after


class Slot:
    def __init__(
        self,
        program: Program,
        batch: Batch,
        level: int,
        slot: int,
        after: dict[str, Progress],
        deltas: dict[str, list[pa.Table]],
    ) -> None:
        self.program, self.batch, self.level, self.slot, self.after = program, batch, level, slot, after
        self.con = connect(program.time_zone, program.user)
        self.nodes = {n.name: n for n in program.nodes if n.level == level}
        self.pids = pids_of(batch.route, slot)
        self.deltas = {n: list(deltas.get(n, [])) for n in self.nodes}
        self.state: dict[str, list[pa.Table]] = {}
        self.live: dict[str, list[SegmentMeta]] = {n: [] for n in self.nodes}
        self.panes: dict[str, dict[int, int]] = {}  # node -> rows per pane, in order
        self.writers: dict[str, tuple[str, pq.ParquetWriter, Any]] = {}
        self.counts: dict[str, int] = {}
        self.segments: list[SegmentMeta] = []
        self.dropped: list[str] = []
        self.empty: set[str] = set()
        self.ctes: dict[str, list[str]] = {}  # relation -> the WITH items a statement that reads it needs
        self.tables: list[str] = []  # what to drop from DuckDB
        self.arrows: list[str] = []  # what to unregister
        self.sent: list[pa.RecordBatch] = []
        self.timings: dict[str, float] = {"load": 0.0}
        seen = {s: p.max_seen for s, p in batch.progress.items()}
        self.landmarks = flush_to(program, seen).landmarks if batch.flush else {}

    # -- progress of a node --------------------
    def before_of(self, node: Node) -> int:
        bound = meld([self.batch.progress[s].low_watermark for s in node.streams])
        return FLOOR if bound is None else bound

    def after_of(self, node: Node) -> int:
        bound = meld([self.after[s].low_watermark for s in node.streams])
        return FLOOR if bound is None else bound

    # -- the run --------------------
    def run(self) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        for meta in self.batch.segments:
            if meta.node in self.live and not self.pids.isdisjoint(meta.pids):
                self.live[meta.node].append(meta)
        try:
            for low, high in self._rounds():
                self._round(low, high)
                yield from self.sent
                self.sent = []
            self.timings["close"] = time.perf_counter() - started - self.timings["load"]
            if self.level + 1 < len(self.program.levels):
                note = {
                    "streams": {s: {"max_seen": p.max_seen} for s, p in self.after.items()},
                    "low_watermark": {s: p.low_watermark for s, p in self.after.items()},
                }
                for slot in range(self.batch.slots):
                    yield codec.message(slot, codec.PROGRESS, note)
            for node in self.nodes.values():
                self._keep(node)
            self.timings["keep"] = (
                time.perf_counter() - started - self.timings["close"] - self.timings["load"]
            )
        finally:
            self._clean()
        self.timings["slot"] = time.perf_counter() - started

    def _state(self, node: Node) -> list[pa.Table]:
        """The segments that windows still open before this batch need, read when the first of them closes."""
        if not node.width:
            return []
        if node.name not in self.state:
            started = time.perf_counter()
            before = self.before_of(node)
            needed = FLOOR
            if before > FLOOR:
                needed = min((needed_from(s, before) for s in node.specs), default=FLOOR)
            self.state[node.name] = [
                read_segment(self.batch.store, m, self.pids).replace_schema_metadata(None)
                for m in self.live[node.name]
                if m.max_pane >= needed
            ]
            self.timings["load"] += time.perf_counter() - started
        return self.state[node.name]

    def _rows(self, node: Node) -> str | None:
        """The node's state and delta as one relation; None if there is nothing."""
        name = f"all_{node.name}"
        if name in self.arrows:
            return name
        tables = [*self._state(node), *self.deltas[node.name]]
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        self._register(name, pa.concat_tables(tables))
        return name

    def _panes(self, node: Node) -> dict[int, int]:
        """Pane starts in order, with their number of rows."""
        if node.name not in self.panes:
            name = self._rows(node)
            sql = f"SELECT pane, count(*) FROM {name} GROUP BY 1 ORDER BY 1"
            self.panes[node.name] = dict(self.con.sql(sql).fetchall()) if name else {}
        return self.panes[node.name]

    def _rounds(self) -> list[tuple[int, int]]:
        """Intervals of progress that together cover the batch's."""
        ends: list[tuple[int, int]] = []
        for step in self.program.levels[self.level] if self.level < len(self.program.levels) else ():
            if isinstance(step, Close):
                node = self.nodes[step.node]
                windows = self._closing(node, step, FLOOR, CEILING)
                counts = self._panes(node) if windows else {}
                for window in windows:
                    ends.append(
                        (window.end, sum(c for p, c in counts.items() if window.start <= p < window.end))
                    )
        rounds: list[tuple[int, int]] = []
        low, weight = FLOOR, 0
        ends.sort()
        for i, (end, rows) in enumerate(ends):
            weight += rows
            if weight > ROUND_ROWS and i + 1 < len(ends) and ends[i + 1][0] > end:
                rounds.append((low, end))
                low, weight = end, 0
        return [*rounds, (low, CEILING)]

    def _closing(self, node: Node, step: Close, low: int, high: int) -> list[Any]:
        before, after = max(self.before_of(node), low), min(self.after_of(node), high)
        after = min(after, self.landmarks.get(node.name, after))
        if after <= before:
            return []
        found = closing(step.spec, self._panes(node), None if before <= FLOOR else before, after)
        born = self.batch.born.get(node.name)
        return found if born is None else [w for w in found if w.start > born]

    def _round(self, low: int, high: int) -> None:
        self._drop_tables()
        self.empty, self.ctes = set(), {}
        for step in self.program.levels[self.level]:
            if isinstance(step, Close):
                self._close(step, low, high)
            elif isinstance(step, Gather):
                self._gather(step, low, high)
            elif step.source in self.empty:
                if isinstance(step, Compute):
                    self.empty.add(step.view)
            elif isinstance(step, Compute):
                self._define(step.view, step.sql, step.stored, self.ctes[step.source])
            elif isinstance(step, Send):
                self._send(step)
            else:
                self._emit(step)

    def _close(self, step: Close, low: int, high: int) -> None:
        node = self.nodes[step.node]
        windows = self._closing(node, step, low, high)
        rows = self._rows(node) if windows else None
        if rows is None:
            self.empty.add(step.view)
            return
        sizes = self._panes(node)
        tables, sql = close_sql(node, rows, step.view, cover(list(sizes), windows), sizes, windows)
        before = []
        if sum(self._panes(node).values()) < SMALL:
            before = [f"{name} AS MATERIALIZED ({table})" for name, table in tables]
        else:
            for name, table in tables:
                self._define(name, table, True)
        self._define(step.view, sql, step.stored, before)

    def _gather(self, step: Gather, low: int, high: int) -> None:
        """Rows of the windows of this round; those of other rounds are there too, or will be."""
        node = self.nodes[step.node]
        rows = self._rows(node)
        if rows is None:
            self.empty.add(step.view)
            return
        keys, _ = columns(node)
        listed = ", ".join([*keys, *merge_list(node), "_ws", "_we"])
        rows += f" WHERE _we > {low} AND _we <= {high}"
        self._define(step.view, f"SELECT {listed} FROM {rows}" + group_by([*keys, "_ws", "_we"]), step.stored)

    def _define(self, view: str, sql: str, stored: bool, before: list[str] | None = None) -> None:
        """A relation: a table if several steps read it, else a WITH item of the one statement that does."""
        if stored:
            self.con.execute(f"CREATE OR REPLACE TEMP TABLE {view} AS {_with(before or [])}{sql}")
            self.tables.append(view)
            self.ctes[view] = []
        else:
            self.ctes[view] = [*(before or []), f"{view} AS ({sql})"]

    def _query(self, source: str, sql: str) -> pa.Table:
        return arrow(self.con, _with(self.ctes[source]) + sql)

    def _register(self, name: str, table: pa.Table) -> None:
        self.con.register(name, table)
        if name not in self.arrows:
            self.arrows.append(name)

    def _send(self, step: Send) -> None:
        node = self.program.node(step.node)
        sql = f"SELECT {pid_sql(node, self.program.pids)} AS pid, * FROM ({step.sql})"
        table = self._query(step.source, sql)
        if table.num_rows == 0:
            return
        if step.local:
            self.deltas[node.name].append(table)
            self.panes.pop(node.name, None)
            if (name := f"all_{node.name}") in self.arrows:
                self.con.unregister(name)
                self.arrows.remove(name)
            return
        for slot, part in codec.split(table, self.batch.route, self.batch.slots):
            self.sent += codec.tables(slot, node.name, part)

    def _emit(self, step: Emit) -> None:
        table = self._query(step.source, step.sql)
        if table.num_rows == 0:
            return
        schema = pa.ipc.read_schema(pa.py_buffer(self.program.schemas[step.query]))
        if step.query not in self.writers:
            path = f"results/{step.query}/{self.batch.version:012d}-{uuid.uuid4().hex}.parquet"
            out = self.batch.store.open_output(path)
            writer = pq.ParquetWriter(out, schema, use_dictionary=repetitive(schema))
            self.writers[step.query] = (path, writer, out)
        self.writers[step.query][1].write_table(table.cast(schema))
        self.counts[step.query] = self.counts.get(step.query, 0) + table.num_rows

    # -- state after the batch --------------------
    def _keep(self, node: Node) -> None:
        """What open windows still need of the delta becomes a segment; full tiers are compacted with it."""
        if not node.width:
            return
        after = self.after_of(node)
        needed = min((needed_from(s, after) for s in node.specs), default=FLOOR) if after > FLOOR else FLOOR
        live = []
        for meta in self.live[node.name]:
            if meta.max_pane < needed:
                if self.pids.issuperset(meta.pids):
                    self.dropped.append(meta.path)
            else:
                live.append(meta)
        compacted, level = choose([m for m in live if self.pids.issuperset(m.pids)])
        tables = [read_segment(self.batch.store, m, None).replace_schema_metadata(None) for m in compacted]
        tables += self.deltas[node.name]
        self.dropped += [m.path for m in compacted]
        tables = [t for t in tables if t.num_rows]
        if tables:
            self._register("keep", pa.concat_tables(tables))
            table = arrow(self.con, self._keep_sql(node, needed, after))
            if table.num_rows:
                path = f"segments/{node.name}/{self.batch.version:012d}-{uuid.uuid4().hex}.arrow"
                meta = write_segment(self.batch.store, path, node.name, table, level)
                self.segments.append(meta)

    def _keep_sql(self, node: Node, needed: int, after: int) -> str:
        keys, _ = columns(node)
        pane = "pane"
        landmark = next((s for s in node.specs if s.range is None), None)
        if landmark is not None and after > FLOOR:  # what every later window will hold can be one pane
            settled = f"pane + {node.width} <= {after}"
            if landmark.reset is None:
                settled, base = f"{settled} AND pane >= {landmark.origin}", str(landmark.origin)
            else:
                base = pane_sql("pane", landmark.reset, landmark.origin % landmark.reset)
            pane = f"CASE WHEN {settled} THEN {base} ELSE pane END"
        where = f" WHERE pane >= {needed}" if needed > FLOOR else ""
        rows = f"(SELECT * REPLACE ({pane} AS pane) FROM keep{where})" if pane != "pane" else f"keep{where}"
        listed = ", ".join(["pid", "pane", *keys, *merge_list(node)])
        return f"SELECT {listed} FROM {rows}" + group_by(["pid", "pane", *keys]) + " ORDER BY pid"

    # -- ending --------------------
    def _drop_tables(self) -> None:
        if self.tables:
            self.con.execute("; ".join(f"DROP TABLE IF EXISTS {name}" for name in self.tables))
        self.tables = []

    def _clean(self) -> None:
        for _, writer, out in self.writers.values():
            writer.close()
            out.close()
        self._drop_tables()
        for name in self.arrows:
            self.con.unregister(name)
        self.arrows = []

    def meta(self, notes: list[dict[str, Any]]) -> dict[str, Any]:
        """What this task did, for the manifest."""
        results = [
            {"query": q, "path": p, "rows": self.counts[q], "bytes": self.batch.store.size(p)}
            for q, (p, _, _) in self.writers.items()
        ]
        return {
            "version": self.batch.version,
            "slot": self.slot,
            "level": self.level,
            "progress": {s: [p.max_seen, p.low_watermark] for s, p in self.after.items()},
            "segments": [m.to_json() for m in self.segments],
            "dropped": self.dropped,
            "results": results,
            "panes": {n: len(p) for n, p in self.panes.items()},
            "timings": self.timings,
            "notes": notes if self.slot == 0 else [],
        }


def _with(items: list[str]) -> str:
    return f"WITH {', '.join(items)} " if items else ""
