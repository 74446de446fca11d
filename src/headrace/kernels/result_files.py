"""Files of results and late rows: Parquet, under names of one attempt alone.

They are only *named* in a report; they exist for the world when the driver's manifest names them. Whoever reports them has
made them durable (`Store.sync`) before.

A query with much to say in a batch has a file of its own. The others wait in memory and share one for each list of column
types: a file costs what thousands of rows cost, so a thousand queries with ten rows each are written in one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.program.limits import SHIPPED, Limits
from headrace.state import Kind, OutputFile, OutputPart, Store
from headrace.state.result_parquet import SHARED_ROWS, WRITE_CHECKSUMS, describe_columns, seal_output

_BOUNDS = ("window_start", "window_end")


class ResultWriter:
    """Takes the results of queries piece by piece."""

    def __init__(
        self, store: Store, version: int, schemas: Mapping[str, bytes], numbers: Mapping[str, int], limits: Limits = SHIPPED
    ) -> None:
        self.store, self.version, self.schemas, self.numbers, self.limits = store, version, schemas, numbers, limits
        self._open: dict[str, tuple[str, pq.ParquetWriter, Any]] = {}
        self._rows: dict[str, int] = {}  # in these
        self._kept: dict[str, list[pa.Table]] = {}
        self._sizes: dict[str, int] = {}  # of what is kept
        self._size = 0
        self._files: list[OutputFile] = []

    def write(self, query: str, table: pa.Table) -> None:
        if not table.num_rows:
            return
        schema = read_schema(self.schemas[query])
        if not table.schema.equals(schema):
            table = table.cast(schema)
        if query in self._open:
            self._write_own(query, table)
            return
        self._kept.setdefault(query, []).append(table)
        self._sizes[query] = self._sizes.get(query, 0) + table.nbytes
        self._size += table.nbytes
        if self._sizes[query] >= self.limits.own_bytes:
            self._open_own(query)
            self._size -= self._sizes.pop(query)
            for piece in self._kept.pop(query):
                self._write_own(query, piece)
        elif self._size >= self.limits.shared_bytes:
            self._write_shared()

    def close(self) -> tuple[OutputFile, ...]:
        """The files, complete."""
        self._write_shared()
        for query, (path, writer, out) in self._open.items():
            writer.close()
            out.close()
            part = OutputPart(self.numbers[query], Kind.RESULT, 0, self._rows[query])
            self._files.append(seal_output(self.store, path, [part]))
        self._open = {}
        return tuple(self._files)

    def _open_own(self, query: str) -> None:
        schema = read_schema(self.schemas[query])
        path = name_file(f"results/{query}", self.version)
        out = self.store.open_output(path)
        self._open[query] = (path, pq.ParquetWriter(out, schema, **_encode(schema)), out)
        self._rows[query] = 0

    def _write_own(self, query: str, table: pa.Table) -> None:
        self._open[query][1].write_table(table)
        self._rows[query] += table.num_rows

    def _write_shared(self) -> None:
        """What is kept, in a file for each list of types."""
        shapes: dict[tuple[pa.DataType, ...], list[str]] = {}
        for query in sorted(self._kept, key=self.numbers.__getitem__):
            shapes.setdefault(_list_types(self.schemas[query]), []).append(query)
        for queries in shapes.values():
            self._files.append(self._write_together(queries))
        self._kept, self._sizes, self._size = {}, {}, 0

    def _write_together(self, queries: list[str]) -> OutputFile:
        schema = read_schema(self.schemas[queries[0]])
        shared = pa.schema([field.with_nullable(True) for field in schema]) if len(queries) > 1 else schema
        batches, parts, row = [], [], 0
        for query in queries:
            rows = 0
            for batch in (batch for table in self._kept[query] for batch in table.to_batches()):
                batches.append(pa.RecordBatch.from_arrays(batch.columns, schema=shared))
                rows += batch.num_rows
            parts.append(OutputPart(self.numbers[query], Kind.RESULT, row, rows))
            row += rows
        columns = {encoded: read_schema(encoded).names for encoded in {self.schemas[q] for q in queries}}
        names = {self.numbers[q]: own for q in queries if (own := columns[self.schemas[q]]) != shared.names}
        path = name_file(f"results/{queries[0] if len(queries) == 1 else 'shared'}", self.version)
        table = pa.Table.from_batches(batches, shared).replace_schema_metadata(describe_columns(names))
        with self.store.open_output(path) as out:
            pq.write_table(table, out, row_group_size=SHARED_ROWS if len(queries) > 1 else None, **_encode(shared))
        return seal_output(self.store, path, parts)


def write_late(store: Store, stream: str, number: int, version: int, table: pa.Table, schema: bytes) -> OutputFile:
    """Late rows of a stream, as a file nobody else writes, whatever attempt of whatever task this is."""
    target = read_schema(schema)
    path = name_file(f"late/{stream}", version)
    with store.open_output(path) as out:
        pq.write_table(table.cast(target), out, **_encode(target))
    return seal_output(store, path, [OutputPart(number, Kind.LATE, 0, table.num_rows)])


def name_file(folder: str, version: int) -> str:
    return f"{folder}/{version:012d}-{uuid.uuid4().hex}.parquet"


@lru_cache(maxsize=4096)  # the same ones, batch after batch
def read_schema(encoded: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(encoded))


@lru_cache(maxsize=4096)
def _list_types(encoded: bytes) -> tuple[pa.DataType, ...]:
    """Queries of one file have these alike."""
    return tuple(read_schema(encoded).types)


def _encode(schema: pa.Schema) -> dict[str, Any]:
    """How columns are written to Parquet. Numbers get no dictionary, since to look for repetitions takes half the time;
    nor do times, of which differences are written, except the bounds of windows, which repeat.
    """
    plain = [f for f in schema if pa.types.is_primitive(f.type) and f.name not in _BOUNDS]
    times = [f.name for f in plain if pa.types.is_timestamp(f.type)]
    return {
        **WRITE_CHECKSUMS,
        "use_dictionary": [f.name for f in schema if f not in plain],
        "column_encoding": dict.fromkeys(times, "DELTA_BINARY_PACKED"),
    }
