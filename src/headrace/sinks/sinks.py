"""Where committed results go besides the result log.

A sink is handed what a manifest names, after it was published, with the version as batch id. What was
delivered is remembered per sink in the checkpoint, and a restart delivers what a crash left undelivered: at
least once, and with the batch id a sink can make that exactly once. Directory sinks do: their file names
follow from query and batch id. A sink that raises is called again a few times (`delivery`). A sink that is
new to a checkpoint gets what is committed from then on; a directory gets everything.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CheckpointError, OptionError
from headrace.report.export import encoder
from headrace.report.python_values import list_rows
from headrace.state import Store


class Sink(Protocol):
    """What is given committed results. What was delivered to it is remembered under its name."""

    @property
    def name(self) -> str: ...

    def write(self, query: str, batch_id: int, table: pa.Table) -> None: ...


@dataclass
class Callback:
    """A function `(query, batch_id, table)`."""

    function: Callable[[str, int, pa.Table], object]
    name: str = "callback"

    def write(self, query: str, batch_id: int, table: pa.Table) -> None:
        self.function(query, batch_id, table)


@dataclass
class Console:
    """The first rows of each result, on standard output."""

    rows: int = 20
    name: str = "console"

    def write(self, query: str, batch_id: int, table: pa.Table) -> None:
        from rich.console import Console as Terminal
        from rich.table import Table

        shown = Table(title=f"{query}, batch {batch_id}: {table.num_rows:,} rows")
        for column in table.column_names:
            shown.add_column(column)
        for row in list_rows(table.slice(0, self.rows)):
            shown.add_row(*(str(v) for v in row.values()))
        Terminal(file=sys.stdout).print(shown)


@dataclass
class Directory:
    """CSV, JSON lines or Parquet files, one per query and batch, written as `headrace results` writes them. The directory is a
    local path or a URI that a checkpoint may have (`Store`); a file appears as a whole, and a second time as the same.
    """

    path: str
    format: str

    def __post_init__(self) -> None:
        if self.format not in ("csv", "json", "parquet"):
            raise OptionError(f"sink: expected csv, json or parquet, got {self.format!r}")
        try:
            self._store = Store.open(self.path)
        except CheckpointError as error:
            raise OptionError(f"sink {self.format}: {error}") from error

    @property
    def name(self) -> str:
        address = self._store.uri
        return f"{self.format}:{Path(address).resolve() if self._store.is_local else address}"

    def open(self) -> None:
        """See that the address can be reached, before a run begins."""
        try:
            self._store.exists("_")
        except CheckpointError as error:
            raise OptionError(f"sink {self.format}:{self.path}: {error.__cause__ or error}") from error

    def write(self, query: str, batch_id: int, table: pa.Table) -> None:
        out = io.BytesIO()
        if self.format == "parquet":
            pq.write_table(table, out)
        else:
            encode = encoder(self.format)
            for batch in table.to_batches():
                out.write(encode(batch))
        self._store.write(f"{query}/{batch_id:012d}.{self.format}", out.getvalue())


@dataclass
class SparkWriter:
    """`function(frame, batch_id, query)` with a Spark DataFrame, in the style of foreachBatch."""

    function: Callable[[Any, int, str], object]
    name: str = "spark"
    spark: Any = None

    def write(self, query: str, batch_id: int, table: pa.Table) -> None:
        self.function(self.spark.createDataFrame(table), batch_id, query)


def make_sink(sink: Any, spark: Any) -> Sink:
    """A sink from what a user writes: a sink, a function, 'console', 'csv:DIR', 'json:DIR', 'parquet:DIR'."""
    if isinstance(sink, SparkWriter):
        sink.spark = spark
        return sink
    if isinstance(sink, str):
        kind, _, path = sink.partition(":")
        if kind == "console" and not path:
            return Console()
        if path:
            directory = Directory(path, kind)
            directory.open()
            return directory
        raise OptionError(f"sink: expected console, csv:DIR, json:DIR or parquet:DIR, got {sink!r}")
    if hasattr(sink, "write") and hasattr(sink, "name"):
        return sink  # type: ignore[no-any-return]
    if callable(sink):
        return Callback(sink)
    raise OptionError(
        f"sink: expected a function, a sink or a text like 'csv:DIR', got {type(sink).__name__}"
    )
