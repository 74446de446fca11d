"""CSV files with a header, each matched by its own.

Spark matches the columns of a CSV file by place even if it has a header, and a stream has one schema for all its files. That
schema follows the header of one file (`follow_header`). Before a batch runs, the header of each of its files is compared
with it: as long as declared columns are at the same places, Spark's rows are right as they are. If not, the batch's files of
that stream are read again, those of one order together (`OwnHeaders.arrange`), and take the place of what Spark has
planned, which nobody runs then. A file that lacks a declared column ends the run before anything of it is read.

What Spark makes of a first line (quotes, delimiters, letters) only Spark tells, at the price of a job; so each first line is
shown to it once. Where the first line is not all there is to say (compressed files, comments, other line ends), each file is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import InternalError, SourceError
from headrace.logical.graph import Graph, StaticTable, Stream
from headrace.logical.source_formats import FILE_FORMATS, MALFORMED
from headrace.runtime.source_frame import list_planned, select_stream, unite_parts
from headrace.runtime.source_path import fixed_part, literal, local_path, resolve_options, unliteral
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
    if missing := [c for c, _ in columns if c.lower() not in found]:
        raise SourceError(
            f"{what} has no column {', '.join(missing)}; it has {', '.join(header)}.{suggest(missing[0], header)} Declare the "
            "columns as the header names them, or mend the files"
        )
    return [declared.get(name.lower(), (name, "STRING")) for name in header]


def spell_schema(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{c.replace('`', '``')}` {t}" for c, t in columns)


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
        parts.append(frame.select(*(F.col(f"`{c}`") for c, _ in [*columns, *extra])))
    return unite_parts(parts)


@dataclass(frozen=True)
class _Declared:
    """A stream of CSV files with headers: its number, and the places of its columns in the schema Spark has."""

    number: int
    stream: Stream
    options: dict[str, str]
    places: tuple[str, ...]
    headers: HeaderReader


class OwnHeaders:
    """Looks at the headers of each batch's files. `frames` are the streams as they were opened."""

    def __init__(
        self, spark: SparkSession, graph: Graph, frames: Mapping[str, DataFrame], bases: Mapping[str, Path]
    ) -> None:
        self._graph = graph
        self._declared: list[_Declared] = []
        self._folders: dict[int, str] = {}
        for number, (name, stream) in enumerate(graph.streams.items()):
            if (stream.format or "").lower() not in FILE_FORMATS:
                continue
            options = resolve_options(stream, bases.get(name))
            self._folders[number] = fixed_part(options["path"])
            if has_header(stream):
                known = {c.lower(): c for c, _ in stream.columns}
                places = tuple(known.get(c.lower(), "") for c in frames[name].columns if c != MALFORMED)
                self._declared.append(_Declared(number, stream, options, places, HeaderReader(spark, options)))

    def arrange(self, frame: DataFrame, where: str) -> DataFrame:
        """The rows of a batch, with the columns of each file where its own header says."""
        if not self._declared:
            return frame
        paths = list_planned(frame)
        if paths is None:
            raise InternalError(f"{where}Spark does not tell which files a batch has; CSV files with a header need that")
        again: dict[int, DataFrame] = {}
        for one in self._declared:
            mine = [path for path in paths if one.number in self._owners(path)]
            what, folder = f"{where}a source cannot be read: ", self._folders[one.number]
            groups = group_by_places(what, mine, folder, one.stream.columns, one.headers)
            if all(_same_places(places, one.places) for places in groups):
                continue
            self._refuse_unclear(mine, where)
            rows = read_groups(frame.sparkSession, groups, one.stream.columns, one.options, one.stream.keeps_malformed)
            again[one.number] = select_stream(one.number, one.stream, rows)
        if not again:
            return frame
        if len(self._graph.streams) == 1:
            return again[0].drop("_s")
        return unite_parts([frame.where(~F.col("_s").isin(*again)), *again.values()])

    def _owners(self, path: str) -> list[int]:
        """The streams whose folder the file is in."""
        if len(self._graph.streams) == 1:
            return [0]
        return [i for i, folder in self._folders.items() if path.startswith(folder)]

    def _refuse_unclear(self, files: list[str], where: str) -> None:
        """Read again are only files of which it is certain that they are of this stream and new to it."""
        other = next((s.name for s in self._graph.streams.values() if s.format is None), None)
        shared = next((path for path in files if len(self._owners(path)) > 1), None)
        if other is None and shared is None:
            return
        reason = f"{shared} is of several streams" if shared else f"{other} is a DataFrame, which may have read them too"
        raise SourceError(
            f"{where}a source cannot be read: the headers of CSV files are in different order, and {reason}. Nothing of this "
            "batch was committed; give these files one order of columns, and start again"
        )


def place_columns(columns: Columns, places: Sequence[str]) -> list[tuple[str, str]]:
    """A schema for files with declared columns at these places; those that folders name come last."""
    types, absent = dict(columns), [(c, t) for c, t in columns if c not in places]
    return [(c, types[c]) if c else (f"not declared {i}", "STRING") for i, c in enumerate(places)] + absent


def _same_places(file: Sequence[str], schema: Sequence[str]) -> bool:
    """Whether a file fits a schema, which has the columns that folders name at its end."""
    return tuple(file) == tuple(schema[: len(file)]) and all(schema[len(file) :])
