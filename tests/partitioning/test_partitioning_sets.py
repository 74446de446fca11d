"""Keys, sets and Reconcile: recognised as what they are, with laws, checked on data that DuckDB evaluates."""

from __future__ import annotations

import re

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.dialect.duck import translate
from headrace.partitioning.express_key import express_key
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.recognize_key import recognize_key
from headrace.partitioning.stream_partitioning import (
    Partitioning,
    align_keys,
    make_group,
    make_partitioning,
    reconcile,
)

COLUMNS = {"time": "int", "x": "int", "y": "smallint", "s": "string", "ts": "timestamp", "d": "date", "f": "double", "big": "bigint"}
TYPES = {"t": COLUMNS}


def key(text: str, as_value: bool = False) -> PartitioningKey:
    found = recognize_key(sqlglot.parse_one(text, dialect="spark"), COLUMNS, as_value)
    assert found is not None
    return found


def keys_of(*texts: str) -> Partitioning:
    return make_partitioning({"t": [key(t) for t in texts]}, TYPES)


def meet_of(a: list[str], b: list[str]) -> str | None:
    found = reconcile(keys_of(*a), keys_of(*b), TYPES)
    return found.groups[0].text if found is not None else None


SAME = [
    ("(time div 60) div 2", "time DIV 120"),
    ("x >> 4", "x & -16"),
    ("shiftright(x, 4)", "x & -16"),
    ("shiftrightunsigned(x, 4)", "x & -16"),
    ("(x >> 4) & 15", "x & 240"),
    ("(x & 255) & 0xFFF0", "x & 240"),
    ("240L & x", "x & 240"),
    ("shiftleft(x, 8)", "x & 16777215"),
    ("shiftleft(x, 40)", "x & 16777215"),
    ("x & 0xFFFFFFF0", "x & -16"),
    ("y & 0xFFFF0", "y & -16"),
    ("pmod(x, 16)", "x & 15"),
    ("pmod(x, 12)", "PMOD(x, 12)"),
    ("(x % 12) % 4", "x % 4"),
    ("(x % 12) % 5", "(x % 12) % 5"),
    ("floor(x / 60)", "FLOOR(x / 60)"),
    ("floor(x / 64)", "x & -64"),
    ("cast(x / 60 AS INT)", "x DIV 60"),
    ("floor(big / 60)", "FLOOR(big / 60)"),
    ("big / 60", "big / 60"),
    ("x + 7", "x"),
    ("7 - x", "x"),
    ("-(~x)", "x"),
    ("(x & 240) + 1", "x & 240"),
    ("(x + 1) & 240", "(x + 1) & 240"),
    ("(x + 1) div 60", "(x + 1) DIV 60"),
    ("cast(x AS BIGINT) div 60", "x DIV 60"),
    ("cast(x AS STRING)", "x"),
    ("cast(x AS SMALLINT)", "CAST(x AS SMALLINT)"),
    ("cast(f AS INT)", "CAST(f AS INT)"),
    ("left(s, 3)", "SUBSTRING(s, 1, 3)"),
    ("substring(s, 0, 3)", "SUBSTRING(s, 1, 3)"),
    ("substring(substring(s, 1, 5), 1, 2)", "SUBSTRING(s, 1, 2)"),
    ("substring(s, 2, 3)", "SUBSTRING(s, 2, 3)"),
    ("substring_index(substring_index(s, '.', 2), '.', 3)", "SUBSTRING_INDEX(s, '.', 2)"),
    ("substring_index(s, '.', -1)", "SUBSTRING_INDEX(s, '.', -1)"),
    ("to_date(ts)", "DATE_TRUNC('DAY', ts)"),
    ("date_trunc('month', cast(ts AS DATE))", "DATE_TRUNC('MONTH', ts)"),
    ("trunc(d, 'MM')", "DATE_TRUNC('MONTH', d)"),
    ("trunc(d, 'DD')", "TRUNC(d, 'DD')"),
    ("date_trunc('hour', d)", "d"),
    ("cast(ts AS STRING)", "CAST(ts AS STRING)"),
    ("x div 0", "x DIV 0"),
    ("x div -3", "x DIV -3"),
    ("x div 4000000000", None),
    ("x & 0", None),
    ("x % 1", None),
    ("1 + 1", None),
    ("rand() + x", None),
    ("left(s, 0)", None),
]


@pytest.mark.parametrize(("text", "expected"), SAME)
def test_a_key_has_one_spelling(text: str, expected: str | None) -> None:
    """Spellings of one function are one key; constants and what changes are none; the rest stays as it is."""
    found = recognize_key(sqlglot.parse_one(text, dialect="spark"), COLUMNS)
    assert (found.text if found is not None else None) == expected


ROWS = """SELECT CAST(i * 7919 % 4001 - 2000 AS INT) AS time, CAST(i * 104729 % 9973 - 5000 AS INT) AS x, CAST(i % 300 - 150 AS SMALLINT) AS y,
  ['a.b', 'A.b', 'a.b.c', '', 'äö.b', 'abcdef'][1 + i % 6] AS s, CAST(i * 1000003 % 65536 AS BIGINT) - 32768 AS big,
  TIMESTAMPTZ '2024-01-30 22:15:07.5+00' + INTERVAL (i * 47) MINUTE AS ts, DATE '2024-01-30' + CAST(i % 90 AS INT) AS d
  FROM range(-200, 200) r(i) UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL
  UNION ALL SELECT -2147483648, 2147483647, -32768, NULL, 0, NULL, NULL"""
CON = duckdb.connect()
CON.sql("SET TimeZone = 'UTC'")
CON.sql(f"CREATE TABLE data AS {ROWS}")
LEFT_OUT = {"big / 60", "x div 0", "cast(x AS SMALLINT)", "cast(f AS INT)"}  # not of integers, or errors by design
TEXTS = [text for text, found in SAME if found is not None and text not in LEFT_OUT]


@pytest.mark.parametrize("text", TEXTS)
def test_the_spelling_tells_the_same_rows_apart(text: str) -> None:
    """An expression and the canonical key for it make the same rows equal, NULLs and extremes among them."""
    decimal = re.sub("0x[0-9A-F]+", lambda m: str(int(m[0], 16)), text)  # Spark has no such literals, GSQL does
    one = translate(sqlglot.parse_one(decimal, dialect="spark"), COLUMNS).sql
    other = translate(key(text).expression, COLUMNS).sql
    ((n, m, both),) = CON.sql(
        f"SELECT count(DISTINCT {{'v': a}}), count(DISTINCT {{'v': b}}), count(DISTINCT {{'a': a, 'b': b}}) FROM (SELECT {one} AS a, {other} AS b FROM data)"
    ).fetchall()
    assert n == m == both


POOL = [
    "x", "y", "s", "x div 60", "x div 90", "x div 7", "x & 240", "x & 255", "x & -16", "x % 12", "x % 9", "pmod(x, 6)", "floor(x / 10)",
    "left(s, 3)", "left(s, 1)", "substring_index(s, '.', 1)", "lower(s)", "upper(s)", "lower(left(s, 1))", "x + y", "abs(x + y)", "abs(x)",
    "abs(x div 60)", "y & 15", "date_trunc('hour', ts)", "date_trunc('month', ts)", "date_trunc('week', ts)", "cast(ts AS DATE)",
]  # fmt: skip
sets = st.lists(st.sampled_from(POOL), min_size=1, max_size=4).map(lambda texts: keys_of(*texts))


@given(sets, sets, sets)
@settings(max_examples=200, deadline=None)
def test_reconcile_is_a_meet(a: Partitioning, b: Partitioning, c: Partitioning) -> None:
    """Reconcile is idempotent, commutative and associative."""
    assert reconcile(a, a, TYPES) == a
    assert reconcile(a, b, TYPES) == reconcile(b, a, TYPES)
    ab, bc = reconcile(a, b, TYPES), reconcile(b, c, TYPES)
    assert (reconcile(ab, c, TYPES) if ab is not None else None) == (reconcile(a, bc, TYPES) if bc is not None else None)


@given(sets, sets)
@settings(max_examples=80, deadline=None)
def test_rows_together_under_a_set_stay_together(a: Partitioning, b: Partitioning) -> None:
    """Rows that agree on a set agree on every set it is reconciled to."""
    both = reconcile(a, b, TYPES)
    if both is None:
        return
    coarse = ", ".join(translate(k.expression, COLUMNS).sql for k in both.keys_of("t"))
    for one in (a, b):
        fine = ", ".join(translate(k.expression, COLUMNS).sql for k in one.keys_of("t"))
        ((n, m),) = CON.sql(
            f"SELECT count(DISTINCT row({fine})), count(DISTINCT row(row({fine}), row({coarse}))) FROM data"
        ).fetchall()
        assert n == m


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (["time div 60", "x", "y"], ["time div 90", "x & 0xFFF0"], "{time DIV 180, x & 65520}"),
        (["x", "y"], ["x", "y", "s"], "{x, y}"),
        (["x", "y"], ["x + y"], "{x + y}"),
        (["x"], ["x + y"], None),
        (["s"], ["lower(s)"], "{LOWER(s)}"),
        (["lower(s)"], ["upper(s)"], None),
        (["left(s, 5)"], ["lower(left(s, 3))"], "{LOWER(LEFT(s, 3))}"),
        (["lower(left(s, 5))"], ["left(s, 3)"], None),
        (["x div 60", "x % 7"], ["x"], "{x % 7, x DIV 60}"),
        (["f"], ["f"], "{f}"),
        (["f"], ["cast(f AS STRING)"], None),
        (["x", "x & 15"], ["x"], "{x}"),
    ],
)
def test_reconcile(a: list[str], b: list[str], expected: str | None) -> None:
    """The document's example, and what is known of expressions: floating point is known only as it is."""
    assert meet_of(a, b) == expected


def test_a_collation_is_not_seen_through() -> None:
    """Strings with a collation are groups, not values: no function of one is known."""
    folded = recognize_key(sqlglot.parse_one("c", dialect="spark"), {"c": "string collate UTF8_LCASE"})
    lower = recognize_key(sqlglot.parse_one("lower(c)", dialect="spark"), {"c": "string collate UTF8_LCASE"})
    assert folded is not None and lower is not None
    assert not express_key(lower, [folded], {"c": "string collate UTF8_LCASE"})


def test_values_count_where_streams_meet() -> None:
    """-x partitions one stream as x does, but as a value it is another key."""
    assert key("-x").text == "x"
    assert key("-x", as_value=True).text == "-x"
    assert key("cast(ts AS DATE)", as_value=True).text == "CAST(ts AS DATE)"
    assert key("x >> 4", as_value=True).text == "SHIFTRIGHT(x, 4)"
    assert key("x & 240", as_value=True).text == "x & 240"


def test_aligned_keys_stay_aligned() -> None:
    """A group of two streams, coarsened for one of them, is coarsened alike for the other."""
    types = {"t": COLUMNS, "u": {"z": "int"}}
    z = recognize_key(sqlglot.parse_one("z", dialect="spark"), types["u"])
    assert z is not None
    group = make_group([align_keys({"t": key("time div 60"), "u": z}), align_keys({"t": key("s"), "u": z})], types)
    assert group is not None
    coarse = make_partitioning({"t": [key("time div 90")]}, types)
    found = reconcile(Partitioning((group,)), coarse, types)
    assert found is not None
    assert [k.text for k in found.keys_of("t")] == ["time DIV 180"]
    assert [k.text for k in found.keys_of("u")] == ["z DIV 3"]
