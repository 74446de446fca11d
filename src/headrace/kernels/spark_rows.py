"""Source rows as Spark sends them: `_t`, the scalar expressions `c0…` that Spark has computed, and `_row`.

`_row` is the whole row as JSON, there only for rows that may be late or unusable; times and dates among its columns are
numbers, since a value that is not plausible is kept as it came. A line that did not parse has its text in it, and no `_t`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from headrace.dialect.sql_quotes import quote_name, quote_text
from headrace.kernels.connection import fetch_arrow
from headrace.kernels.late_rows import Judge, Screened, is_part_of_stream
from headrace.logical.source_formats import MALFORMED


@dataclass(frozen=True)
class Layout:
    """Where the columns of each stream are in the frame: {stream: {c0: frame column}}; `_s` tells streams
    apart.
    """

    streams: tuple[str, ...]
    columns: dict[str, dict[str, str]]
    rows: dict[str, str]  # {stream: frame column with its flagged rows}


@dataclass
class RowChunk:
    """Rows of one stream out of Spark's frame."""

    stream: str
    table: pa.Table
    layout: Layout

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    def screen(self, con: duckdb.DuckDBPyConnection, rule: Judge, late: pa.Schema) -> Screened:
        """Registers the usable rows as `src`."""
        row, columns, table = self.layout.rows[self.stream], self.layout.columns[self.stream], self.table
        whole, found = table.column(row), None
        if whole.null_count < table.num_rows:
            names = ["_t", row, *(columns[c] for c in rule.reads)]
            suspects = table.select(names).rename_columns(["_t", "_row", *rule.reads]).filter(whole.is_valid())
            reasons = rule.find_reasons(con, suspects)
            found = suspects.append_column("_reason", reasons).filter(reasons.is_valid())
            if not pc.all(is_part_of_stream(found.column("_reason"))).as_py():
                con.register("screened", table)
                table = fetch_arrow(con, f"SELECT * FROM screened WHERE {rule.usable_sql}")
                con.unregister("screened")
        own = ["_pid"] if "_pid" in table.column_names else []  # of folders that are kept apart
        con.register("src", table.select(["_t", *own, *columns.values()]).rename_columns(["_t", *own, *columns]))
        largest = pc.max(table.column("_t")).as_py() if table.num_rows else None
        if found is None or not found.num_rows:
            return Screened(largest, None)
        return Screened(largest, _parse_rows(con, found, late))

    def leave(self, con: duckdb.DuckDBPyConnection) -> None:
        con.unregister("src")


def row_chunks(layout: Layout, frames: Iterable[pa.RecordBatch], most: int) -> Iterator[RowChunk]:
    """Batches gathered into tables large enough to aggregate well and small enough to hold: about `most` rows."""
    for table in _gather_frames(frames, most):
        for index, name in enumerate(layout.streams):
            mine = table if len(layout.streams) == 1 else table.filter(pc.equal(table.column("_s"), index))
            if mine.num_rows:
                yield RowChunk(name, mine, layout)


def _gather_frames(frames: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for frame in frames:
        waiting.append(frame)
        rows += frame.num_rows
        if rows >= most:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _parse_rows(con: duckdb.DuckDBPyConnection, late: pa.Table, schema: pa.Schema) -> pa.Table:
    con.register("late_rows", late)
    shape = quote_text(json.dumps({f.name: _column_type(f.type) for f in schema if f.name != "_reason"}))
    columns = ", ".join(_late_column(f) for f in schema if f.name != "_reason")
    parsed = f"SELECT json_transform(_row, {shape}) AS r, _reason FROM late_rows"
    reason = "_reason"
    if MALFORMED in schema.names:
        reason = f"CASE WHEN r.{MALFORMED} IS NULL THEN _reason ELSE 'malformed' END AS _reason"
    rows = fetch_arrow(con, f"SELECT {columns}, {reason} FROM ({parsed})")
    con.unregister("late_rows")
    return rows.cast(pa.schema([schema.field(name) for name in rows.column_names]))


def _late_column(field: pa.Field) -> str:
    name = quote_name(field.name)
    return f"{f'from_base64(r.{name})' if pa.types.is_binary(field.type) else f'r.{name}'} AS {name}"


def _column_type(type_: pa.DataType) -> object:
    """How a column of `_row` is read: times in microseconds, dates in days."""
    if pa.types.is_timestamp(type_):
        return "BIGINT"
    return "INTEGER" if pa.types.is_date(type_) else json_type(type_)


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
