"""Committed results, read through the manifests without Spark, and written as text or Parquet.

Only what a manifest names is a result, so a reader never sees a batch that has not been committed, however
it reads and whenever it starts. Files come in the order of their batches and are handed on one record batch
at a time: memory does not grow with the result, and the first rows are out before the last are read.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CheckpointError, OptionError
from headrace.report.ipv4 import show_addresses
from headrace.report.python_values import list_rows, list_values
from headrace.report.results import shown
from headrace.report.text import one_line
from headrace.state import FilePart, Listing, ManifestLog, Store
from headrace.state.result_parquet import stream_results

Encode = Callable[[pa.RecordBatch], bytes]
WIDEST = 60  # of a column of the table format, until a longer value comes


def has_batches(directory: str) -> bool:
    """Whether a batch was ever committed to the checkpoint in `directory`."""
    return ManifestLog(Store.open(directory)).latest() is not None


def open_log(directory: str) -> ManifestLog:
    """The manifests of the checkpoint in `directory`; an error if there is none."""
    if os.path.isfile(directory):
        raise CheckpointError(f"{directory} is a file, and a checkpoint is a directory; give the one that --checkpoint named")
    log = ManifestLog(Store.open(directory))
    if log.latest() is None:
        raise CheckpointError(
            f"{log.store.uri} is no checkpoint with committed batches: there is no manifest in it. Give the "
            "directory that --checkpoint named, and check that the run has finished its first batch"
        )
    return log


class CommittedFiles:
    """The rows of one query, or the late rows of one stream, as they are committed.

    It remembers how many rows it has given, not which files: these are merged meanwhile, and a file that is gone is looked
    for among those that took its place. Rows that expired before they were read are passed over.
    """

    def __init__(self, log: ManifestLog, name: str, late: bool = False, ipv4: tuple[str, ...] = ()) -> None:
        self.log, self._ipv4 = log, ipv4
        self._list: Callable[[str], Listing] = log.list_late if late else log.list_results
        self._name = name
        self._position = 0  # of the next row

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows committed since the last call, a record batch at a time, addresses as such."""
        return show_addresses(self._batches(), self._ipv4) if self._ipv4 else self._batches()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        failure: Exception | None = None
        while True:
            listing = self._list(self._name)
            before = self._position
            try:
                for start, file in zip(listing.starts, listing.parts, strict=True):
                    if start + file.rows > self._position:
                        yield from self._rest_of(start, file)
                return
            except CheckpointError as error:
                self.log.refresh()
                if self._position == before and failure is not None and str(error) == str(failure):
                    raise
                failure = error

    def _rest_of(self, start: int, file: FilePart) -> Iterator[pa.RecordBatch]:
        for batch in stream_results(self.log.store, file):
            given = max(0, self._position - start)  # of this batch
            start += batch.num_rows
            if given < batch.num_rows:
                rest = batch.slice(given)
                self._position = start
                yield rest

    def last(self, count: int, at_most: int) -> pa.Table | None:
        """The rows of the last files that have `count` rows together; None if there are none."""
        chosen: list[FilePart] = []
        for file in reversed(self._list(self._name).parts):
            if sum(one.rows for one in chosen) >= count:
                break
            chosen.insert(0, file)
        batches = [batch for file in chosen for batch in stream_results(self.log.store, file)]
        return pa.Table.from_batches(batches)[-at_most:] if batches else None

    def rows(self) -> int:
        return sum(file.rows for file in self._list(self._name).parts)


def as_csv() -> Encode:
    """CSV with a header, null as an empty field, times as ISO."""
    first = True

    def encode(batch: pa.RecordBatch) -> bytes:
        nonlocal first
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if first:
            writer.writerow(batch.schema.names)
            first = False
        columns = [[_csv(value) for value in list_values(column)] for column in batch.columns]
        writer.writerows(zip(*columns, strict=True))
        return text.getvalue().encode()

    return encode


def as_json() -> Encode:
    """One JSON object per line; times as ISO strings, decimals as strings, NaN and infinities as null."""

    def encode(batch: pa.RecordBatch) -> bytes:
        rows = (json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in list_rows(batch))
        return "".join(rows).encode()

    return encode


def as_table() -> Encode:
    """Columns under each other. Widths are those of the first rows, and grow when a longer value comes."""
    widths: list[int] = []

    def encode(batch: pa.RecordBatch) -> bytes:
        columns = [[one_line(shown(value)) for value in list_values(column)] for column in batch.columns]
        first = not widths
        for i, (name, column) in enumerate(zip(batch.schema.names, columns, strict=True)):
            width = min(WIDEST, max([len(one_line(name)), *map(len, column)]))
            if first:
                widths.append(width)
            widths[i] = max(widths[i], width)
        right = [
            pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t)
            for t in batch.schema.types
        ]
        pad = [str.rjust if is_number else str.ljust for is_number in right]
        lines = (
            [[one_line(name) for name in batch.schema.names], ["─" * width for width in widths]]
            if first
            else []
        )
        rows = (*lines, *zip(*columns, strict=True))
        return "".join(
            "  ".join(pad[i](cell, widths[i]) for i, cell in enumerate(row)).rstrip() + "\n" for row in rows
        ).encode()

    return encode


def write_parquet(batches: Iterator[pa.RecordBatch], sink: BinaryIO) -> int:
    """All batches as one Parquet file; the number of rows. Without any batch nothing is written."""
    writer, rows = None, 0
    for batch in batches:
        writer = writer or pq.ParquetWriter(sink, batch.schema)
        writer.write_batch(batch)
        rows += batch.num_rows
    if writer is not None:
        writer.close()
    return rows


ENCODERS: dict[str, Callable[[], Encode]] = {"table": as_table, "csv": as_csv, "json": as_json}


def encoder(name: str) -> Encode:
    if name not in ENCODERS:
        raise OptionError(f"results cannot be written as {name!r}; expected one of {', '.join(ENCODERS)}")
    return ENCODERS[name]()


def _csv(value: Any) -> Any:
    """Cells that the csv module would not write as they should be read; lists and structs are JSON."""
    if isinstance(value, list | dict):
        return json.dumps(_plain(value), ensure_ascii=False)
    return _plain(value) if isinstance(value, datetime | date | bytes | bool) else value


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, date) else str(value)
