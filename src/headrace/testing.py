"""Run a query set in this process, without Spark: for tests of queries and of Headrace itself.

`LocalRun` executes the same program with the same kernels and the same manifests as the Spark runtime; only
the scalar expressions on source rows, which Spark evaluates there, are evaluated by DuckDB here, and tasks
run one after the other.

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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import parse_one

from headrace.errors import PlanError
from headrace.kernels import codec
from headrace.kernels.commit import batch_after, first_manifest, flush_bound, manifest_of
from headrace.kernels.rows import Layout, row_chunks
from headrace.kernels.slot import run_slot
from headrace.kernels.source import run_source
from headrace.logical.plan import Graph
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.duck import duck_sql
from headrace.physical.duck_cast import duck_type, spark_name
from headrace.physical.duck_typer import DuckTyper
from headrace.physical.lower import lower
from headrace.sql import parse_script
from headrace.sql.bind import Binder
from headrace.state import Manifest, ManifestLog, Store

Rows = Sequence[Sequence[Any]]


class LocalRun:
    """A query set, its state in `store` (a temporary directory by default), and one batch per `push`."""

    def __init__(
        self,
        script: str,
        slots: int = 2,
        tasks: int = 2,
        path: str | None = None,
        user: Mapping[str, UserAggregate] | None = None,
    ) -> None:
        binder = Binder(user or ())
        for statement in parse_script(script):
            binder.create(statement)
        self.graph: Graph = binder.graph()
        self.typer = DuckTyper(self.graph, dict(user or {}))
        self.program, self.frame = lower(self.graph, self.typer, user)
        self._directory = tempfile.TemporaryDirectory() if path is None else None
        self.store = Store.open(path or self._directory.name)  # type: ignore[union-attr]
        self.log = ManifestLog(self.store)
        self.slots, self.tasks = slots, tasks
        self._con = duckdb.connect(config={"threads": "1"})
        self._con.execute("SET TimeZone = 'UTC'; SET error_on_division_by_zero = false")
        self.manifest: Manifest = self.log.latest() or first_manifest(self.program, slots)

    def push(self, **streams: Rows) -> Manifest:
        """One batch: rows of each stream in schema order; a time is microseconds, or a datetime."""
        frames = [table for name, rows in streams.items() for table in self._frames(name, rows)]
        return self._batch(frames)

    def flush(self) -> Manifest:
        """Close every open window."""
        bound = flush_bound(self.program, self.manifest.streams)
        return self._batch([], bound)

    def rows(self, query: str, times: bool = False) -> list[tuple[Any, ...]]:
        """All results of a query so far, sorted; window times as ticks unless `times`."""
        return self._read([f.path for f in self.log.results(query)], times)

    def late(self, stream: str) -> list[tuple[Any, ...]]:
        return self._read([f.path for f in self.log.late(stream)], False)

    def _read(self, paths: Iterable[str], times: bool) -> list[tuple[Any, ...]]:
        out: list[tuple[Any, ...]] = []
        for path in paths:
            table = pq.read_table(self.store.local_path(path))
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
            key=lambda r: [
                (v is not None, str(type(v)), str(v) if isinstance(v, (list, dict)) else v) for v in r
            ],
        )

    # -- one batch --------------------
    def _batch(self, frames: list[pa.Table], low_watermark: int | None = None) -> Manifest:
        flush = low_watermark is not None
        batch = batch_after(self.manifest, self.program, self.store, self.slots, {}, flush)
        layout = Layout(
            tuple(self.graph.streams),
            {s: {c: f"{s}_{c}" for c, _ in self.frame.columns[s]} for s in self.graph.streams},
            dict.fromkeys(self.graph.streams, "_row"),
        )
        sent: list[pa.RecordBatch] = []
        if flush:
            note = {
                "streams": {s: {"max_seen": None} for s in self.graph.streams},
                "low_watermark": dict.fromkeys(self.graph.streams, low_watermark),
            }
            sent = [codec.message(s, codec.PROGRESS, note) for s in range(self.slots)]
        for frame in frames:
            sent += run_source(self.program, batch, row_chunks(layout, frame.to_batches()))
        for level in range(len(self.program.levels)):
            by_slot: dict[int, list[pa.RecordBatch]] = {}
            for row in sent:
                by_slot.setdefault(row.column(0)[0].as_py(), []).append(row)
            sent = [
                out for slot in sorted(by_slot) for out in run_slot(self.program, batch, level, by_slot[slot])
            ]
        metas = [codec.read_message(p) for _, _, p in codec.received(sent)]
        self.manifest = manifest_of(self.manifest, self.program, batch, metas, self.manifest.batch_id + 1)
        self.log.publish(self.manifest)
        return self.manifest

    def _frames(self, name: str, rows: Rows) -> list[pa.Table]:
        """The stream's rows as the source stage would get them from Spark, in `tasks` parts."""
        stream = self.graph.streams[name]
        con = self._con
        names = [c for c, _ in stream.columns]
        types = [duck_type(t) for _, t in stream.columns]
        if not rows:
            return []
        columns = {n: pa.array([r[i] for r in rows]) for i, n in enumerate(names)}
        con.register("given", pa.table(columns))
        casts = ", ".join(
            (
                f'make_timestamptz("{n}"::BIGINT)'
                if t == "TIMESTAMPTZ" and pa.types.is_integer(columns[n].type)
                else f'"{n}"::{t}'
            )
            + f' AS "{n}"'
            for n, t in zip(names, types, strict=True)
        )
        con.execute(f"CREATE OR REPLACE TABLE s AS SELECT row_number() OVER () AS _n, {casts} FROM given")
        tick = f'epoch_us("{stream.on}")' if stream.unit == "us" else f'"{stream.on}"::BIGINT'
        row = ", ".join(f"'{n}': \"{n}\"" for n in names)
        mine = [f"{_scalar(e, dict(stream.columns))} AS {name}_{c}" for c, e in self.frame.columns[name]]
        others = [
            f"NULL AS {s}_{c}" for s in self.graph.streams if s != name for c, _ in self.frame.columns[s]
        ]
        index = list(self.graph.streams).index(name)
        select = ", ".join(
            [f"{index}::INT AS _s", f"{tick} AS _t", f"to_json({{{row}}}) AS _row", *mine, *others]
        )
        out = []
        for part in range(self.tasks):
            where = f"(_n - 1) * {self.tasks} // {len(rows)} = {part}"
            out.append(con.sql(f"SELECT {select} FROM s WHERE {where}").to_arrow_table())
        return [t for t in out if t.num_rows]


def _scalar(expression: str, columns: Mapping[str, str]) -> str:
    """A scalar expression on source rows, as near to Spark's as there is."""
    node = parse_one(expression, dialect="spark")
    try:
        return duck_sql(node, {c: spark_name(duck_type(t)) for c, t in columns.items()})
    except PlanError:
        return node.sql(dialect="duckdb")


__all__ = ["LocalRun"]
