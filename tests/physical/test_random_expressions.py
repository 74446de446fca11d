"""Random expressions and aggregates over all of Spark's functions give what Spark gives: a sample of `benchmarks.expressions`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from benchmarks.expressions.aggregates import AggregateComparison, draw_aggregates
from benchmarks.expressions.compare import Comparison, Outcome, type_of
from benchmarks.expressions.draw import Drawer
from benchmarks.expressions.known import find_known
from benchmarks.expressions.templates import read_templates
from sqlglot import exp
from test_spark_parity import EXPRESSIONS, parsed

from headrace.dialect import duck_functions
from headrace.dialect.java_numbers import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 20
# Written by Headrace itself, or read by sqlglot as another that is compared
OWN = {"_bucket", "make_timestamptz", "named_struct", exp.UnixDate}


@pytest.fixture(autouse=True)
def shortest_digits() -> Iterator[None]:
    yield
    use_java(19)


def test_random_expressions(spark: SparkSession) -> None:
    """Types, values and NULLs of drawn expressions, nested, over the corners of every type."""
    scalar, _, names = read_templates(spark)
    assert len(names) > 500
    drawer = Drawer(random.Random(SEED), scalar, type_of)
    outcomes = Comparison(spark).compare([drawer.draw(2) for _ in range(100)])
    assert sum(o.verdict == "equal" for o in outcomes) > 50
    assert not differences(outcomes)


def test_random_aggregates(spark: SparkSession) -> None:
    """Aggregates of groups of many rows, of one and of NULLs."""
    _, grouping, _ = read_templates(spark)
    outcomes = AggregateComparison(spark).compare(draw_aggregates(random.Random(SEED), grouping, 24))
    assert sum(o.verdict == "equal" for o in outcomes) > 5
    assert not differences(outcomes)


def test_every_translated_function_is_compared() -> None:
    """What is translated for DuckDB has a line in expressions.txt, where Spark says what comes out."""
    nodes = [node for text in EXPRESSIONS for node in parsed(text).walk()]
    compared = {type(n) for n in nodes} | {n.name.lower() for n in nodes}
    listed = {*duck_functions._TABLE, *duck_functions._SPECIAL} - OWN
    assert not {getattr(f, "__name__", f) for f in listed - compared}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("i + l", "None in row 0, Spark has 3"),
        ("UPPER(s)", "None in row 1, Spark has 'A'"),
        ("SUBSTRING(s, 2)", "'abc' in row 0, Spark has None"),
        ("CAST(x AS STRING)", "'1.5' in row 0, Spark has '1.6'"),
        ("DATE_ADD(dt, 1)", "5 in row 0, Spark has 6"),
    ],
)
def test_the_list_of_known_differences_is_narrow(text: str, why: str) -> None:
    """A mistake is not excused because an expression has a word of one that is."""
    assert find_known(Outcome("f", text, "different", why)) is None


def differences(outcomes: list[Outcome]) -> str:
    return "\n".join(f"{o.text}: {o.why}" for o in outcomes if o.verdict == "different" and find_known(o) is None)
