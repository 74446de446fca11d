"""CREATE STREAM, clause by clause. The list of columns may be left out where the source has columns of its own."""

from __future__ import annotations

from unicodedata import normalize

from headrace.sql.parse_partitioning import parse_partitioning, parse_rate
from headrace.sql.parse_progress import parse_progress
from headrace.sql.parse_type import TypeReader
from headrace.sql.statements import ColumnDef, CreateStream
from headrace.sql.token_cursor import TokenCursor, says


def parse_stream(cursor: TokenCursor) -> CreateStream:
    """The statement, from behind `CREATE STREAM` to its end."""
    first = cursor.tokens[0]
    name = normalize("NFC", cursor.name("the name of the stream"))
    columns = parse_columns(cursor) if says(cursor.peek(), "(") else ()
    cursor.expect("PROGRESSING")
    cursor.expect("ON")
    on = cursor.name("the progressing attribute")
    progress = parse_progress(cursor, name)
    partition = parse_partitioning(cursor)
    rate = parse_rate(cursor)
    cursor.expect("FROM")
    fmt = cursor.string("a source format, like 'parquet'")
    options = parse_options(cursor) if cursor.accept("OPTIONS") else {}
    if (extra := cursor.peek()) is not None and says(extra, "CREATE"):
        raise cursor.fail("expected ; before the next statement", extra)
    if extra is not None:
        raise cursor.fail(f"did not expect {extra.text!r} after the stream's options", extra)
    text = cursor.script[first.start : cursor.tokens[-1].end + 1]
    return CreateStream(name, columns, on, progress, fmt, options, text, cursor.script, *partition, rate=rate)


def parse_options(cursor: TokenCursor) -> dict[str, str]:
    options: dict[str, str] = {}
    cursor.expect("(")
    while not cursor.accept(")"):
        first = cursor.next("an option")
        key = first.text
        while cursor.accept("."):
            key += "." + cursor.next("an option").text
        cursor.accept("=")
        if key.lower() in (one.lower() for one in options):
            raise cursor.fail(f"option {key} is given twice", first)
        sign = "-" if cursor.accept("-") else ""
        options[key] = sign + cursor.next(f"the value of option {key}").text
        if not cursor.accept(","):
            cursor.expect(")")
            break
    return options


def parse_columns(cursor: TokenCursor) -> tuple[ColumnDef, ...]:
    cursor.expect("(")
    columns: list[ColumnDef] = []
    while True:
        name = cursor.name("a column name")
        columns.append(ColumnDef(name, TypeReader(cursor).read(name)))
        if cursor.accept(")"):
            return tuple(columns)
        cursor.expect(",")


__all__ = ["parse_columns", "parse_options", "parse_stream"]
