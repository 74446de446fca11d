"""The streaming DataFrame a CREATE STREAM describes.

Columns are matched by name. Spark matches the columns of a CSV file by place even if it has a header, so for files with
one the schema Spark is given follows the header of a file that is there, with the columns nobody declared as texts;
Spark then compares the header of every file with it (`enforceSchema false`) and refuses a file that differs. Lines
that do not parse are asked for with their text.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.errors import SourceError
from headrace.logical.graph import MALFORMED, Stream
from headrace.runtime.spark import literal, unliteral
from headrace.runtime.spark_faults import explain_error, quiet
from headrace.sql.error_places import suggest

_FILES = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_NEED_PATH = {"parquet", "csv", "json", "orc", "text", "avro", "delta", "binaryfile", "xml"}


def open_source(spark: SparkSession, stream: Stream, base: Path | None, files: bool = False) -> DataFrame:
    """The rows of a stream, or only its `files`."""
    options = resolve_options(stream, base)
    assert stream.format is not None
    try:
        with quiet():
            if files:
                return spark.readStream.format("binaryFile").schema(_FILES).options(**options).load()
            columns = [(c, t) for c, t in stream.columns]
            if stream.format.lower() == "csv" and (stream.option("header") or "").lower() == "true":
                columns = _follow_header(spark, stream, options)
                options = {k: v for k, v in options.items() if k.lower() != "enforceschema"}
                options["enforceSchema"] = "false"
            if stream.keeps_malformed:
                columns.append((MALFORMED, "STRING"))
                options["columnNameOfCorruptRecord"] = MALFORMED
            schema = ", ".join(f"{_quote(c)} {t}" for c, t in columns)
            return spark.readStream.format(stream.format).schema(schema).options(**options).load()
    except SourceError:
        raise
    except Exception as e:
        error = explain_error(e, None)
        raise SourceError(f"stream {stream.name}: {error}") from e


def _follow_header(spark: SparkSession, stream: Stream, options: dict[str, str]) -> list[tuple[str, str]]:
    """The declared columns in the order of the header, those of the header that nobody declared as texts."""
    try:
        header = spark.read.format("csv").options(**{**options, "inferSchema": "false"}).load().columns
    except Exception as e:
        if "UNABLE_TO_INFER_SCHEMA" in str(e):  # there is no file yet
            return list(stream.columns)
        raise
    declared = {c.lower(): (c, t) for c, t in stream.columns}
    found = [name.lower() for name in header]
    if missing := [c for c, _ in stream.columns if c.lower() not in found]:
        where = unliteral(options["path"])
        raise SourceError(
            f"stream {stream.name}: the header of the CSV files at {where} has no column {', '.join(missing)}; it has "
            f"{', '.join(header)}.{suggest(missing[0], header)} Declare the columns as the header names them, or mend the files"
        )
    return [declared.get(name.lower(), (name, "STRING")) for name in header]


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def resolve_options(stream: Stream, base: Path | None) -> dict[str, Any]:
    """The source's options, with a path that does not depend on where we are."""
    options = dict(stream.options)
    path = stream.option("path")
    if (stream.format or "").lower() not in _NEED_PATH:
        return options
    if path is None:
        raise SourceError(f"stream {stream.name}: a {stream.format} source needs OPTIONS (path '…')")
    options = {k: v for k, v in options.items() if k.lower() != "path"} | {"path": path}
    if "://" not in path and not path.startswith("file:"):
        folder = os.path.abspath(base or Path.cwd())
        resolved = os.path.normpath(os.path.join(folder, path))
        if os.path.exists(resolved):
            options["path"] = literal(resolved)
        elif any(c in path for c in "*?[{"):
            options["path"] = os.path.join(literal(folder), path)
        else:
            raise SourceError(f"stream {stream.name}: there is nothing at {resolved}")
    return options
