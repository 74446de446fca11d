"""Operators bind as in Spark, and the text says so."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from headrace.sql.precedence import as_spark_binds


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("a | b & c", "a | (b & c)"),
        ("a & b | c", "(a & b) | c"),
        ("a ^ b & c | d", "(a ^ (b & c)) | d"),
        ("a | b | c", "a | b | c"),
        ("(a | b) & c", "(a | b) & c"),
        ("a | (b & c | d)", "a | ((b & c) | d)"),
        ("a & b = 3 OR c | d & 1 > 2", "a & b = 3 OR c | (d & 1) > 2"),
        ("a = b < c", "(a = b) < c"),
        ("a < b = c", "a < b = c"),
        ("f(a | b & c) + 1", "F(a | (b & c)) + 1"),
    ],
)
def test_bits_and_comparisons(text: str, bound: str) -> None:
    assert as_spark_binds(parse_one(text, dialect="spark")).sql(dialect="spark") == bound


def test_shifts_bind_first() -> None:
    tree = as_spark_binds(parse_one("lo | hi << 8", dialect="spark"))
    assert tree.sql(dialect="duckdb") == "lo | (hi << 8)"
