"""Texts as they come from other systems and from programs: byte order marks, line ends, very deep expressions."""

from __future__ import annotations

import unicodedata

import pytest
from sqlglot import exp

from headrace.errors import HeadraceError, SqlError
from headrace.logical.functions import nearest_aggregate
from headrace.session import Session
from headrace.sql import parse_query, parse_script
from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, x DOUBLE, d DECIMAL(9,2)) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path '/nowhere');"


def explained(query: str) -> str:
    return Session().sql(f"{STREAM} CREATE QUERY q AS {query}").explain()


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    """They are no part of the text, and an error still shows its line."""
    script = (
        "\ufeff"
        + STREAM
        + "\r\nCREATE QUERY q AS\r\n  SELECT count(*) AS n\r\n  FROM s [RANGE 1 MINUTE];\r\n"
    )
    assert "q" in Session().sql(script).graph.queries
    with pytest.raises(SqlError) as caught:
        Session().sql(script.replace("count(*)", "max(lenn)"))
    assert "  line 3:   SELECT max(lenn) AS n\n" in str(caught.value)
    assert "\r" not in str(caught.value)


def test_names_in_two_unicode_forms_are_one() -> None:
    """é may be one character or two; what becomes a folder is one."""
    apart = unicodedata.normalize("NFD", "été")
    (query,) = parse_script(f"CREATE QUERY {apart} AS SELECT 1 AS a FROM s")
    assert query.name == unicodedata.normalize("NFC", "été") != apart
    session = Session().sql(STREAM).query(apart, "SELECT k, v FROM s")
    session.query("r", f"SELECT {apart}.v FROM {apart}")
    assert set(session.graph.queries) == {"été", "r"}


@pytest.mark.parametrize("inner", ["v", *(pytest.param(c, marks=pytest.mark.slow) for c in "xd")])
def test_four_hundred_additions(inner: str) -> None:
    """On rows and on results, of every kind of number."""
    sum_ = "+1" * 400
    explained(f"SELECT ts, {inner}{sum_} AS y FROM s WHERE {inner}{sum_} > 1")
    explained(
        f"SELECT {inner}{sum_} AS k, max({inner}){sum_} AS m FROM s [RANGE 1 MINUTE] GROUP BY {inner}{sum_} "
        f"HAVING max({inner}){sum_} > 1"
    )


@pytest.mark.parametrize("opening", ["(", "(1 + ", "abs("])
def test_fifty_parentheses(opening: str) -> None:
    """One inside the other, whatever is between them."""
    row, result = (opening * 50 + inner + ")" * 50 for inner in ("v", "max(v)"))
    explained(f"SELECT ts, {row} AS y FROM s WHERE {row} > 1")
    explained(f"SELECT {row} AS k, {result} AS m FROM s [RANGE 1 MINUTE] GROUP BY {row} HAVING {result} > 1")


@pytest.mark.parametrize(("depth", "fits"), [(90, True), (120, False)])
def test_nested_cases(depth: int, fits: bool) -> None:
    """CASE inside CASE: as many as parentheses, and then an error with a way out."""
    text = "CASE WHEN v = 1 THEN " * depth + "1" + " END" * depth
    if fits:
        explained(f"SELECT ts, {text} AS y FROM s")
        return
    with pytest.raises(HeadraceError, match="in a query of its own"):
        explained(f"SELECT ts, {text} AS y FROM s")


def test_long_alternatives() -> None:
    """A generated condition of some hundred terms."""
    explained(
        f"SELECT max(v) AS m FROM s [RANGE 1 MINUTE] WHERE v = 1{' OR v = 2' * 400} HAVING max(v) = 1{' OR max(v) = 2' * 400}"
    )


@pytest.mark.parametrize("text", ["v" + "+1" * 100_000, "(" * 1000 + "v" + ")" * 1000, "v" + "*2" * 3000])
def test_a_monstrous_expression(text: str) -> None:
    """An error with a way out, not a crash."""
    for query in (f"SELECT {text} AS y FROM s", f"SELECT max({text}) AS y FROM s [RANGE 1 MINUTE]"):
        with pytest.raises(HeadraceError, match="in a query of its own"):
            explained(query)


DEEP = "CREATE STREAM s (ts TIMESTAMP, a INT, b BOOLEAN) PROGRESSING ON ts ORDERED FROM 'memory'; CREATE QUERY q AS SELECT ts, "


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("CASE WHEN a > 1 THEN " * 120 + "1" + " END" * 120, "more than 100 parentheses, CASEs or signs inside each other"),
        ("CASE " * 120 + "a" + " WHEN 1 THEN 1 END" * 120, "more than 100 parentheses"),
        ("NOT " * 3000 + "b", "more than 100 parentheses"),
        ("- " * 3000 + "a", "more than 100 parentheses"),
        ("~ " * 3000 + "a", "more than 100 parentheses"),
        ("array(" * 60 + "CASE WHEN b THEN " * 60 + "1" + " END" * 60 + ")" * 60, "more than 100 parentheses"),
        ("CAST(a AS " + "ARRAY<" * 60 + "INT" + ">" * 60 + ")", "more than 50 types inside each other"),
        ("a" + "[0]" * 2000, "operators and calls inside each other"),
    ],
)
def test_what_is_too_deep_is_refused(expression: str, said: str) -> None:
    """Whatever it is made of: no error of Python's stack, at the limits that users have."""
    with pytest.raises(SqlError, match=said):
        LocalRun(f"{DEEP}{expression} AS x FROM s")


@pytest.mark.parametrize(
    "expression",
    [
        "CASE WHEN a > 1 THEN " * 95 + "1" + " END" * 95,
        "CASE " * 95 + "a" + " WHEN 1 THEN 1 END" * 95,
        "NOT " * 95 + "b",
        "- " * 95 + "a",
        "if(" * 95 + "b" + ", true, false)" * 95,
        "CAST(array() AS " + "ARRAY<" * 45 + "INT" + ">" * 45 + ")",
    ],
)
def test_what_is_nearly_too_deep_runs(expression: str) -> None:
    """Up to the limits a query is planned and answers."""
    run = LocalRun(f"{DEEP}{expression} AS x FROM s")
    run.push(s=[(0, 2, True)])
    assert len(run.rows("q")) == 1


def test_the_aggregate_that_was_meant() -> None:
    """Letters swapped, doubled or forgotten; not a word that is merely alike."""
    assert nearest_aggregate("coutn") == "count"
    assert nearest_aggregate("smu") == "sum"
    assert nearest_aggregate("medain") == "median"
    assert nearest_aggregate("pmod") is None
    assert nearest_aggregate("my_func") is None


def test_a_quoted_word_is_no_window_clause() -> None:
    """`range` in backticks is a column wherever it stands."""
    body = parse_query(
        "q", "SELECT a[`range`] AS r FROM s [RANGE 1 MINUTE ON `range`] WHERE m[`slide`] > 1"
    ).body
    (table,) = body.find_all(exp.Table)
    assert table.args["stream_window"].attribute == "range"
