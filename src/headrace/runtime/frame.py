"""The source frame: what Spark computes before rows leave the JVM.

All streams are one Spark streaming query: each is given a number, its columns a prefix, and they are united
(DESIGN §3.1). Inside a batch one projection computes `_t`, the expressions the set needs, and `_row`, the
whole row where it may be late or unusable. It is a JSON text because a null text costs next to nothing on
the way to Arrow; a null struct costs as much as its fields.

The low-watermark and the clock change every batch. Written into the projection as numbers they would change
the Java source Spark generates, and each batch would be compiled, and warmed up, anew. They are therefore
read out of an array by an index Spark cannot fold (`spark_partition_id() * 0`): the array travels as data,
the generated source stays the same.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sqlglot import exp, parse_one

from headrace.kernels.rows import Layout
from headrace.kernels.spec import Batch, Program
from headrace.logical.plan import Graph, Stream
from headrace.physical.frame import Frame

_FEW = 20
_NEVER = 1 << 62
_FORMATS = (
    "map('timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')"
)


def united(graph: Graph, frames: dict[str, DataFrame]) -> DataFrame:
    """All streams as one frame, rows tagged with the number of their stream if there is more than one."""
    parts = []
    for i, (name, stream) in enumerate(graph.streams.items()):
        columns = [F.col(f"`{c}`").cast(t).alias(f"s{i}_{c}") for c, t in stream.columns]
        parts.append(frames[name].select(F.lit(i).alias("_s"), *columns))
    if len(parts) == 1:
        return parts[0].drop("_s")
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


def listed(frames: dict[str, DataFrame]) -> DataFrame:
    """The files of all streams, for tasks that read them: the number of the stream, path, bytes."""
    parts = [f.select(F.lit(i).alias("_s"), "path", "length") for i, f in enumerate(frames.values())]
    return reduce(DataFrame.unionByName, parts)


def files_of(frame: DataFrame, streams: int) -> list[tuple[int, str, int]]:
    """What a batch of `listed` gives: the number of the stream, path, bytes."""
    found = _planned(frame) if streams == 1 else None
    if found is None:
        found = [(r[0], r[1], r[2]) for r in frame.collect()]
    return [(stream, local_path(path), size) for stream, path, size in found]


def _planned(frame: DataFrame) -> list[tuple[int, str, int]] | None:
    """The same of a single stream, out of the partitions Spark has planned and without a job; None if they are so
    many that a job is faster.
    """
    try:
        partitions = frame._jdf.queryExecution().analyzed().rdd().partitions()
        if len(partitions) > _FEW:
            return None
        return [(0, f.toPath().toString(), f.fileSize()) for p in partitions for f in p.files()]
    except Py4JError:
        return None


def local_path(uri: str) -> str:
    """A path as Spark writes it, without its scheme."""
    return re.sub("^file:/+", "/", uri)


def layout_of(graph: Graph, frame: Frame) -> Layout:
    names = tuple(graph.streams)
    columns = {n: {c: f"f{i}_{c}" for c, _ in frame.columns[n]} for i, n in enumerate(names)}
    rows = {n: "_row" if len(names) == 1 else f"_row{i}" for i, n in enumerate(names)}
    return Layout(names, columns, rows)


def projection(graph: Graph, frame: Frame, program: Program, batch: Batch) -> list[str]:
    """The select list over the united frame, for one batch."""
    many = len(graph.streams) > 1
    ticks, rows, columns = [], [], []
    for i, (name, stream) in enumerate(graph.streams.items()):
        prefix = f"s{i}_"
        tick = _tick(stream, f"`{prefix}{stream.on}`")
        spec = program.streams[i]
        low, high = batch.progress[name].low_watermark, None
        if spec.horizon is not None:
            base = batch.now if spec.unit == "us" else batch.progress[name].max_seen
            high = None if base is None else base + spec.horizon
        low_at, high_at = _moving(-_NEVER if low is None else low), _moving(_NEVER if high is None else high)
        whole = ", ".join(f"`{prefix}{c}` AS `{c}`" for c, _ in stream.columns)
        odd = f"{tick} IS NULL OR {tick} < {low_at} OR {tick} > {high_at}"
        flagged = f"CASE WHEN {odd} THEN to_json(struct({whole}), {_FORMATS}) END"
        ticks.append(tick)
        rows.append(flagged)
        for column, expression in frame.columns[name]:
            columns.append((i, f"f{i}_{column}", _prefixed(expression, stream, prefix)))
    if not many:
        return [f"{ticks[0]} AS _t", f"{rows[0]} AS _row", *(f"{e} AS {c}" for _, c, e in columns)]
    pick = " ".join(f"WHEN {i} THEN {t}" for i, t in enumerate(ticks))
    out = ["_s", f"CASE _s {pick} END AS _t"]
    out += [f"CASE WHEN _s = {i} THEN {r} END AS _row{i}" for i, r in enumerate(rows)]
    out += [f"CASE WHEN _s = {i} THEN {e} END AS {c}" for i, c, e in columns]
    return out


def _tick(stream: Stream, column: str) -> str:
    kind = dict(stream.columns)[stream.on].strip().lower()
    if stream.unit == "int":
        return f"CAST({column} AS BIGINT)"
    if kind == "timestamp_ntz":
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {column})"
    if kind == "date":
        return f"CAST(unix_date({column}) AS BIGINT) * 86400000000"
    return f"unix_micros({column})"


def _moving(value: int) -> str:
    return f"array({value}L)[spark_partition_id() * 0]"


@lru_cache(maxsize=4096)
def _prefixed(expression: str, stream: Stream, prefix: str) -> str:
    """Columns of a stream's expression under the names they have in the united frame; names of fields stay."""
    columns = {c for c, _ in stream.columns}

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            first = node.parts[0]
            if first.name in columns:
                first.replace(exp.to_identifier(prefix + first.name, quoted=True))
        return node

    return parse_one(expression, dialect="spark").transform(visit).sql(dialect="spark", identify=True)
