"""CREATE TABLE: a source, its columns where they are not the source's own, and how often it is read again."""

from __future__ import annotations

from unicodedata import normalize

from headrace.sql.parse_stream import parse_columns, parse_options
from headrace.sql.statements import CreateTable
from headrace.sql.token_cursor import TokenCursor, says


def parse_table(cursor: TokenCursor) -> CreateTable:
    """The statement, from behind `CREATE TABLE` to its end."""
    first = cursor.tokens[0]
    name = normalize("NFC", cursor.name("the name of the table"))
    columns = parse_columns(cursor) if says(cursor.peek(), "(") else ()
    if (token := cursor.peek()) is not None and says(token, "PROGRESSING"):
        raise cursor.fail("a table makes no progress: write CREATE STREAM, or leave PROGRESSING out", token)
    cursor.expect("FROM")
    fmt = cursor.string("a source format, like 'csv'")
    options = parse_options(cursor) if cursor.accept("OPTIONS") else {}
    refresh = None
    if cursor.accept("REFRESH"):
        cursor.expect("EVERY")
        refresh = cursor.until((), "a duration, like 1 HOUR")
    if (extra := cursor.peek()) is not None:
        raise cursor.fail(f"did not expect {extra.text!r}; behind the options of a table comes REFRESH EVERY or nothing", extra)
    text = cursor.script[first.start : cursor.tokens[-1].end + 1]
    return CreateTable(name, columns, fmt, options, refresh, text)


__all__ = ["parse_table"]
