"""Texts of users inside SQL: as a value, as a name, and as a name for Spark.

Whatever a query, a source or an option says comes into a statement through one of these, so that no letter of it is read
as SQL. Between its quotes DuckDB takes every letter as it is but the quote itself, also a backslash, a line's end and
NUL; Spark does so between backticks.
"""

from __future__ import annotations


def quote_text(text: str) -> str:
    """A text as DuckDB's value, whatever it holds."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """A name as DuckDB takes it, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def quote_spark_name(name: str) -> str:
    """A name as Spark takes it, whatever it is."""
    return "`" + name.replace("`", "``") + "`"
