"""Run a query set in this process, without Spark: for tests of queries and of Headrace itself.

`LocalRun` is the driver of a run on Spark with the same plan, program, kernels and manifests; only the scalar
expressions on source rows, which Spark evaluates there, are evaluated by DuckDB here, and tasks run one after the
other.

>>> run = LocalRun('''
...   CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 1 SECOND FROM 'memory';
...   CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
... ''')
>>> run.push(s=[(0, "a"), (1_000_000, "a"), (70_000_000, "b")])
>>> run.rows("q")
[('a', 2, 0, 60000000)]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from headrace.coordinator.driver import open_driver
from headrace.coordinator.run_options import Engine, RunOptions
from headrace.dialect.duck import duck_sql
from headrace.dialect.duck_cast import duck_type, spark_name
from headrace.dialect.sql_quotes import quote_name
from headrace.errors import OptionError, PlanError
from headrace.kernels import payloads
from headrace.kernels.agreed_columns import AgreedColumns
from headrace.kernels.divide_table import split_piece, write_divided, write_pieces
from headrace.kernels.locked_database import open_locked_database
from headrace.kernels.slot_stage import run_slot
from headrace.kernels.source_stage import run_source
from headrace.kernels.spark_rows import Layout, RowChunk, row_chunks
from headrace.logical.graph import Graph, StaticTable
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import Plan, check_graph
from headrace.optimizer.keep_folders import comes_partitioned
from headrace.physical.duck_typer import DuckTyper
from headrace.program.limits import SHIPPED, Limits
from headrace.program.messages import Orders, SlotReport
from headrace.program.order_file import OrderReader, cut_orders
from headrace.program.program import Program
from headrace.program.table_division import TableDivision, TablePiece
from headrace.sinks.sinks import Sink
from headrace.sources.read_bounds import BoundsReader
from headrace.sql import parse_script
from headrace.sql.bind import Binder
from headrace.sql.check_functions import OpenFunctions
from headrace.state import Clock, FilePart, Manifest, Store, TableFile
from headrace.state.clock import SYSTEM
from headrace.state.result_parquet import read_results
from headrace.state.set_requests import SetChange
from headrace.windows.duration import parse_defer

Rows = Sequence[Sequence[Any]]
Pushed = Rows | Mapping[str, Rows]  # or by folder
_FOLDERS = 5  # that rows are put into where nobody says
TableRows = Rows | Callable[[], Rows]


class LocalRun:
    """A query set, its state in `path` (a temporary directory by default), and one batch per `push`."""

    def __init__(
        self,
        script: str,
        slots: int | None = None,
        tasks: int = 2,
        path: str | Store | None = None,
        user: Mapping[str, UserAggregate] | None = None,
        memory: int | None = None,
        clock: Callable[[], int] | Clock | None = None,
        bounds: Mapping[str, Callable[[], Any]] | None = None,
        tables: Mapping[str, TableRows] | None = None,
        balance: str = "static",
        partition_by: str | None = None,
        rates_from: str | None = None,
        defer: str | None = None,
        allow_functions: Sequence[str] = (),
        preaggregate: bool = True,
        in_background: bool = False,
        sinks: Sequence[Sink] = (),
        limits: Limits = SHIPPED,
    ) -> None:
        binder = Binder(user or (), OpenFunctions.of(allow_functions))
        for statement in parse_script(script):
            binder.create(statement)
        check_graph(binder.graph())
        self._directory = tempfile.TemporaryDirectory(prefix="headrace-")
        store = path if isinstance(path, Store) else Store.open(path or f"{self._directory.name}/checkpoint")
        functions = dict(user or {})
        apart = [s.name for s in binder.graph().streams.values() if comes_partitioned(s) and partition_by is None]
        self._con = open_locked_database()
        self._tables = dict(tables or {})
        engine = Engine(
            lambda graph: DuckTyper(graph, functions),
            functions,
            OpenFunctions.of(allow_functions),
            usual_slots=2,
            by_folder=frozenset(apart),
            memory=memory,
            scratch=self._directory.name,
            in_background=in_background,
            clock=clock if isinstance(clock, Clock) else Clock(clock) if clock is not None else SYSTEM,
            read_bounds=BoundsReader(binder.graph(), bounds or {}, {}).read,
            tables=LocalTables(self._read_table, tasks),
            sinks=tuple(sinks),
        )
        options = RunOptions(
            slots,
            balance,
            partition_by,
            rates_from,
            None if defer is None else parse_defer(defer),
            preaggregate=preaggregate,
            limits=limits,
        )
        self.driver = open_driver(store, binder.graph(), engine, options)
        try:
            self.driver.begin()
        except BaseException:
            self.driver.close()
            raise
        self.store, self.log = store, self.driver.log
        self.tasks = tasks
        self._columns = AgreedColumns()

    @property
    def manifest(self) -> Manifest:
        return self.driver.manifest

    @property
    def plan(self) -> Plan:
        return self.driver.plan

    @property
    def program(self) -> Program:
        return self.driver.program

    @property
    def graph(self) -> Graph:
        return self.driver.graph

    @property
    def slots(self) -> int:
        return self.driver.slots

    def push(self, **streams: Pushed) -> Manifest:
        """One batch: rows of each stream in schema order; a time is microseconds, or a datetime. The rows of a stream that is
        PARTITIONED BY something may be given by folder, `{"a": rows, "b": rows}`; else they are put into a few.
        """
        orders = self.driver.make_orders()  # first, since with it the set may change
        frames = [table for name, rows in streams.items() for table in self._frames(name, rows)]
        return self._run_batch(frames, orders)

    def flush(self) -> Manifest:
        """Close every window that holds a row."""
        return self._run_batch([], self.driver.make_orders(flush=True))

    def beat(self) -> bool:
        """A batch without rows, if the clock or bounds from beside the streams complete a window; whether they did."""
        orders = self.driver.make_heartbeat()
        if orders is not None:
            self._run_batch([], orders)
        return orders is not None

    def rescale(self, slots: int) -> None:
        """Go on with another number of slots from the next batch on."""
        self.driver.rescale(slots)

    def change(self, add: str = "", drop: Sequence[str] = ()) -> None:
        """Go on with another set from the next batch on: `add` are CREATE QUERY and CREATE TABLE statements, `drop` queries."""
        self.driver.change_to(self.driver.plan_change(SetChange(add, tuple(drop))))

    def close(self) -> None:
        """Give the checkpoint back, so that another run can go on with it."""
        self.driver.close()

    def rows(self, query: str, times: bool = False) -> list[tuple[Any, ...]]:
        """All results of a query so far, sorted; window times as ticks unless `times`."""
        return self._read(self.log.results(query), times)

    def late(self, stream: str) -> list[tuple[Any, ...]]:
        return self._read(self.log.late(stream), False)

    def _read(self, parts: Iterable[FilePart], times: bool) -> list[tuple[Any, ...]]:
        """The rows of some parts of files, as `rows` gives them."""
        return _list_rows((read_results(self.store, part) for part in parts), times)

    # -- one batch --------------------
    def _run_batch(self, frames: list[pa.Table], orders: Orders) -> Manifest:
        started = time.time()
        reports = list(self._run_tasks(frames, orders))
        self._columns.check_kept(self.store, [meta for report in reports for meta in report.segments])
        self.driver.commit(orders, reports, self.manifest.batch_id + 1, started, time.time() - started)
        return self.manifest

    def _run_tasks(self, frames: list[pa.Table], orders: Orders) -> Iterator[SlotReport]:
        columns = {s: {c.name: f"{s}_{c.name}" for c in self.plan.columns[s]} for s in self.graph.streams}
        layout = Layout(tuple(self.graph.streams), columns, dict.fromkeys(self.graph.streams, "_row"))
        cut = cut_orders(self.program, orders)
        file = OrderReader(lambda start, size: cut.content[start : start + size], cut.head)
        common = file.common
        sent: list[pa.RecordBatch] = []
        for frame in frames or [None]:
            batches = frame.to_batches() if frame is not None else []
            sent += self._run_task(partial(self._run_source, common, layout, batches))

        def read_own(slot: int, orders: Orders) -> Iterator[RowChunk]:
            mine = [pid for pid, owner in enumerate(orders.route) if owner == slot]
            for frame in frames:
                if "_pid" in frame.column_names:
                    rows = frame.filter(pc.is_in(frame.column("_pid"), pa.array(mine, pa.uint16())))
                    yield from row_chunks(layout, rows.to_batches(), orders.limits.frame_rows)

        for level in range(len(self.program.levels)):
            self._columns.check_sent(sent)
            reads = level == 0 and self.plan.by_folder
            by_slot: dict[int, list[pa.RecordBatch]] = {}
            for batch in sent:
                for row in range(batch.num_rows):
                    by_slot.setdefault(batch.column(0)[row].as_py(), []).append(batch.slice(row, 1))
            share = partial(file.read_slot, level)
            tasks = [
                partial(run_slot, self.program, share, level, by_slot[slot], partial(read_own, slot) if reads else None)
                for slot in sorted(by_slot)
            ]
            sent = [out for task in tasks for out in self._run_task(task)]
        for _, _, payload in payloads.read_rows(sent):
            yield payloads.read_message(payload)

    def _run_source(self, orders: Orders, layout: Layout, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_source(self.program, orders, row_chunks(layout, batches, orders.limits.frame_rows))

    def _run_task(self, task: Callable[[], Iterable[pa.RecordBatch]]) -> list[pa.RecordBatch]:
        """What a task answers; here it runs once, and well."""
        return list(task())

    def _read_table(self, table: StaticTable) -> pa.Table:
        given = self._tables.get(table.name)
        if given is None:
            raise OptionError(f"table {table.name}: give its rows, LocalRun(…, tables={{'{table.name}': [(…), …]}})")
        rows = given() if callable(given) else given
        casts = self._register_rows(table.schema, rows)
        return self._con.sql(f"SELECT {casts} FROM pushed").to_arrow_table()

    def _register_rows(self, schema: Sequence[tuple[str, str]], rows: Rows) -> str:
        """Rows as the relation `pushed`; the SELECT list that gives them their types."""
        columns = {n: pa.array([r[i] for r in rows]) for i, (n, _) in enumerate(schema)}
        self._con.register("pushed", pa.table(columns))
        makers = {"TIMESTAMPTZ": "make_timestamptz", "TIMESTAMP": "make_timestamp"}
        return ", ".join(
            (
                f"{makers[t]}({quote_name(n)}::BIGINT)"
                if t in makers and pa.types.is_integer(columns[n].type)
                else f"{quote_name(n)}::{t}"
            )
            + f" AS {quote_name(n)}"
            for n, t in ((name, duck_type(type_)) for name, type_ in schema)
        )

    def _frames(self, name: str, pushed: Pushed) -> list[pa.Table]:
        """The stream's rows as the source stage would get them from Spark, in `tasks` parts."""
        stream = self.graph.streams[name]
        con = self._con
        by_folder = pushed if isinstance(pushed, Mapping) else {"": pushed}
        rows = [row for some in by_folder.values() for row in some]
        if not rows:
            return []
        casts = self._register_rows(stream.columns, rows)
        con.execute(f"CREATE OR REPLACE TABLE s AS SELECT row_number() OVER () AS _n, {casts} FROM pushed")
        pid = []
        if name in (self.plan.settings.by_folder or ()):
            if isinstance(pushed, Mapping):
                folders = [folder for folder, some in pushed.items() for _ in some]
            else:
                hashed = ", ".join(_scalar(e, dict(stream.columns)) for e in stream.partition_by)
                folders = [str(r[0]) for r in con.sql(f"SELECT hash({hashed}) % {_FOLDERS} FROM s ORDER BY _n").fetchall()]
            numbers = self.driver.number_folders([*by_folder] if isinstance(pushed, Mapping) else folders)
            con.execute("ALTER TABLE s ADD COLUMN _pid USMALLINT")
            con.register("numbered", pa.table({"_n": range(1, len(rows) + 1), "_pid": [numbers[f] for f in folders]}))
            con.execute("UPDATE s SET _pid = numbered._pid FROM numbered WHERE s._n = numbered._n")
            con.unregister("numbered")
            pid = ["_pid"]
        tick = f"epoch_us({quote_name(stream.on)})" if stream.unit == "us" else f"{quote_name(stream.on)}::BIGINT"
        row = ", ".join(f"{quote_name(n)}: {_write_late(duck_type(t), quote_name(n))}" for n, t in stream.columns)
        mine = [f"{_scalar(c.expression, dict(stream.columns))} AS {name}_{c.name}" for c in self.plan.columns[name]]
        others = [f"NULL AS {s}_{c.name}" for s in self.graph.streams if s != name for c in self.plan.columns[s]]
        index = list(self.graph.streams).index(name)
        select = ", ".join(
            [f"{index}::INT AS _s", f"{tick} AS _t", f"to_json({{{row}}}) AS _row", *pid, *mine, *others]
        )
        out = []
        for part in range(self.tasks):
            where = f"(_n - 1) * {self.tasks} // {len(rows)} = {part}"
            try:
                out.append(con.sql(f"SELECT {select} FROM s WHERE {where}").to_arrow_table())
            except duckdb.Error as e:
                why = f"LocalRun computes on rows with DuckDB, without Spark, which cannot do this: {str(e).splitlines()[0]}"
                raise PlanError(f"stream {name}: {why}") from e
        return [t for t in out if t.num_rows]


class LocalTables:
    """Reads and divides static tables in this process, in as many pieces as there would be tasks."""

    def __init__(self, read: Callable[[StaticTable], pa.Table], tasks: int) -> None:
        self._read, self._tasks = read, tasks

    def write_pieces(self, table: StaticTable, columns: Sequence[str], store: Store, prefix: str, most: int) -> list[TablePiece]:
        rows = self._read(table).select(columns)
        step = max(1, -(-rows.num_rows // self._tasks))
        parts = [rows.slice(i, step) for i in range(0, rows.num_rows, step)]
        return [piece for part in parts for piece in write_pieces(store, prefix, part.to_batches(), most)]

    def read_empty(self, table: StaticTable, columns: Sequence[str]) -> pa.Table:
        return self._read(table).select(columns).slice(0, 0)

    def divide(self, division: TableDivision) -> list[TableFile]:
        found: dict[int, list[pa.Table]] = {}
        for number in range(len(division.pieces)):
            for target, rows in split_piece(division, number):
                found.setdefault(target, []).append(rows)
        return [file for target, tables in found.items() for file in write_divided(division, target, tables)]


def _list_rows(tables: Iterable[pa.Table], times: bool) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    for table in tables:
        if not times:
            table = pa.table(
                {
                    n: (c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c)
                    for n, c in zip(table.column_names, table.columns, strict=True)
                }
            )
        out += [tuple(row.values()) for row in table.to_pylist()]
    return sorted(
        out,
        key=lambda r: [(v is not None, str(type(v)), str(v) if isinstance(v, (list, dict)) else v) for v in r],
    )


def _write_late(type_: str, column: str) -> str:
    """A column in a row that may be late (`kernels/spark_rows.py`): times in microseconds, dates in days."""
    if type_.startswith("TIMESTAMP"):
        return f"epoch_us({column})"
    return f"({column} - DATE '1970-01-01')" if type_ == "DATE" else column


def _scalar(expression: exp.Expr, columns: Mapping[str, str]) -> str:
    """A scalar expression on source rows, as near to Spark's as there is."""
    try:
        return duck_sql(expression, {c: spark_name(duck_type(t)) for c, t in columns.items()})
    except PlanError:
        return expression.sql(dialect="duckdb")


__all__ = ["LocalRun"]
