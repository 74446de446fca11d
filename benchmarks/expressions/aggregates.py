"""Aggregates over groups of corner rows: those of a windowed query in this process against Spark's batch SQL."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from benchmarks.expressions.compare import Outcome
from benchmarks.expressions.corners import COLUMNS, make_rows
from benchmarks.expressions.draw import Drawer
from benchmarks.expressions.templates import Template
from headrace.errors import HeadraceError
from headrace.runtime.spark_faults import quiet
from headrace.testing import LocalRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BY_CHANCE = {"first", "last", "any_value", "first_value", "last_value"}  # to Spark, of the row that comes first
_TOGETHER = 12
_DECLARED = ", ".join(f"`{c}` {t}" for c, t in {"t": "bigint", "k": "string", **COLUMNS}.items())


def draw_aggregates(rng: random.Random, templates: Sequence[Template], count: int) -> list[tuple[str, str]]:
    """(function, SQL) of aggregates of columns and constants, some of them with a filter."""
    drawer = Drawer(rng, [], lambda _: None)
    chosen = [t for t in templates if t.function not in _BY_CHANCE]
    drawn = []
    for _ in range(count):
        template = rng.choice(chosen)
        text = drawer.fill(template, 0).sql(dialect="spark")
        simple = text.endswith(")") and "FILTER" not in text and "WITHIN" not in text
        drawn.append((template.function, f"{text} FILTER (WHERE b)" if simple and rng.random() < 0.15 else text))
    return drawn


class AggregateComparison:
    """Groups of many rows, of one row, and of NULLs only."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        rows = make_rows(45)
        keys = ["a", "b", "c", None, "a"]
        self.rows = [(i, "one" if i == 7 else keys[i % 5], *row) for i, row in enumerate(rows)]
        self.rows += [(50 + i, "none", *[None] * len(COLUMNS)) for i in range(2)]
        arrow = spark.createDataFrame(self.rows, _DECLARED).toArrow()
        spark.createDataFrame(arrow, _DECLARED).createOrReplaceTempView("hr_groups")

    def compare(self, drawn: Sequence[tuple[str, str]]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for at in range(0, len(drawn), _TOGETHER):
            outcomes += self._compare_few(drawn[at : at + _TOGETHER])
        return outcomes

    def _compare_few(self, drawn: Sequence[tuple[str, str]]) -> list[Outcome]:
        """Together while all can be answered, else one by one."""
        texts = [text for _, text in drawn]
        failed = "invalid"
        try:
            theirs = self._ask(texts)
            failed = "different"
            ours = self._run(texts)
        except Exception as e:
            if len(drawn) > 1:
                return [outcome for one in drawn for outcome in self._compare_few([one])]
            verdict = "refused" if isinstance(e, HeadraceError) else failed
            return [Outcome(*drawn[0], verdict, f"{type(e).__name__}: {str(e).splitlines()[0][:200]}")]
        outcomes = []
        for i, (function, text) in enumerate(drawn):
            wrong = [
                f"{ours[k][i]!r} of group {k}, Spark has {theirs[k][i]!r}"
                for k in theirs
                if not _same(ours[k][i], theirs[k][i])
            ]
            outcomes.append(Outcome(function, text, "different" if wrong else "equal", "; ".join(wrong[:1])))
        return outcomes

    def _run(self, texts: list[str]) -> dict[Any, tuple[Any, ...]]:
        listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
        run = LocalRun(
            f"CREATE STREAM s ({_DECLARED}) PROGRESSING ON t SLACK 9 FROM 'none'; "
            f"CREATE QUERY q AS SELECT k, {listed} FROM s [RANGE 1000] GROUP BY k;"
        )
        for at in range(0, len(self.rows), 20):
            run.push(s=self.rows[at : at + 20])
        run.flush()
        found = {row[0]: row[1:] for row in run.rows("q", times=True)}
        run.close()
        return found

    def _ask(self, texts: list[str]) -> dict[Any, tuple[Any, ...]]:
        listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
        with quiet():
            table = self.spark.sql(f"SELECT k, {listed} FROM hr_groups GROUP BY k").toArrow()
        return {row[0]: row[1:] for row in (tuple(r.values()) for r in table.to_pylist())}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, datetime) and isinstance(b, datetime):
        return _moment(a) == _moment(b)
    return type(a) is type(b) and bool(a == b)


def _moment(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
