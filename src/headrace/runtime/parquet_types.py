"""Parquet columns as pandas writes them and Spark's reader does not read them: times in nanoseconds, and unsigned integers of
64 bits that are declared as BIGINT.

Spark reads a time in nanoseconds as a BIGINT without a word, and one in microseconds too; so which of the two a file has is
looked up in its own footer, batch by batch, and only files that need it are read as numbers (`file_schemas.py`). What they become
is what the tasks' own reader makes of them (`kernels/scan.py`): the microsecond a time falls in, a BIGINT if the value fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.dialect.sql_quotes import quote_spark_name
from headrace.runtime.csv_headers import spell_schema
from headrace.runtime.source_frame import unite_parts
from headrace.sources.source_path import literal, local_path, unliteral

Columns = Sequence[tuple[str, str]]
_TIMES = ("timestamp", "timestamp_ltz", "timestamp_ntz")
_MOST = 2**63 - 1


def group_by_odd_columns(files: Iterable[str], columns: Columns) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Files by those of their columns that Spark must read in another type: (name, type). What cannot be opened here is for
    Spark to complain of.
    """
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for path in files:
        try:
            schema = {} if "://" in path else _read_types(path)
        except (pa.ArrowException, OSError):
            schema = {}
        odd = [(c, _read_as(schema[c.lower()], t.strip().lower())) for c, t in columns if c.lower() in schema]
        groups.setdefault(tuple((c, t) for c, t in odd if t), []).append(path)
    return groups


def read_odd_groups(
    spark: SparkSession, groups: Mapping[tuple[tuple[str, str], ...], list[str]], columns: Columns, options: Mapping[str, str]
) -> DataFrame:
    """The declared columns of the files of `group_by_odd_columns`."""
    given = {k: v for k, v in options.items() if k.lower() != "path"}
    folder = unliteral(options["path"])
    if os.path.isdir(local_path(folder)):
        given["basePath"] = folder
    parts = []
    for odd, files in groups.items():
        types = dict(columns) | dict(odd)
        reader = spark.read.format("parquet").options(**given).schema(spell_schema(types.items()))
        frame = reader.load([literal(path) for path in files])
        parts.append(frame.select(*(_convert(c, t, dict(odd).get(c)).alias(c) for c, t in columns)))
    return unite_parts(parts)


def _read_types(path: str) -> dict[str, pa.DataType]:
    """The types of a file's columns, without old times of 96 bits: Arrow calls them nanoseconds, Spark reads them as times."""
    footer = pq.read_metadata(path)
    leaves = [footer.schema.column(i) for i in range(footer.num_columns)]
    old = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    return {f.name.lower(): f.type for f in footer.schema.to_arrow_schema() if f.name not in old}


def _read_as(there: pa.DataType, declared: str) -> str:
    """The type in which Spark reads such a column; nothing if that is the declared one."""
    if declared in _TIMES and pa.types.is_timestamp(there) and there.unit == "ns":
        return "BIGINT"
    return "DECIMAL(20,0)" if declared in ("bigint", "long") and there == pa.uint64() else ""


def _convert(name: str, declared: str, read_as: str | None) -> Column:
    quoted = quote_spark_name(name)
    column = F.col(quoted)
    if read_as is None:
        return column
    if read_as == "BIGINT":
        micros = f"(({quoted} - pmod({quoted}, 1000L)) DIV 1000L)"  # of 1969 too the microsecond it falls in
        if declared.strip().lower() == "timestamp_ntz":
            return F.expr(f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01 00:00:00')")
        return F.expr(f"timestamp_micros({micros})")
    said = f"headrace.errors.SourceError: a source cannot be read: column [{name}] is uint64 and has values too large for BIGINT"
    advice = "\nNothing of this batch was committed. Declare it as DECIMAL(20,0) with a new checkpoint, and start again\n\n"
    return F.when(column > _MOST, F.raise_error(F.lit(said + advice)).cast("bigint")).otherwise(column.cast("bigint"))
