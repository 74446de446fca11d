"""The rows of a static table, read by Spark.

CSV and JSON are read in the declared types, CSV files with headers by the names in them; anything else has types of its own,
which are cast to the declared ones. `FROM 'table' OPTIONS (name 'db.t')` is a table or view of Spark's catalog. Tasks write
the rows down, for the driver to decide what becomes of them (`table_versions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.dialect.sql_quotes import quote_spark_name
from headrace.errors import HeadraceError, SourceError
from headrace.kernels import payloads
from headrace.logical.graph import StaticTable
from headrace.program.table_division import TableDivision, TablePiece
from headrace.runtime.csv_headers import (
    HeaderReader,
    group_by_places,
    has_header,
    read_groups,
    spell_schema,
)
from headrace.runtime.open_source import explain_source, follow_header
from headrace.runtime.spark_faults import quiet
from headrace.runtime.tasks import divide_task, piece_task, split_task
from headrace.sources.source_path import fill_options, fixed_part, local_path
from headrace.state import Store, TableFile

if TYPE_CHECKING:
    TableSource = DataFrame | Callable[[], DataFrame]
CATALOG = "table"


class StaticReader:
    """Reads the tables of a session: `frames` are those given in Python, `bases` where paths of the others start."""

    def __init__(
        self, spark: SparkSession, frames: Mapping[str, TableSource], bases: Mapping[str, Path]
    ) -> None:
        self._spark, self._frames, self._bases = spark, frames, bases

    def write_pieces(self, table: StaticTable, columns: Sequence[str], store: Store, prefix: str, most: int) -> list[TablePiece]:
        """These columns of all rows as they are now, in their declared types, written down by tasks."""
        with self._explain(table):
            frame = self._select(table, columns).mapInArrow(piece_task(store, prefix, most), payloads.EXCHANGE)
            return _read_messages(frame)

    def read_empty(self, table: StaticTable, columns: Sequence[str]) -> pa.Table:
        """No rows, in the same types."""
        with self._explain(table):
            return self._select(table, columns).limit(0).toArrow().replace_schema_metadata(None)

    def divide(self, division: TableDivision) -> list[TableFile]:
        """Pieces are split, and the rows of each target are sorted, in tasks."""
        pieces = len(division.pieces)
        with quiet():
            sent = self._spark.range(0, pieces, 1, pieces).mapInArrow(split_task(division), payloads.EXCHANGE)
            sent = sent.repartitionById(division.targets, F.col("slot"))
            return _read_messages(sent.mapInArrow(divide_task(division), payloads.EXCHANGE))

    @contextmanager
    def _explain(self, table: StaticTable) -> Iterator[None]:
        try:
            with quiet():
                yield
        except HeadraceError:
            raise
        except Exception as e:
            raise explain_source(f"table {table.name}", table.format or "DataFrame", e) from e

    def _select(self, table: StaticTable, columns: Sequence[str]) -> DataFrame:
        listed = [f"CAST({quote_spark_name(c)} AS {t}) AS {quote_spark_name(c)}" for c, t in table.schema if c in columns]
        return self._open(table).selectExpr(*listed)

    def _open(self, table: StaticTable) -> DataFrame:
        given = self._frames.get(table.name)
        if given is not None:
            frame = given() if callable(given) else given
        else:
            frame = open_static(self._spark, table, self._bases.get(table.name))
        there = [c.lower() for c in frame.columns]
        if missing := [c for c in table.columns if c.lower() not in there]:
            raise SourceError(
                f"table {table.name}: its source has no column {', '.join(missing)}; it has {', '.join(frame.columns)}. Declare "
                "columns by the names they have there"
            )
        return frame


def open_static(spark: SparkSession, table: StaticTable, base: Path | None) -> DataFrame:
    """The DataFrame that CREATE TABLE describes; without declared columns with those of the source."""
    assert table.format is not None
    kind, options = table.format.lower(), fill_options(table, base)
    if kind == CATALOG:
        name = table.option("name")
        if name is None:
            raise SourceError(f"table {table.name}: FROM 'table' needs OPTIONS (name '…'), a table of Spark's catalog")
        spark.catalog.refreshTable(name)
        return spark.table(name)
    reader = spark.read.format(table.format)
    if not table.schema:
        if kind == "csv" and table.option("inferSchema") is None:
            options["inferSchema"] = "true"
        return reader.options(**options).load()
    if has_header(table):
        columns = follow_header(spark, f"table {table.name}", table.schema, options)
        frame = reader.options(**options).schema(spell_schema(columns)).load()
        files, headers = [unquote(local_path(f)) for f in frame.inputFiles()], HeaderReader(spark, options)
        groups = group_by_places(f"table {table.name}: ", files, fixed_part(options["path"]), table.schema, headers)
        return read_groups(spark, groups, table.schema, options) if len(groups) > 1 else frame
    if kind in ("csv", "json"):
        reader = reader.schema(spell_schema(table.schema))
    return reader.options(**options).load()


def ask_table_columns(spark: SparkSession, table: StaticTable, base: Path | None) -> tuple[tuple[str, str], ...]:
    """The columns a table has, as Spark knows them."""
    try:
        with quiet():
            frame = open_static(spark, table, base)
            return tuple((f.name, f.dataType.simpleString()) for f in frame.schema)
    except SourceError:
        raise
    except Exception as e:
        raise explain_source(f"table {table.name}", str(table.format), e) from e


def _read_messages(frame: DataFrame) -> list[Any]:
    return [payloads.read_message(bytes(row["payload"])) for row in frame.collect()]
