"""A query set answered by plain Spark batch SQL over all of the input: what a run must give when nothing is late.

Independent of the planner and the kernels: it takes the parsed text and writes, for every window clause, an `explode` of
the windows that hold a row, by the definition of DESIGN §4.3 in ticks; the window joins GROUP BY and the select list, and the
rest is Spark's. A query over a query reads the view of that query, in the same window or, at `window_end - 1`, in its own. A join
is Spark's as it stands; one that brackets bound is not understood here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from headrace.sql import CreateQuery, parse_script
from headrace.windows import ticks

_WINDOW = ("window_start", "window_end")


def batch_results(
    spark: SparkSession,
    script: str,
    inputs: Mapping[str, DataFrame],
    times: Mapping[str, str],
    upto: Mapping[str, int] | None = None,
) -> dict[str, pa.Table]:
    """The results of each query of `script` over `inputs` (stream -> all of its rows).

    `times` names the progressing column of streams and of stateless queries. All windows that hold a row are reported, as
    after a flush; with `upto`, the low-watermarks of the streams, those that end by then. A landmark reports up to the slide
    point after the largest value.
    """
    for name, frame in inputs.items():
        frame.createOrReplaceTempView(name)
    out = {}
    bounds = dict(upto or {})
    for statement in parse_script(script):
        if isinstance(statement, CreateQuery):
            read = [t.name for t in statement.body.find_all(exp.Table)]
            frame = spark.sql(_Body(spark, times).rewrite(statement.body.copy()).sql(dialect="spark"))
            if upto is not None:
                bounds[statement.name] = min(bounds[name] for name in read)
                if statement.name not in times:
                    frame = frame.where(f"unix_micros(window_end) <= {bounds[statement.name]}")
            frame.createOrReplaceTempView(statement.name)
            out[statement.name] = frame.toArrow()
    return out


class _Body:
    def __init__(self, spark: SparkSession, times: Mapping[str, str]) -> None:
        self.spark, self.times = spark, times

    def rewrite(self, body: exp.Expression) -> exp.Expression:
        if isinstance(body, exp.Union):
            body.set("this", self.rewrite(body.this))
            body.set("expression", self.rewrite(body.expression))
            return body
        assert isinstance(body, exp.Select), body
        source = (body.args.get("from_") or body.args["from"]).this
        windowed = source.name not in self.times and not body.args.get("joins")
        clause = source.args.pop("stream_window", None)
        if clause is not None:
            self._explode(body, source, clause)
            windowed = True
        for node in list(body.find_all(exp.Anonymous)):
            if node.name.upper() == "OR_AGGR":
                node.replace(exp.Anonymous(this="bit_or", expressions=node.expressions))
        if windowed:
            return self._keep_window(body, [exp.column(c) for c in _WINDOW])
        group = body.args.get("group")
        calls = (
            [e for e in group.expressions if isinstance(e, exp.Anonymous) and e.name == "window"]
            if group
            else []
        )
        if calls:
            body.select(
                *(f"window.{c.removeprefix('window_')} AS {c}" for c in _WINDOW), dialect="spark", copy=False
            )
        return body

    def _keep_window(self, body: exp.Select, columns: list[exp.Column]) -> exp.Select:
        named = {e.alias_or_name for e in body.expressions}
        if body.args.get("group") or any(e.find(exp.AggFunc, exp.Anonymous) for e in body.expressions):
            body.group_by(*columns, copy=False)
        body.select(*(c for c in columns if c.name not in named), copy=False)
        return body

    def _explode(self, body: exp.Select, source: exp.Table, clause: Any) -> None:
        """FROM s [window] as FROM (SELECT s.*, the window's start and end FROM s, the windows of its row)."""
        integers = self._integers(source.name)
        unit = "int" if integers else "us"
        t = self._time(source.name, integers)
        slide_text = clause.slide or clause.range
        slide = ticks(slide_text, unit)
        length = ticks(clause.range, unit) if clause.range is not None else None
        origin = 0
        if clause.origin is not None:
            origin = int(clause.origin) if integers else _micros(clause.origin.strip("'"))
        reset = ticks(clause.reset, unit) if clause.reset is not None else None
        at = (lambda e: e) if integers else (lambda e: f"timestamp_micros({e})")
        if length is not None:
            zero = origin if clause.align.lower() == "start" else origin - length
            first, last = f"({_down(f'{t} - {length} - {zero}', slide)} + 1)", _down(f"{t} - {zero}", slide)
            start, end = f"{zero} + w * {slide}", f"{zero} + w * {slide} + {length}"
        else:
            first = f"({_down(f'{t} - {origin}', slide)} + 1)"
            start, end = f"{origin}", f"{origin} + w * {slide}"
            if reset is not None:
                start = f"{origin} + {_down(f'(w - 1) * {slide}', reset)} * {reset}"
                last = f"(({_down(f'{t} - {origin}', reset)} + 1) * {reset // slide})"
            else:
                largest = self.spark.table(source.name).selectExpr(f"max({t})").first()[0]
                last = str((largest - origin) // slide + 1)
        held = f"CASE WHEN {first} <= {last} THEN sequence({first}, {last}) ELSE array() END"
        inner = f"SELECT *, explode({held}) AS w FROM {source.name}"
        if length is None and reset is None:
            inner += f" WHERE {t} >= {origin}"
        columns = "* EXCEPT (w)" if source.name in self.times else "* EXCEPT (w, window_start, window_end)"
        outer = f"SELECT {columns}, {at(start)} AS window_start, {at(end)} AS window_end FROM ({inner})"
        alias = source.alias_or_name
        body.from_(
            exp.maybe_parse(f"({outer}) AS {alias}", into=exp.From, prefix="FROM", dialect="spark"),
            copy=False,
        )

    def _integers(self, name: str) -> bool:
        column = self.times.get(name, "window_end")
        return self.spark.table(name).schema[column].dataType.simpleString() not in (
            "timestamp",
            "date",
            "timestamp_ntz",
        )

    def _time(self, name: str, integers: bool) -> str:
        column = self.times.get(name)
        value = f"`{column or 'window_end'}`"
        value = f"bigint({value})" if integers else f"unix_micros(timestamp({value}))"
        return value if column is not None else f"({value} - 1)"


def _down(value: str, step: int) -> str:
    """Division that rounds down, also for negative values."""
    return f"((({value}) - pmod({value}, {step})) div {step})"


def _micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
