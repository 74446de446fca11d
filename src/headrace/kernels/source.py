"""The source stage: one pass over a partition's rows for the whole query set.

In: a source partition as Arrow batches, with `_t` (ticks of the progressing attribute), `c0…` (the scalar
expressions the set needs, computed by Spark) and `_row` (the whole row as JSON, only where it may be late
or unusable). Out: for each node the partial rows per (pane, keys), by slot; and PROGRESS to every slot, so
that progress travels with the data, as punctuation does (document 003 §4.1), and one Spark job is enough
for a batch.

A row whose progressing value is null or beyond the horizon is not part of the stream: it goes to the late
table with the reason. A row behind the low-watermark counts in every window still open; if it has missed
one, it is in the late table too.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.kernels import codec
from headrace.kernels.duck import arrow, connect
from headrace.kernels.spec import Batch, Feed, Node, Program, StreamSpec
from headrace.kernels.sql import group_by, pane_sql, pid_sql
from headrace.progress import meld
from headrace.windows import WindowSpec

CHUNK_ROWS = 2_000_000
LARGEST = 1 << 62  # ticks; beyond, the arithmetic of windows would leave 64 bits


@dataclass(frozen=True)
class Layout:
    """Where the columns of each stream are in the frame: {stream: {c0: frame column}}; `_s` tells streams
    apart.
    """

    streams: tuple[str, ...]
    columns: dict[str, dict[str, str]]
    rows: dict[str, str]  # {stream: frame column with its flagged rows}


@dataclass
class _Seen:
    rows: int = 0
    max_seen: int | None = None
    late: int = 0
    rejected: int = 0
    files: list[dict[str, object]] = field(default_factory=list)


def run_source(
    program: Program, batch: Batch, layout: Layout, frames: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The source stage over one partition."""
    con = connect(program.time_zone, program.user)
    seen = {name: _Seen() for name in layout.streams}
    results: list[dict[str, object]] = []
    for table in _chunks(frames):
        for index, name in enumerate(layout.streams):
            mine = table
            if len(layout.streams) > 1:
                mask = pc.equal(table.column("_s"), index)
                mine = table.filter(mask)
            if mine.num_rows == 0:
                continue
            spec = program.streams[[s.name for s in program.streams].index(name)]
            rows = _usable(con, batch, program, spec, mine, layout.rows[name], seen[name])
            columns = layout.columns[name]
            con.register("src", rows.select(["_t", *columns.values()]).rename_columns(["_t", *columns]))
            for node in program.nodes:
                for feed in node.feeds:
                    if feed.stream == name:
                        partial = arrow(con, preaggregate_sql(node, feed, program.pids))
                        for slot, part in codec.split(partial, batch.route, batch.slots):
                            yield from codec.tables(slot, node.name, part)
            for query in program.raw:
                if query.stream == name:
                    results += _write_raw(con, batch, program, query.query, query.columns, query.where)
            con.unregister("src")
    note = {"streams": {n: vars(s) for n, s in seen.items()}, "results": results}
    short = {"streams": {n: {"max_seen": s.max_seen} for n, s in seen.items()}}
    for slot in range(batch.slots):
        yield codec.message(slot, codec.PROGRESS, note if slot == 0 else short)


def _chunks(frames: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered into tables large enough to aggregate well and small enough to hold."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for frame in frames:
        waiting.append(frame)
        rows += frame.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def preaggregate_sql(node: Node, feed: Feed, pids: int) -> str:
    """Rows of `src` to partial rows (pid, pane, k…, p…) of a node."""
    keys = [f"{c} AS k{i}" for i, c in enumerate(feed.keys)]
    subs = [f"{s} AS p{i}" for i, s in enumerate(feed.subs)]
    where = f" WHERE {feed.where}" if feed.where else ""
    pane = f"{pane_sql('_t', node.width, node.offset)} AS pane"
    inner = f"SELECT {', '.join([pane, *keys, *subs])} FROM src{where}"
    inner += group_by(["pane", *(f"k{i}" for i in range(len(keys)))])
    return f"SELECT {pid_sql(node, pids)} AS pid, * FROM ({inner})"


def _usable(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    program: Program,
    spec: StreamSpec,
    table: pa.Table,
    row: str,
    seen: _Seen,
) -> pa.Table:
    """The rows that are part of the stream; late and unusable ones are counted and kept."""
    seen.rows += table.num_rows
    flagged = table.column(row)
    if flagged.null_count < table.num_rows:
        limit = _limit(batch, spec)
        late = " OR ".join(_missed_sql(w, lwm) for w, lwm in _open(batch, spec)) or "false"
        reason = "CASE WHEN _t IS NULL THEN 'null'"
        reason += f" WHEN _t > {limit} OR _t < {-LARGEST} THEN 'implausible'"
        reason += f" WHEN {late} THEN 'late' END"
        con.register(
            "flagged", table.select(["_t", row]).rename_columns(["_t", "_row"]).filter(flagged.is_valid())
        )
        kept = arrow(
            con,
            f"SELECT * FROM (SELECT _row, {reason} AS _reason FROM flagged) WHERE _reason IS NOT NULL",
        )
        con.unregister("flagged")
        reasons = kept.column("_reason").to_pylist()
        seen.late += reasons.count("late")
        seen.rejected += len(reasons) - reasons.count("late")
        if kept.num_rows:
            seen.files.append(_write_late(con, batch, program, spec.name, kept))
        if len(reasons) > reasons.count("late"):
            ticks = table.column("_t")
            table = table.filter(pc.and_(pc.less_equal(ticks, limit), pc.greater_equal(ticks, -LARGEST)))
    if table.num_rows:
        largest = pc.max(table.column("_t")).as_py()
        seen.max_seen = largest if seen.max_seen is None else max(seen.max_seen, largest)
    return table


def _limit(batch: Batch, spec: StreamSpec) -> int:
    """The largest plausible value: the clock for times, the largest seen for integers, plus the horizon."""
    base = batch.now if spec.unit == "us" else batch.progress[spec.name].max_seen
    if spec.horizon is None or base is None:
        return LARGEST
    return min(base + spec.horizon, LARGEST)


def _open(batch: Batch, spec: StreamSpec) -> list[tuple[WindowSpec, int]]:
    found = []
    for window, streams in spec.missed:
        low_watermark = meld([batch.progress[s].low_watermark for s in streams])
        if low_watermark is not None:
            found.append((window, low_watermark))
    return found


def _missed_sql(window: WindowSpec, low_watermark: int) -> str:
    """Whether the first window to end after `_t` holds it and is closed already."""
    first = window.origin + (window.range or 0) if window.align == "start" else window.origin
    slide = window.slide
    end = f"(_t + {slide} - (((_t - {first}) % {slide}) + {slide}) % {slide})"
    holds = f"_t >= {window.origin}" if window.range is None else f"{end} - {window.range} <= _t"
    if window.reset is not None:
        holds = "true"
    return f"({end} <= {low_watermark} AND {holds})"


def _write_late(
    con: duckdb.DuckDBPyConnection, batch: Batch, program: Program, stream: str, kept: pa.Table
) -> dict[str, object]:
    schema = pa.ipc.read_schema(pa.py_buffer(program.late_schemas[stream]))
    con.register("kept", kept)
    shape = json.dumps({f.name: json_type(f.type) for f in schema if f.name != "_reason"}).replace("'", "''")
    columns = ", ".join(_late_column(f) for f in schema if f.name != "_reason")
    parsed = f"SELECT json_transform(_row, '{shape}') AS r, _reason FROM kept"
    rows = arrow(con, f"SELECT {columns}, _reason FROM ({parsed})")
    con.unregister("kept")
    return write_parquet(batch, f"late/{stream}", rows, program.late_schemas[stream])


def _late_column(field: pa.Field) -> str:
    value = f'r."{field.name}"'
    return f'{f"from_base64({value})" if pa.types.is_binary(field.type) else value} AS "{field.name}"'


def json_type(type_: pa.DataType) -> object:
    """How DuckDB's json_transform is told an Arrow type; bytes come as base64 text."""
    if pa.types.is_list(type_):
        return [json_type(type_.value_type)]
    if pa.types.is_struct(type_):
        return {f.name: json_type(f.type) for f in type_}
    if pa.types.is_timestamp(type_):
        return "TIMESTAMPTZ" if type_.tz else "TIMESTAMP"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    return _JSON_TYPES.get(str(type_), "VARCHAR")


_JSON_TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32[day]": "DATE",
}


def _write_raw(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    program: Program,
    query: str,
    columns: tuple[str, ...],
    where: str | None,
) -> list[dict[str, object]]:
    schema = pa.ipc.read_schema(pa.py_buffer(program.schemas[query]))
    names = ", ".join(f'{c} AS "{f.name}"' for c, f in zip(columns, schema, strict=True))
    rows = arrow(con, f"SELECT {names} FROM src" + (f" WHERE {where}" if where else ""))
    if rows.num_rows == 0:
        return []
    return [{"query": query, **write_parquet(batch, f"results/{query}", rows, program.schemas[query])}]


def write_parquet(batch: Batch, folder: str, table: pa.Table, schema: bytes) -> dict[str, object]:
    """A table as a file nobody else writes, whatever attempt of whatever task this is."""
    target = pa.ipc.read_schema(pa.py_buffer(schema))
    path = f"{folder}/{batch.version:012d}-{uuid.uuid4().hex}.parquet"
    with batch.store.open_output(path) as out:
        pq.write_table(table.cast(target), out)
    return {"path": path, "rows": table.num_rows, "bytes": batch.store.size(path)}
