"""What is refused by its type without Spark, and what is left to Spark because its type is not known."""

from __future__ import annotations

import pytest

from headrace.errors import SqlError
from headrace.logical.graph import Graph
from headrace.logical.spark_functions import KINDS_OF_TYPE, read_functions
from headrace.physical.check_types import UnfitTypeError
from headrace.physical.duck_typer import DuckTyper, check_types
from headrace.sql import parse_script
from headrace.sql.bind import Binder

STREAM = """
CREATE STREAM s (ts TIMESTAMP, i INT, k STRING, b BOOLEAN, a ARRAY<INT>) PROGRESSING ON ts SLACK 1 SECOND FROM 'memory';
"""
UNKNOWN = "variant_get(parse_json(k), '$.a')"  # its type is for Spark to say


def make_graph(script: str) -> Graph:
    binder = Binder()
    for statement in parse_script(STREAM + script):
        binder.create(statement)
    return binder.graph()


@pytest.mark.parametrize(
    "script",
    [
        f"CREATE QUERY q AS SELECT ts FROM s WHERE {UNKNOWN}",
        f"CREATE QUERY q AS SELECT ts, i + {UNKNOWN} AS x FROM s",
        f"CREATE QUERY p AS SELECT ts, {UNKNOWN} AS x FROM s; CREATE QUERY q AS SELECT ts FROM p WHERE x",
        f"CREATE QUERY p AS SELECT ts, {UNKNOWN} AS x FROM s; CREATE QUERY q AS SELECT bool_and(x) AS y FROM p [RANGE 1 MINUTE]",
        f"CREATE QUERY p AS SELECT max({UNKNOWN}) AS x FROM s [RANGE 1 MINUTE]; CREATE QUERY q AS SELECT 1 AS y FROM p WHERE x",
        f"CREATE QUERY p AS SELECT ts, i, {UNKNOWN} AS x FROM s; CREATE QUERY q AS SELECT p.ts FROM p JOIN s b WITHIN 1 MINUTE "
        "ON p.i = b.i AND (p.x OR b.b)",
        f"CREATE QUERY q AS SELECT ts, x FROM (SELECT ts, {UNKNOWN} AS x FROM s UNION ALL SELECT ts, b AS x FROM s) u WHERE x",
    ],
)
def test_what_only_spark_can_type_is_left_to_spark(script: str) -> None:
    """Also where it has become a column of another query: its type is a guess there, and nothing is refused for a guess."""
    check_types(make_graph(script), {})


def test_what_is_not_checked_is_named() -> None:
    """By the calls whose types are unknown, each once."""
    graph = make_graph(f"CREATE QUERY q AS SELECT ts, {UNKNOWN} AS x, upper({UNKNOWN}) AS y, crc32(k) AS z FROM s")
    typer = DuckTyper(graph, {})
    types = typer.column_types("q")
    assert any("VARIANT_GET" in call for call in typer.unchecked)
    assert not any("CRC32" in call for call in typer.unchecked)
    assert types["z"] == "bigint"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("crc32(k) AND b", "AND takes a condition, true or false; CRC32\\(k\\) is BIGINT"),
        ("b AND NOT crc32(k)", "NOT takes a condition"),
        ("i + a", "INT and ARRAY<INT> do not fit"),
        ("ts * 2", "TIMESTAMP and INT do not fit"),
        ("b < 1", "BOOLEAN and INT do not fit"),
        ("k & 1", "STRING and INT do not fit"),
        ("abs(a)", "abs takes no ARRAY<INT>"),
        ("hypot(a, 1)", "hypot takes no ARRAY<INT>"),
        ("bit_count(ts)", "bit_count takes no TIMESTAMP"),
    ],
)
def test_types_that_spark_never_takes(expression: str, said: str) -> None:
    with pytest.raises(UnfitTypeError, match=said) as refused:
        check_types(make_graph(f"CREATE QUERY q AS SELECT ts, {expression} AS x FROM s"), {})
    assert "^" in str(refused.value)
    assert isinstance(refused.value, SqlError)


def test_a_text_stands_for_what_it_says() -> None:
    """A STRING beside a number or a time, and a NULL, are what Spark makes of them."""
    for expression in ("k + 1", "ts > '2024-01-01'", "k = i", "b = 1", "abs(k)", "b AND NULL", "i + NULL", "ts - ts", "k || i"):
        check_types(make_graph(f"CREATE QUERY q AS SELECT ts, {expression} AS x FROM s"), {})


def test_the_table_knows_every_kind() -> None:
    """A letter of the table is a kind of type."""
    letters = {letter for f in read_functions().values() for kinds in f.takes for letter in kinds}
    assert letters <= {*KINDS_OF_TYPE.values(), "*"}
