"""The stateful stage: one slot, one level, one batch.

A function of (state, delta, progress) to (state, output, progress): partial rows that arrived are merged with the
segments of the slot's mini-partitions, windows that progress completes are closed, the queries downstream are computed
in SQL, results are written, and what open windows still need becomes a new segment. Files are written under names of this
attempt alone and only *named* in the META message; they exist for the world when the driver's manifest names them (DESIGN §5).

Progress is applied in *rounds*: when very many windows close at once (a flush, a long lull), each round closes as many as
fit in memory. A round is a whole pass over the steps, so chained queries see complete windows in every round.
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
from headrace.kernels.sql import columns, group_by, merge_list, pane_sql, pid_sql
from headrace.kernels.spec import Batch, Close, Compute, Emit, Gather, Node, Program, Progress, Send
from headrace.progress import advance, meld
from headrace.state import SegmentMeta, pids_of, read_segment, write_segment
from headrace.windows import closing, first_end, needed_from

FLOOR, CEILING = -(1 << 62), 1 << 62
ROUND_ROWS = 8_000_000  # pane rows joined to windows in one round, at most (unless one window needs more)


def run_slot(program: Program, batch: Batch, level: int, received: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
        elif program.node(node).level > level:  # a union of rows from several levels is read above all of them
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
    for spec in program.streams:
        before = batch.progress[spec.name]
        seen = [n["streams"][spec.name]["max_seen"] for n in notes if spec.name in n["streams"]]
        largest = max((s for s in [before.max_seen, *seen] if s is not None), default=None)
        bound = None if largest is None else largest - spec.slack
        forced = [n["low_watermark"][spec.name] for n in notes if "low_watermark" in n]
        after[spec.name] = Progress(largest, advance(advance(before.low_watermark, bound), forced[0] if forced else None))
    return after


class Slot:
    def __init__(
        self, program: Program, batch: Batch, level: int, slot: int, after: dict[str, Progress], deltas: dict[str, list[pa.Table]]
    ) -> None:
        self.program, self.batch, self.level, self.slot, self.after = program, batch, level, slot, after
        self.con = connect(program.time_zone, program.user)
        self.nodes = {n.name: n for n in program.nodes if n.level == level}
        self.pids = pids_of(batch.route, slot)
        self.deltas = {n: [t for t in deltas.get(n, [])] for n in self.nodes}
        self.state: dict[str, list[pa.Table]] = {}
        self.live: dict[str, list[SegmentMeta]] = {n: [] for n in self.nodes}
        self.panes: dict[str, list[int]] = {}
        self.writers: dict[str, tuple[str, pq.ParquetWriter, Any]] = {}
        self.counts: dict[str, int] = {}
        self.segments: list[SegmentMeta] = []
        self.dropped: list[str] = []
        self.empty: set[str] = set()
        self.names: list[tuple[str, str]] = []  # what to drop from DuckDB, ("VIEW" | "TABLE" | "ARROW", name)
        self.sent: list[pa.RecordBatch] = []
        self.open_windows = 0
        self.state_rows = 0
        self.timings: dict[str, float] = {}

    # -- progress of a node ----------------------------------------------------------------------------------------
    def before_of(self, node: Node) -> int:
        bound = meld([self.batch.progress[s].low_watermark for s in node.streams])
        return FLOOR if bound is None else bound

    def after_of(self, node: Node) -> int:
        bound = meld([self.after[s].low_watermark for s in node.streams])
        return FLOOR if bound is None else bound

    # -- the run ---------------------------------------------------------------------------------------------------
    def run(self) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        for meta in self.batch.segments:
            if meta.node in self.live and not self.pids.isdisjoint(meta.pids):
                self.live[meta.node].append(meta)
        try:
            self._load()
            self.timings["load"] = time.perf_counter() - started
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
            self.timings["keep"] = time.perf_counter() - started - self.timings["close"] - self.timings["load"]
        finally:
            self._clean()
        self.timings["slot"] = time.perf_counter() - started

    def _load(self) -> None:
        for node in self.nodes.values():
            if node.width:
                before = self.before_of(node)
                needed = min((needed_from(s, before) for s in node.specs), default=FLOOR) if before > FLOOR else FLOOR
                self.state[node.name] = [
                    read_segment(self.batch.store, m, self.pids).replace_schema_metadata(None)
                    for m in self.live[node.name]
                    if m.max_pane >= needed
                ]

    def _rows(self, node: Node) -> str | None:
        """The node's state and delta as one relation; None if there is nothing."""
        name = f"all_{node.name}"
        if ("ARROW", name) in self.names:
            return name
        tables = [*self.state.get(node.name, []), *self.deltas[node.name]]
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        self.con.register(name, pa.concat_tables(tables))
        self.names.append(("ARROW", name))
        return name

    def _panes(self, node: Node) -> list[int]:
        if node.name not in self.panes:
            name = self._rows(node)
            found = self.con.sql(f"SELECT DISTINCT pane FROM {name} ORDER BY 1").fetchall() if name else []
            self.panes[node.name] = [p for (p,) in found]
        return self.panes[node.name]

    def _rounds(self) -> list[tuple[int, int]]:
        """Intervals of progress that together cover the batch's."""
        ends: list[tuple[int, int]] = []
        for step in self.program.levels[self.level] if self.level < len(self.program.levels) else ():
            if isinstance(step, Close):
                node = self.nodes[step.node]
                if (name := self._rows(node)) is None:
                    continue
                windows = self._closing(node, step, FLOOR, CEILING)
                if not windows:
                    continue
                counts = dict(self.con.sql(f"SELECT pane, count(*) FROM {name} GROUP BY 1").fetchall())
                for window in windows:
                    ends.append((window.end, sum(c for p, c in counts.items() if window.start <= p < window.end)))
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
        if self.batch.flush and step.spec.range is None and step.spec.reset is None:
            largest = max((p.max_seen for p in self.after.values() if p.max_seen is not None), default=None)
            last = first_end(step.spec, largest) if largest is not None else None
            after = after if last is None else min(after, last)
        if after <= before:
            return []
        found = closing(step.spec, self._panes(node), None if before <= FLOOR else before, after)
        born = self.batch.born.get(node.name)
        return found if born is None else [w for w in found if w.start > born]

    def _round(self, low: int, high: int) -> None:
        self._drop(("VIEW", "TABLE"))
        self.empty = set()
        for step in self.program.levels[self.level]:
            if isinstance(step, Close):
                self._close(step, low, high)
            elif isinstance(step, Gather):
                self._gather(step)
            elif step.source in self.empty:
                if isinstance(step, Compute):
                    self.empty.add(step.view)
            elif isinstance(step, Compute):
                self._define(step.view, step.sql, step.stored)
            elif isinstance(step, Send):
                self._send(step)
            else:
                self._emit(step)

    def _close(self, step: Close, low: int, high: int) -> None:
        node = self.nodes[step.node]
        windows = self._closing(node, step, low, high)
        rows = self._rows(node)
        if not windows or rows is None:
            self.empty.add(step.view)
            return
        covering = cover(self._panes(node), windows)
        panes, wins = f"pm_{step.view}", f"wm_{step.view}"
        self._register(panes, covering.panes)
        self._register(wins, covering.windows)
        self._define(step.view, close_sql(node, rows, panes, wins, covering.shared), step.stored)

    def _gather(self, step: Gather) -> None:
        node = self.nodes[step.node]
        rows = self._rows(node)
        if rows is None:
            self.empty.add(step.view)
            return
        keys, _ = columns(node)
        listed = ", ".join([*keys, *merge_list(node), "_ws", "_we"])
        self._define(step.view, f"SELECT {listed} FROM {rows}" + group_by([*keys, "_ws", "_we"]), step.stored)

    def _define(self, view: str, sql: str, stored: bool) -> None:
        kind = "TABLE" if stored else "VIEW"
        self.con.execute(f"CREATE OR REPLACE TEMP {kind} {view} AS {sql}")
        self.names.append((kind, view))

    def _register(self, name: str, table: pa.Table) -> None:
        self.con.register(name, table)
        if ("ARROW", name) not in self.names:
            self.names.append(("ARROW", name))

    def _send(self, step: Send) -> None:
        node = self.program.node(step.node)
        table = arrow(self.con, f"SELECT {pid_sql(node, self.program.pids)} AS pid, * FROM ({step.sql})")
        if table.num_rows == 0:
            return
        if step.local:
            self.deltas[node.name].append(table)
            self.panes.pop(node.name, None)
            if ("ARROW", f"all_{node.name}") in self.names:
                self.con.unregister(f"all_{node.name}")
                self.names.remove(("ARROW", f"all_{node.name}"))
            return
        for slot, part in codec.split(table, self.batch.route, self.batch.slots):
            self.sent += codec.tables(slot, node.name, part)

    def _emit(self, step: Emit) -> None:
        table = arrow(self.con, step.sql)
        if table.num_rows == 0:
            return
        schema = pa.ipc.read_schema(pa.py_buffer(self.program.schemas[step.query]))
        if step.query not in self.writers:
            path = f"results/{step.query}/{self.batch.version:012d}-{uuid.uuid4().hex}.parquet"
            out = self.batch.store.open_output(path)
            self.writers[step.query] = (path, pq.ParquetWriter(out, schema), out)
        self.writers[step.query][1].write_table(table.cast(schema))
        self.counts[step.query] = self.counts.get(step.query, 0) + table.num_rows

    # -- state after the batch -------------------------------------------------------------------------------------
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
        gone = {m.path for m in compacted}
        kept = [m for m in live if m.path not in gone]
        tables = [t for t in tables if t.num_rows]
        if tables:
            self._register("keep", pa.concat_tables(tables))
            table = arrow(self.con, self._keep_sql(node, needed, after))
            if table.num_rows:
                path = f"segments/{node.name}/{self.batch.version:012d}-{uuid.uuid4().hex}.arrow"
                meta = write_segment(self.batch.store, path, node.name, table, level)
                self.segments.append(meta)
                kept.append(meta)
        self.state_rows += sum(m.rows for m in kept)

    def _keep_sql(self, node: Node, needed: int, after: int) -> str:
        keys, _ = columns(node)
        pane = "pane"
        landmark = next((s for s in node.specs if s.range is None), None)
        if landmark is not None and after > FLOOR:  # what every later window will hold can be one pane
            base = str(landmark.origin)
            if landmark.reset is not None:
                base = pane_sql("pane", landmark.reset, landmark.origin % landmark.reset)
            pane = f"CASE WHEN pane + {node.width} <= {after} AND pane >= {landmark.origin if landmark.reset is None else FLOOR} THEN {base} ELSE pane END"
        where = f" WHERE pane >= {needed}" if needed > FLOOR else ""
        rows = f"(SELECT * REPLACE ({pane} AS pane) FROM keep{where})" if pane != "pane" else f"keep{where}"
        listed = ", ".join(["pid", "pane", *keys, *merge_list(node)])
        return f"SELECT {listed} FROM {rows}" + group_by(["pid", "pane", *keys]) + " ORDER BY pid"

    # -- ending ----------------------------------------------------------------------------------------------------
    def _drop(self, kinds: tuple[str, ...]) -> None:
        for kind, name in [n for n in reversed(self.names) if n[0] in kinds]:
            if kind == "ARROW":
                self.con.unregister(name)
            else:
                self.con.execute(f"DROP {kind} IF EXISTS {name}")
        self.names = [n for n in self.names if n[0] not in kinds]

    def _clean(self) -> None:
        for _, writer, out in self.writers.values():
            writer.close()
            out.close()
        self._drop(("VIEW", "TABLE", "ARROW"))

    def meta(self, notes: list[dict[str, Any]]) -> dict[str, Any]:
        """What this task did, for the manifest."""
        results = [
            {"query": q, "path": p, "rows": self.counts[q], "bytes": self.batch.store.size(p)}
            for q, (p, _, _) in self.writers.items()
        ]
        return {
            "slot": self.slot,
            "level": self.level,
            "progress": {s: [p.max_seen, p.low_watermark] for s, p in self.after.items()},
            "segments": [m.to_json() for m in self.segments],
            "dropped": self.dropped,
            "results": results,
            "state_rows": self.state_rows,
            "panes": {n: len(p) for n, p in self.panes.items()},
            "timings": self.timings,
            "notes": notes if self.slot == 0 else [],
        }
