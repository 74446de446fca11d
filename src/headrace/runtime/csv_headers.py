"""CSV files with a header, each matched by its own.

Spark matches the columns of a CSV file by place even if it has a header, and a stream has one schema for all its files. That
schema follows the header of one file (`follow_header`). Before a batch runs, the header of each of its files is compared
with it: as long as declared columns are at the same places, Spark's rows are right as they are. If not, the batch's files of
that stream are read again, those of one order together (`file_schemas.py`), and take the place of what Spark has
planned, which nobody runs then. A file that lacks a declared column ends the run before anything of it is read.

What Spark makes of a first line (quotes, delimiters, letters) only Spark tells, at the price of a job; so each first line is
shown to it once. Where the first line is not all there is to say (compressed files, comments, other line ends), each file is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.dialect.sql_quotes import quote_spark_name
from headrace.errors import SourceError
from headrace.logical.graph import StaticTable, Stream
from headrace.logical.source_formats import MALFORMED
from headrace.runtime.source_frame import unite_parts
from headrace.sources.source_path import literal, local_path, unliteral
from headrace.sql.error_places import suggest

Columns = Sequence[tuple[str, str]]
_LONGEST = 1 << 20  # bytes of a first line
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz", ".zip")
_BESIDE_LINES = ("multiline", "comment", "linesep", "encoding", "charset", "compression", "codec")


def has_header(source: Stream | StaticTable) -> bool:
    return (source.format or "").lower() == "csv" and (source.option("header") or "").lower() == "true"


def arrange_columns(what: str, columns: Columns, header: Sequence[str]) -> list[tuple[str, str]]:
    """The declared columns in the order of a header, those that nobody declared as texts; `what` has the header."""
    declared = {c.lower(): (c, t) for c, t in columns}
    found = [name.lower() for name in header]
    missing = [c for c, _ in columns if c.lower() not in found]
    if twice := [c for c in missing if _numbered(c.lower(), found)]:  # names that are there twice, Spark numbers
        raise SourceError(f"{what} has the column {twice[0]} more than once; give each column of the files a name of its own")
    if missing:
        raise SourceError(
            f"{what} has no column {', '.join(missing)}; it has {', '.join(header)}.{suggest(missing[0], header)} Declare the "
            "columns as the header names them, or mend the files"
        )
    return [declared.get(name.lower(), (name, "STRING")) for name in header]


def _numbered(name: str, header: Sequence[str]) -> bool:
    return sum(one == f"{name}{place}" for place, one in enumerate(header)) > 1


def spell_schema(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{quote_spark_name(c)} {t}" for c, t in columns)


class HeaderReader:
    """The headers of CSV files that are read with the same options."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        self._spark = spark
        given = {k.lower(): v for k, v in options.items() if k.lower() != "path"}
        self._by_line = not any(given.get(k) not in (None, "false") for k in _BESIDE_LINES)
        self._options = {**{k: v for k, v in options.items() if k.lower() != "path"}, "inferSchema": "false"}
        self._known: dict[bytes, tuple[str, ...]] = {}

    def read(self, path: str) -> tuple[str, ...]:
        """The names in the header of a file, as Spark reads them; none if it is empty."""
        line = self._first_line(path)
        if line is None:
            return self._ask(path)
        if line not in self._known:
            self._known[line] = self._ask(path)
        return self._known[line]

    def _first_line(self, path: str) -> bytes | None:
        """The line that decides what the header is; None if more than that does."""
        if not self._by_line or "://" in path or path.lower().endswith(_PACKED):
            return None
        with open(path, "rb") as file:
            line = file.readline(_LONGEST)
        return line if line.strip() and line.endswith(b"\n") else None

    def _ask(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(self._spark.read.format("csv").options(**self._options).load(literal(path)).columns)
        except Exception as e:
            if "UNABLE_TO_INFER_SCHEMA" in str(e):  # an empty file
                return ()
            raise


def group_by_places(
    what: str, files: Iterable[str], folder: str, columns: Columns, headers: HeaderReader
) -> dict[tuple[str, ...], list[str]]:
    """Files by the places of declared columns: the names there, nothing for a column that nobody declared. Empty files are in
    none. Columns that folders below `folder` name (`day=2024-01-01`) have no place in a file.
    """
    declared = {c.lower(): c for c, _ in columns}
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in files:
        header = headers.read(path)
        if not header:
            continue
        below = path.removeprefix(folder).split("/")[:-1]
        named = {part.partition("=")[0].lower() for part in below if "=" in part}
        inside = [(c, t) for c, t in columns if c.lower() not in named]
        arrange_columns(f"{what}{path}: its header does not fit: it", inside, header)
        groups.setdefault(tuple(declared.get(n.lower(), "") for n in header), []).append(path)
    return groups


def read_groups(
    spark: SparkSession, groups: Mapping[tuple[str, ...], list[str]], columns: Columns, options: Mapping[str, str],
    malformed: bool = False,
) -> DataFrame:  # fmt: skip
    """The declared columns of the files of `group_by_places`, and the text of lines that do not parse if asked for."""
    given = {k: v for k, v in options.items() if k.lower() not in ("path", "enforceschema")}
    folder = unliteral(options["path"])
    if os.path.isdir(local_path(folder)):
        given["basePath"] = folder
    extra = [(MALFORMED, "STRING")] if malformed else []
    if malformed:
        given["columnNameOfCorruptRecord"] = MALFORMED
    parts = []
    for places, files in groups.items():
        reader = spark.read.format("csv").options(**given).schema(spell_schema([*place_columns(columns, places), *extra]))
        frame = reader.load([literal(path) for path in files])
        parts.append(frame.select(*(F.col(quote_spark_name(c)) for c, _ in [*columns, *extra])))
    return unite_parts(parts)


def place_columns(columns: Columns, places: Sequence[str]) -> list[tuple[str, str]]:
    """A schema for files with declared columns at these places; those that folders name come last."""
    types, absent = dict(columns), [(c, t) for c, t in columns if c not in places]
    return [(c, types[c]) if c else (f"not declared {i}", "STRING") for i, c in enumerate(places)] + absent


def same_places(file: Sequence[str], schema: Sequence[str]) -> bool:
    """Whether a file fits a schema, which has the columns that folders name at its end."""
    return tuple(file) == tuple(schema[: len(file)]) and all(schema[len(file) :])
