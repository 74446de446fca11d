"""EXPLAIN says how the progress of each stream is known, and whose groups close by themselves."""

from __future__ import annotations

import json

import pytest

import headrace as hr

CLAUSES = {
    "ORDERED": "ordered",
    "SLACK 0 SECONDS": "ordered",
    "SLACK 90 SECONDS": "slack 90 s",
    "SLACK 7 ROWS PER (k)": "slack 7 rows per (k)",
    "PUNCTUATED BY (k = 'm') NOT DATA FOR (k)": "punctuated by k = 'm' (not data) for (k)",
    "PUNCTUATED FROM 'told' IDLE AFTER 1 MINUTE": "punctuated from 'told', idle after 1 min",
}


@pytest.mark.parametrize(("clause", "words"), CLAUSES.items())
def test_explain_names_the_policy(clause: str, words: str) -> None:
    """In the text and in JSON."""
    session = hr.Session().sql(
        f"CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts {clause} FROM 'kafka';"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;"
    )
    assert f"stream s: progressing on ts, {words};" in session.explain()
    assert ("closes the windows of each (k) by its own progress" in session.explain()) == ("(k)" in clause)
    plan = json.loads(session.explain("json"))
    assert plan["streams"]["s"]["progress"] == words
    assert plan["tables"][0]["early"] == (["k"] if "(k)" in clause else [])
