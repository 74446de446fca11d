"""The type of a declared column, as Spark's grammar has it, and nothing behind it.

A column is a name and a type. sqlglot would read the words of thirty systems behind a type, like DEFAULT and CHECK, and pass
over those that it does not know; nobody here would obey any of them. So the grammar is short and stands here in full.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from headrace.sql.error_places import suggest
from headrace.sql.token_cursor import TokenCursor, says

_PARAMETERS = {  # how many numbers may stand in parentheses
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), 2),
    **dict.fromkeys(("CHAR", "CHARACTER", "VARCHAR"), 1),
}
_PLAIN = {
    *("BOOLEAN", "TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG", "FLOAT", "REAL", "DOUBLE"),
    *("STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "VARIANT"),
}
_TYPES = {*_PARAMETERS, *_PLAIN, "ARRAY", "MAP", "STRUCT", "INTERVAL"}
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


class TypeReader:
    """Reads the types of columns; `>>` closes two brackets."""

    def __init__(self, cursor: TokenCursor) -> None:
        self._cursor, self._closed = cursor, 0

    def read(self, column: str) -> str:
        """The text of the type that comes next; the column ends behind it."""
        cursor = self._cursor
        start = cursor.i
        self._type(column)
        after = cursor.peek()
        if after is not None and not says(after, ",", ")"):
            raise cursor.fail(f"column {column}: a column is a name and a type; {after.text!r} would be ignored", after)
        return cursor.script[cursor.tokens[start].start : cursor.tokens[cursor.i - 1].end + 1]

    def _type(self, column: str) -> None:
        cursor = self._cursor
        token = cursor.next(f"the type of column {column}")
        name = token.text.upper()
        if says(token, ",", ")"):
            raise cursor.fail(f"expected the type of column {column}", token)
        if not says(token, *_TYPES):
            raise cursor.fail(f"column {column}: {token.text} is not a type Headrace knows." + suggest(name, _TYPES), token)
        if name == "INTERVAL":
            self._interval()
        elif name in ("ARRAY", "MAP"):
            self._open(token)
            self._type(column)
            if name == "MAP":
                cursor.expect(",")
                self._type(column)
            self._close()
        elif name == "STRUCT":
            self._struct(token)
        elif name in _PARAMETERS and cursor.accept("("):
            self._numbers(_PARAMETERS[name])

    def _struct(self, token: Token) -> None:
        self._open(token)
        while True:
            field = self._cursor.name("the name of a field")
            self._cursor.accept(":")
            self._type(field)
            if not self._cursor.accept(","):
                return self._close()

    def _interval(self) -> None:
        if any(self._cursor.accept(unit) for unit in _UNITS) and self._cursor.accept("TO"):
            unit = self._cursor.next("a unit")
            if not says(unit, *_UNITS):
                raise self._cursor.fail(f"expected one of {', '.join(_UNITS)}", unit)

    def _numbers(self, most: int) -> None:
        for i in range(most):
            number = self._cursor.next("a number")
            if not number.text.isdigit():
                raise self._cursor.fail(f"expected a number, found {number.text!r}", number)
            if self._cursor.accept(")"):
                return
            if i + 1 < most:
                self._cursor.expect(",")
        self._cursor.expect(")")

    def _open(self, token: Token) -> None:
        if not self._cursor.accept("<"):
            raise self._cursor.fail(f"expected < behind {token.text}: {token.text.upper()}<…>", self._cursor.peek() or token)

    def _close(self) -> None:
        if self._closed:
            self._closed -= 1
        elif self._cursor.accept(">>"):
            self._closed = 1
        else:
            self._cursor.expect(">")


__all__ = ["TypeReader"]
