"""Expressions on both engines: Spark's answers in batches, Headrace's translation one by one over the same rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from benchmarks.expressions.corners import COLUMNS, make_rows
from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type
from headrace.dialect.duck_expression import Typed
from headrace.dialect.java_numbers import use_java
from headrace.errors import HeadraceError
from headrace.kernels.connection import connect
from headrace.runtime.spark_faults import quiet
from headrace.runtime.typer import java_release
from headrace.sql import parse_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOGETHER = 16  # expressions of one query to Spark


@dataclass(frozen=True)
class Outcome:
    """What became of an expression: `equal`, `different`, `refused` by Headrace, or `invalid` to Spark."""

    function: str
    text: str
    verdict: str
    why: str = ""


class Comparison:
    """One small table in both engines."""

    def __init__(self, spark: SparkSession, rows: Sequence[tuple[Any, ...]] | None = None) -> None:

        self.spark = spark
        use_java(java_release(spark))
        rows = make_rows() if rows is None else rows
        schema = "nr int, " + ", ".join(f"`{c}` {t}" for c, t in COLUMNS.items())
        numbered = [(i, *row) for i, row in enumerate(rows)]
        arrow = spark.createDataFrame(numbered, schema).toArrow()
        spark.createDataFrame(arrow, schema).createOrReplaceTempView("hr_corners")  # a local relation: no job per answer
        self.con = connect("UTC")
        self.con.register("hr_arrow", arrow)
        listed = ", ".join(f'CAST("{c}" AS {duck_type(t)}) AS "{c}"' for c, t in {"nr": "int", **COLUMNS}.items())
        self.con.execute(f"CREATE OR REPLACE TEMP TABLE hr_corners AS SELECT {listed} FROM hr_arrow")
        self.con.unregister("hr_arrow")

    def translate(self, text: str) -> Typed:
        """As a query would be translated: parsed, and tried on a row of NULLs."""
        tree = parse_query("q", f"SELECT {text} AS c FROM s").body.expressions[0].unalias()
        value = translate(tree, COLUMNS)
        row = ", ".join(f'NULL::{duck_type(t)} AS "{c}"' for c, t in COLUMNS.items())
        try:
            self.con.sql(f"SELECT {value.sql} FROM (SELECT {row})").fetchall()
        except duckdb.Error as e:
            raise HeadraceError(f"refused by DuckDB's words: {str(e).splitlines()[0]}") from e
        return value

    def compare(self, drawn: Sequence[tuple[str, str]]) -> list[Outcome]:
        """(function, SQL) each, and what became of it."""
        outcomes: list[Outcome] = []
        ready: list[tuple[str, str, Typed]] = []
        for function, text in drawn:
            try:
                ready.append((function, text, self.translate(text)))
            except HeadraceError as e:
                outcomes.append(Outcome(function, text, "refused", str(e).splitlines()[0]))
            except Exception as e:
                outcomes.append(Outcome(function, text, "different", f"raised {type(e).__name__}: {e}"))
        with _interpreted(self.spark), quiet():
            answers = self._ask([text for _, text, _ in ready])
        for (function, text, value), answer in zip(ready, answers, strict=True):
            outcomes.append(Outcome(function, text, *self._judge(value, answer)))
        return outcomes

    def _ask(self, texts: list[str]) -> list[tuple[str, list[Any]] | str]:
        """Spark's type and values of each, or its words where it refuses or fails: few at a time, since one that fails
        makes all of them be asked one by one.
        """
        answers: list[tuple[str, list[Any]] | str] = []
        for at in range(0, len(texts), _TOGETHER):
            answers += self._ask_few(texts[at : at + _TOGETHER])
        return answers

    def _ask_few(self, texts: list[str]) -> list[tuple[str, list[Any]] | str]:
        try:
            frame = self.spark.sql(f"SELECT nr, {', '.join(f'{e} AS c{i}' for i, e in enumerate(texts))} FROM hr_corners")
            table = frame.toArrow().sort_by("nr")
        except Exception as e:
            if len(texts) > 1:
                return [answer for text in texts for answer in self._ask_few([text])]
            return [str(e).split("\n")[0][:200]]
        types = [f.dataType.simpleString() for f in frame.schema]
        return [(x, values_of(c)) for x, c in zip(types[1:], table.columns[1:], strict=True)]

    def _judge(self, value: Typed, answer: tuple[str, list[Any]] | str) -> tuple[str, str]:
        type_, expected = ("", None) if isinstance(answer, str) else answer
        if expected is not None and value.type != type_:
            return "different", f"type {value.type}, Spark has {type_}"
        try:
            found = values_of(self.con.sql(f"SELECT {value.sql} AS c FROM hr_corners ORDER BY nr").to_arrow_table().column(0))
        except duckdb.Error as e:
            return "different", f"raises {str(e).splitlines()[0]}"
        if expected is None:
            return "invalid", str(answer)
        for nr, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            if not same(ours, theirs):
                return "different", f"{ours!r} in row {nr}, Spark has {theirs!r}"
        return "equal", ""


@contextmanager
def _interpreted(spark: SparkSession) -> Iterator[None]:
    """Spark without compiling: hundreds of expressions are computed once, over a few rows."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {k: spark.conf.get(k) for k in settings}
    for key, setting in settings.items():
        spark.conf.set(key, setting)
    try:
        yield
    finally:
        for key, setting in before.items():
            spark.conf.set(key, setting or "")


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Values as both engines give them: times as numbers, because Python knows no year 10000."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return column.to_pylist()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-12)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(map(same, a.values(), b.values()))
    return type(a) is type(b) and bool(a == b)


def type_of(tree: exp.Expr) -> str | None:
    """The type of an expression without columns, if it is translated at all."""
    try:
        return translate(tree, COLUMNS).type
    except Exception:
        return None
