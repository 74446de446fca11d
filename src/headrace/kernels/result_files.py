"""Files of results and late rows: Parquet, under names of one attempt alone.

They are only *named* in a report; they exist for the world when the driver's manifest names them. Whoever reports them has
made them durable (`Store.sync`) before.
"""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.state import ResultFile, Store
from headrace.state.result_parquet import WRITE_CHECKSUMS, seal_results

_BOUNDS = ("window_start", "window_end")


class ResultWriter:
    """One file per query, written piece by piece."""

    def __init__(self, store: Store, version: int, schemas: dict[str, bytes]) -> None:
        self.store, self.version, self.schemas = store, version, schemas
        self._open: dict[str, tuple[str, pq.ParquetWriter, Any]] = {}
        self._rows: dict[str, int] = {}

    def write(self, query: str, table: pa.Table) -> None:
        if query not in self._open:
            schema = read_schema(self.schemas[query])
            path = name_file(f"results/{query}", self.version)
            out = self.store.open_output(path)
            self._open[query] = (path, pq.ParquetWriter(out, schema, **_encode(schema)), out)
        writer = self._open[query][1]
        writer.write_table(table.cast(writer.schema))
        self._rows[query] = self._rows.get(query, 0) + table.num_rows

    def close(self) -> dict[str, tuple[ResultFile, ...]]:
        """The files, by query."""
        for _, writer, out in self._open.values():
            writer.close()
            out.close()
        found: dict[str, tuple[ResultFile, ...]] = {
            query: (seal_results(self.store, path, self._rows.get(query, 0)),) for query, (path, _, _) in self._open.items()
        }
        self._open = {}
        return found


def write_file(store: Store, folder: str, version: int, table: pa.Table, schema: bytes) -> ResultFile:
    """A table as a file nobody else writes, whatever attempt of whatever task this is."""
    target = read_schema(schema)
    path = name_file(folder, version)
    with store.open_output(path) as out:
        pq.write_table(table.cast(target), out, **_encode(target))
    return seal_results(store, path, table.num_rows)


def name_file(folder: str, version: int) -> str:
    return f"{folder}/{version:012d}-{uuid.uuid4().hex}.parquet"


def read_schema(encoded: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(encoded))


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
