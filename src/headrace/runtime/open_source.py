"""The streaming DataFrame a CREATE STREAM describes.

Files are given the declared schema; other sources have their own, and what is declared is picked from it by name.
For CSV files with a header the schema follows the header of a file that is there, with the columns nobody declared as
texts; files that differ are dealt with batch by batch (`csv_headers.py`). Lines that do not parse are asked for with their text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headrace.errors import SourceError
from headrace.logical.graph import Stream
from headrace.logical.source_formats import FILE_FORMATS, MALFORMED, known_columns
from headrace.progress import Ordered
from headrace.runtime.csv_headers import arrange_columns, has_header, spell_schema
from headrace.runtime.spark_faults import explain_error, find_line, quiet
from headrace.sources.option_values import hide_values
from headrace.sources.source_advice import advise_source
from headrace.sources.source_path import fill_options, unliteral

_FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


def open_source(spark: SparkSession, stream: Stream, base: Path | None, files: bool = False) -> DataFrame:
    """The rows of a stream, or only its `files`."""
    options = fill_options(stream, base)
    assert stream.format is not None
    try:
        with quiet():
            if files:
                return spark.readStream.format("binaryFile").schema(_FILES).options(**options).load()
            if stream.format.lower() not in FILE_FORMATS:
                return _open_own_schema(spark, stream, options)
            columns = list(stream.columns)
            if has_header(stream):
                columns = follow_header(spark, f"stream {stream.name}", stream.columns, options)
                options = {k: v for k, v in options.items() if k.lower() != "enforceschema"}
            if stream.keeps_malformed:
                columns.append((MALFORMED, "STRING"))
                options["columnNameOfCorruptRecord"] = MALFORMED
            reader = spark.readStream.format(stream.format).options(**options)
            return reader.schema(spell_schema(columns)).load()
    except SourceError:
        raise
    except Exception as e:
        raise explain_source(f"stream {stream.name}", stream.format, e) from e


def ask_columns(
    spark: SparkSession, name: str, format_: str, options: Mapping[str, str], base: Path | None
) -> tuple[tuple[str, str], ...]:
    """The columns of a source that has a schema of its own, as Spark knows them."""
    unknown = Stream(name, (), "", "", Ordered(), format=format_, options=tuple(options.items()))
    try:
        with quiet():
            reader = spark.readStream.format(format_).options(**fill_options(unknown, base))
            return tuple((f.name, f.dataType.simpleString()) for f in reader.load().schema)
    except SourceError:
        raise
    except Exception as e:
        raise explain_source(f"stream {name}", format_, e) from e


def _open_own_schema(spark: SparkSession, stream: Stream, options: dict[str, str]) -> DataFrame:
    """A source that has a schema of its own, or takes the one that is declared if it has none."""
    assert stream.format is not None
    reader = spark.readStream.format(stream.format).options(**options)
    try:
        frame = reader.load()
    except Exception as e:
        if known_columns(stream.format, options) or "DATA_SOURCE_NOT_FOUND" in str(e):
            raise
        try:
            return reader.schema(spell_schema(stream.columns)).load()
        except Exception:
            raise e from None
    there = [c.lower() for c in frame.columns]
    if missing := [c for c, _ in stream.columns if c.lower() not in there]:
        raise SourceError(
            f"stream {stream.name}: the {stream.format} source has no column {', '.join(missing)}; it has "
            f"{', '.join(frame.columns)}. Declare columns by the names they have there, or leave the list out"
        )
    return frame


def explain_source(what: str, format_: str, error: Exception) -> SourceError:
    if "DATA_SOURCE_NOT_FOUND" in str(error):
        return SourceError(f"{what}: {advise_source(format_)}")
    if "No suitable driver" in str(error) or "java.sql.Driver" in str(error):
        return SourceError(
            f"{what}: Spark has no driver for this database: {find_line(str(error))}. Give the driver's jar with headrace run "
            "--jars FILE, and the name of its class in OPTIONS (driver 'org.postgresql.Driver')"
        )
    said = explain_error(error, None, outside=True)
    return SourceError(hide_values(f"{what}: {said}"))


def follow_header(
    spark: SparkSession, what: str, columns: tuple[tuple[str, str], ...], options: dict[str, str]
) -> list[tuple[str, str]]:
    """The declared columns in the order of the header, those of the header that nobody declared as texts."""
    try:
        header = spark.read.format("csv").options(**{**options, "inferSchema": "false"}).load().columns
    except Exception as e:
        if "UNABLE_TO_INFER_SCHEMA" in str(e):  # there is no file yet
            return list(columns)
        raise
    where = unliteral(options["path"])
    return arrange_columns(f"{what}: the header of the CSV files at {where}", columns, header)
