"""The source frame: what Spark computes before rows leave the JVM.

All streams are one Spark streaming query: each is given a number, its columns a prefix, and they are united
(DESIGN §3.1). Inside a batch one projection computes `_t`, the expressions the set needs, and `_row`, the
whole row where it may be late or unusable. It is a JSON text because a null text costs next to nothing on
the way to Arrow; a null struct costs as much as its fields.

A line of CSV or JSON that does not parse in some field comes with its text beside what did parse
(`columnNameOfCorruptRecord`). Spark looks only at fields that are read, which are all of them, since `_row` is of all.
Such a row has no `_t`: it is part of no window, and the late table gets it.

The low-watermark and the clock change every batch. Written into the projection as numbers they would change
the Java source Spark generates, and each batch would be compiled, and warmed up, anew. They are therefore
read out of an array by an index Spark cannot fold (`spark_partition_id() * 0`): the array travels as data,
the generated source stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from headrace.dialect.sql_quotes import quote_spark_name
from headrace.kernels.late_rows import find_limit, find_lowest
from headrace.kernels.spark_rows import Layout
from headrace.logical.graph import Graph, Stream
from headrace.logical.source_formats import MALFORMED
from headrace.optimizer import Plan
from headrace.program.messages import Orders
from headrace.program.program import Program
from headrace.sources.source_path import local_path

_FEW = 20
_FORMATS = (
    "map('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')"
)


def unite_streams(graph: Graph, frames: dict[str, DataFrame]) -> DataFrame:
    """All streams as one frame, rows tagged with the number of their stream if there is more than one."""
    parts = [select_stream(i, stream, frames[name]) for i, (name, stream) in enumerate(graph.streams.items())]
    return parts[0].drop("_s") if len(parts) == 1 else unite_parts(parts)


def select_stream(number: int, stream: Stream, frame: DataFrame) -> DataFrame:
    """The rows of one stream as a part of the united frame."""
    columns = [F.col(quote_spark_name(c)).cast(t).alias(f"s{number}_{c}") for c, t in stream.columns]
    if stream.keeps_malformed:
        columns.append(F.col(MALFORMED).alias(f"s{number}_{MALFORMED}"))
    return frame.select(F.lit(number).alias("_s"), *columns)


def unite_parts(parts: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


def list_files(frames: dict[str, DataFrame]) -> DataFrame:
    """The files of all streams, for tasks that read them: the number of the stream, path, bytes."""
    parts = [f.select(F.lit(i).alias("_s"), "path", "length") for i, f in enumerate(frames.values())]
    return reduce(DataFrame.unionByName, parts)


def files_of(frame: DataFrame, folders: Sequence[str]) -> list[tuple[int, str, int]]:
    """What a batch of `list_files` gives: the number of the stream, path, bytes; `folders` are those of the streams."""
    planned = _read_planned(frame)
    owned = None if planned is None else find_owners([path for path, _ in planned], folders)
    if planned is not None and owned is not None:
        return [(stream, path, size) for stream, (path, size) in zip(owned, planned, strict=True)]
    return [(r[0], local_path(r[1]), r[2]) for r in frame.collect()]


def find_owners(paths: Iterable[str], folders: Sequence[str]) -> list[int] | None:
    """Which stream each file is of, by the folder it is in; None if that does not tell.

    Which part of a union a partition comes from does not: Spark leaves out the streams that have no new files.
    """
    if len(folders) == 1:
        return [0 for _ in paths]
    starts = [folder.rstrip("/") + "/" for folder in folders]
    found = [[i for i, start in enumerate(starts) if path.startswith(start)] for path in paths]
    return [one[0] for one in found] if all(len(one) == 1 for one in found) else None


def _read_planned(frame: DataFrame) -> list[tuple[str, int]] | None:
    """The files of a batch and their bytes, out of the partitions Spark has planned and without a job; None if they are so many
    that a job is faster.
    """
    try:
        partitions = list(frame._jdf.queryExecution().analyzed().rdd().partitions())
        if len(partitions) > _FEW:
            return None
        files = [f for p in partitions for f in _part_of_union(p).files()]
        return [(local_path(f.toPath().toString()), f.fileSize()) for f in files]
    except Py4JError:
        return None


def list_planned(frame: DataFrame) -> list[str] | None:
    """The files that Spark has planned to read for a batch of rows; None if it does not tell."""
    try:
        partitions = [_part_of_union(p) for p in frame._jdf.queryExecution().analyzed().rdd().partitions()]
        plain = [p for p in partitions if p.getClass().getSimpleName() == "FilePartition"]
        paths = [f.toPath().toString() for p in plain for f in p.files()]
        return list(dict.fromkeys(map(local_path, paths)))  # a large file is in several partitions
    except Py4JError:
        return None


def _part_of_union(partition: Any) -> Any:
    """The partition of a stream behind one of several streams' union."""
    while partition.getClass().getSimpleName() == "UnionPartition":
        partition = partition.parentPartition()
    return partition


def layout_of(plan: Plan) -> Layout:
    names = tuple(plan.graph.streams)
    columns = {n: {c.name: f"f{i}_{c.name}" for c in plan.columns[n]} for i, n in enumerate(names)}
    rows = {n: "_row" if len(names) == 1 else f"_row{i}" for i, n in enumerate(names)}
    return Layout(names, columns, rows)


class Projection:
    """The select list over the united frame: what does not change from batch to batch is written once."""

    def __init__(self, plan: Plan, program: Program) -> None:
        self.program = program
        self._ticks, self._rows, self._columns = [], [], []
        for i, (name, stream) in enumerate(plan.graph.streams.items()):
            prefix = f"s{i}_"
            kinds = dict(stream.columns)
            tick, names = _tick(stream, quote_spark_name(prefix + stream.on)), [*kinds]
            if stream.keeps_malformed:
                tick = f"CASE WHEN {quote_spark_name(prefix + MALFORMED)} IS NULL THEN {tick} END"
                names.append(MALFORMED)
            self._ticks.append(tick)
            late = [
                f"{_write_late(kinds.get(c, 'string'), quote_spark_name(prefix + c))} AS {quote_spark_name(c)}"
                for c in names
            ]
            whole = ", ".join(late)
            self._rows.append(f"to_json(struct({whole}), {_FORMATS})")
            for column in plan.columns[name]:
                text = _prefix_columns(column.expression, stream, prefix)
                self._columns.append((i, f"f{i}_{column.name}", text))

    def select_list(self, orders: Orders) -> list[str]:
        """The list for one batch."""
        rows = []
        for stream, tick, row in zip(self.program.streams, self._ticks, self._rows, strict=True):
            low_at, high_at = _moving(find_lowest(orders, stream)), _moving(find_limit(orders, stream))
            suspect = f"{tick} IS NULL OR {tick} < {low_at} OR {tick} > {high_at}"
            rows.append(f"CASE WHEN {suspect} THEN {row} END")
        if len(rows) == 1:
            return [f"{self._ticks[0]} AS _t", f"{rows[0]} AS _row", *(f"{e} AS {c}" for _, c, e in self._columns)]
        pick = " ".join(f"WHEN {i} THEN {t}" for i, t in enumerate(self._ticks))
        out = ["_s", f"CASE _s {pick} END AS _t"]
        out += [f"CASE WHEN _s = {i} THEN {r} END AS _row{i}" for i, r in enumerate(rows)]
        out += [f"CASE WHEN _s = {i} THEN {e} END AS {c}" for i, c, e in self._columns]
        return out


def _tick(stream: Stream, column: str) -> str:
    kind = dict(stream.columns)[stream.on].strip().lower()
    if stream.unit == "int":
        return f"CAST({column} AS BIGINT)"
    return f"CAST(unix_date({column}) AS BIGINT) * 86400000000" if kind == "date" else _count_micros(kind, column)


def _count_micros(kind: str, column: str) -> str:
    if kind == "timestamp_ntz":
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {column})"
    return f"unix_micros({column})"


def _write_late(kind: str, column: str) -> str:
    """A column in a row that may be late. Times are numbers (`kernels/spark_rows.py`): as text, DuckDB would not read those of a
    year with five digits, which is what numbers of milliseconds become.
    """
    kind = kind.strip().lower()
    if kind == "date":
        return f"unix_date({column})"
    return _count_micros(kind, column) if kind.startswith("timestamp") else column


def _moving(value: int) -> str:
    return f"array({value}L)[spark_partition_id() * 0]"


def _prefix_columns(expression: exp.Expr, stream: Stream, prefix: str) -> str:
    """An expression over the names that columns have in the united frame; names of fields stay."""
    columns = {c for c, _ in stream.columns}
    copied = expression.copy()
    for column in copied.find_all(exp.Column):
        first = column.parts[0]
        if first.name in columns:
            first.replace(exp.to_identifier(prefix + first.name, quoted=True))
    return copied.sql(dialect="spark", identify=True)
