"""The rows of a static table, read by Spark.

CSV and JSON are read in the declared types, CSV files with headers by the names in them; anything else has types of its own,
which are cast to the declared ones. `FROM 'table' OPTIONS (name 'db.t')` is a table or view of Spark's catalog. The rows come to
the driver, which writes them down for all tasks (`table_versions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import SourceError
from headrace.logical.graph import StaticTable
from headrace.runtime.csv_headers import (
    HeaderReader,
    fixed_part,
    group_by_places,
    has_header,
    read_groups,
    spell_schema,
)
from headrace.runtime.open_source import explain_source, follow_header
from headrace.runtime.source_frame import local_path
from headrace.runtime.source_path import resolve_options
from headrace.runtime.spark_faults import quiet

if TYPE_CHECKING:
    TableSource = DataFrame | Callable[[], DataFrame]
CATALOG = "table"


class StaticReader:
    """Reads the tables of a session: `frames` are those given in Python, `bases` where paths of the others start."""

    def __init__(
        self, spark: SparkSession, frames: Mapping[str, TableSource], bases: Mapping[str, Path]
    ) -> None:
        self._spark, self._frames, self._bases = spark, frames, bases

    def read(self, table: StaticTable) -> pa.Table:
        """All rows of the table as they are now, in its declared columns and types."""
        try:
            with quiet():
                frame = self._open(table)
                listed = [f"CAST({_quote(c)} AS {t}) AS {_quote(c)}" for c, t in table.schema]
                rows = frame.selectExpr(*listed).toArrow()
        except SourceError:
            raise
        except Exception as e:
            raise explain_source(f"table {table.name}", table.format or "DataFrame", e) from e
        return rows.replace_schema_metadata(None)

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
    kind, options = table.format.lower(), resolve_options(table, base)
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


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
