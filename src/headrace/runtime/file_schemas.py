"""Files whose own schema is not the one Spark reads a stream with, found batch by batch.

A stream has one schema for all its files. Before a batch runs, the header of each of its CSV files (`csv_headers.py`) and
the footer of each of its Parquet files (`parquet_types.py`) is compared with it. As long as all fit, Spark's rows are right as
they are. If not, the batch's files of that stream are read again, those of one schema together, and take the place of what
Spark has planned, which nobody runs then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import InternalError, SourceError
from headrace.logical.graph import Graph, Stream
from headrace.logical.source_formats import FILE_FORMATS, MALFORMED
from headrace.runtime.csv_headers import HeaderReader, group_by_places, has_header, read_groups, same_places
from headrace.runtime.parquet_types import group_by_odd_columns, read_odd_groups
from headrace.runtime.source_frame import list_planned, select_stream, unite_parts
from headrace.sources.source_path import fill_options, fixed_part


@dataclass(frozen=True)
class _HeadedStream:
    """A stream of CSV files with headers: its number, and the places of its columns in the schema Spark has."""

    number: int
    stream: Stream
    options: dict[str, str]
    places: tuple[str, ...]
    headers: HeaderReader


@dataclass(frozen=True)
class _ParquetStream:
    number: int
    stream: Stream
    options: dict[str, str]


class FileSchemas:
    """Looks at the schemas of each batch's files. `frames` are the streams as they were opened."""

    def __init__(
        self, spark: SparkSession, graph: Graph, frames: Mapping[str, DataFrame], bases: Mapping[str, Path]
    ) -> None:
        self._graph = graph
        self._headed: list[_HeadedStream] = []
        self._parquet: list[_ParquetStream] = []
        self._folders: dict[int, str] = {}
        for number, (name, stream) in enumerate(graph.streams.items()):
            if (stream.format or "").lower() not in FILE_FORMATS:
                continue
            options = fill_options(stream, bases.get(name))
            self._folders[number] = fixed_part(options["path"])
            if has_header(stream):
                known = {c.lower(): c for c, _ in stream.columns}
                places = tuple(known.get(c.lower(), "") for c in frames[name].columns if c != MALFORMED)
                self._headed.append(_HeadedStream(number, stream, options, places, HeaderReader(spark, options)))
            elif (stream.format or "").lower() == "parquet":
                self._parquet.append(_ParquetStream(number, stream, options))

    def arrange(self, frame: DataFrame, where: str) -> DataFrame:
        """The rows of a batch, with the columns of each file as its own header or footer says."""
        if not self._headed and not self._parquet:
            return frame
        paths = list_planned(frame)
        if paths is None:
            if self._headed:
                raise InternalError(f"{where}Spark does not tell which files a batch has; CSV files with a header need that")
            return frame
        again = self._read_headed(frame, paths, where) | self._read_parquet(frame, paths, where)
        if not again:
            return frame
        if len(self._graph.streams) == 1:
            return again[0].drop("_s")
        owners = {i for path in paths for i in self._owners(path)}
        whole = owners <= again.keys() and len(self._folders) == len(self._graph.streams)
        rest = F.lit(False) if whole else ~F.col("_s").isin(*again)  # nothing is not even read
        return unite_parts([frame.where(rest), *again.values()])

    def _read_headed(self, frame: DataFrame, paths: list[str], where: str) -> dict[int, DataFrame]:
        again = {}
        for one in self._headed:
            mine = [path for path in paths if one.number in self._owners(path)]
            what, folder = f"{where}a source cannot be read: ", self._folders[one.number]
            groups = group_by_places(what, mine, folder, one.stream.columns, one.headers)
            if all(same_places(places, one.places) for places in groups):
                continue
            self._refuse_unclear(
                mine, where, "the headers of CSV files are in different order", "give these files one order of columns"
            )
            rows = read_groups(frame.sparkSession, groups, one.stream.columns, one.options, one.stream.keeps_malformed)
            again[one.number] = select_stream(one.number, one.stream, rows)
        return again

    def _read_parquet(self, frame: DataFrame, paths: list[str], where: str) -> dict[int, DataFrame]:
        """All Parquet streams, if a file of one needs it: what Spark has planned is read as a whole, or not at all."""
        found = {}
        for one in self._parquet:
            mine = [path for path in paths if one.number in self._owners(path)]
            found[one.number] = group_by_odd_columns(mine, one.stream.columns)
        if not any(odd for groups in found.values() for odd in groups):
            return {}
        again = {}
        for one in self._parquet:
            groups = found[one.number]
            self._refuse_unclear(
                [path for files in groups.values() for path in files], where,
                "Parquet files have times in nanoseconds or unsigned integers of 64 bits",
                "write these files with times in microseconds and signed integers, or give each stream a folder of its own",
            )  # fmt: skip
            if groups:
                rows = read_odd_groups(frame.sparkSession, groups, one.stream.columns, one.options)
                again[one.number] = select_stream(one.number, one.stream, rows)
        return again

    def _owners(self, path: str) -> list[int]:
        """The streams whose folder the file is in."""
        if len(self._graph.streams) == 1:
            return [0]
        return [i for i, folder in self._folders.items() if path.startswith(folder)]

    def _refuse_unclear(self, files: list[str], where: str, what: str, advice: str) -> None:
        """Read again are only files of which it is certain that they are of this stream and new to it."""
        other = next((s.name for s in self._graph.streams.values() if s.format is None), None)
        shared = next((path for path in files if len(self._owners(path)) > 1), None)
        if other is None and shared is None:
            return
        reason = f"{shared} is of several streams" if shared else f"{other} is a DataFrame, which may have read them too"
        raise SourceError(
            f"{where}a source cannot be read: {what}, and {reason}. Nothing of this batch was committed; {advice}, and "
            "start again"
        )
