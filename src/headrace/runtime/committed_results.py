"""Reading what was committed: through manifests only, as Spark, Arrow or pandas."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.state import ResultFile, Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Results:
    """The committed rows of a query, or the late rows of a stream, at the moment they are asked for."""

    store: Store
    files: Callable[[], list[ResultFile]]
    schema: pa.Schema
    session: Callable[[], SparkSession] | None = None

    def arrow(self) -> pa.Table:
        tables = []
        for file in self.files():
            with self.store.open_input(file.path) as source:
                tables.append(_complete(pq.read_table(source), self.schema).cast(self.schema))
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def pandas(self) -> Any:
        return self.arrow().to_pandas()

    def spark(self) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        from headrace.runtime.source_path import literal

        assert self.session is not None
        spark = self.session()
        schema = from_arrow_schema(self.schema)
        root = literal(self.store.uri.rstrip("/"))
        paths = [f"{root}/{f.path}" for f in self.files()]
        return spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)


def _complete(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with all columns of `schema`: a late table may have got the text of lines since."""
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(schema.names)


def schema_of(encoded: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded)))
