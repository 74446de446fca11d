"""Text to statements.

A script is `CREATE STREAM`, `CREATE TABLE` and `CREATE QUERY` statements with semicolons between them; a query by itself is
one SELECT. Names of streams and queries are brought to one Unicode form (NFC), because they become names of folders; names of
columns stay as they are written, because they are the source's.
"""

from __future__ import annotations

from unicodedata import normalize

from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import suggest
from headrace.sql.parse_select import parse_select
from headrace.sql.parse_stream import parse_stream
from headrace.sql.parse_table import parse_table
from headrace.sql.statements import CreateQuery, Statement
from headrace.sql.token_cursor import TokenCursor, says, split_statements, tokenize

_BYTE_ORDER_MARK = "\ufeff"


def parse_script(script: str) -> list[Statement]:
    """The statements of a script, in order."""
    script = script.removeprefix(_BYTE_ORDER_MARK)
    return [_statement(script, part) for part in split_statements(tokenize(script))]


def parse_query(name: str, text: str) -> CreateQuery:
    """One query from its SELECT text."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        parts = split_statements(tokenize(text))
    except SqlError as e:
        raise SqlError(f"query {name}: {e}") from e
    if len(parts) != 1:
        raise SqlError(f"query {name}: expected one SELECT, found {len(parts)} statements")
    _expect_select(TokenCursor(text, parts[0]))
    body = parse_select(text, parts[0])
    return CreateQuery(normalize("NFC", name), body, text.strip().rstrip(";"), text)


def _statement(script: str, tokens: list[Token]) -> Statement:
    cursor = TokenCursor(script, tokens)
    first = cursor.next("CREATE")
    if not says(first, "CREATE"):
        near = suggest(first.text, ["CREATE"]) if not says(first, "SELECT") else ""
        raise cursor.fail(
            f"expected CREATE STREAM or CREATE QUERY, found {first.text!r}."
            + (near if "mean" in near else " Write CREATE QUERY <name> AS before a SELECT."),
            first,
        )
    if cursor.accept("STREAM"):
        return parse_stream(cursor)
    if cursor.accept("TABLE"):
        return parse_table(cursor)
    if not cursor.accept("QUERY"):
        found = cursor.next("STREAM or QUERY")
        raise cursor.fail(
            f"expected CREATE STREAM, CREATE TABLE or CREATE QUERY, found CREATE {found.text}."
            + suggest(found.text, ["STREAM", "TABLE", "QUERY"]),
            found,
        )
    name = cursor.name("the name of the query")
    cursor.expect("AS")
    if cursor.peek() is None:
        raise cursor.fail("expected a SELECT after AS", tokens[-1])
    _expect_select(cursor)
    rest = tokens[cursor.i :]
    text = script[rest[0].start : rest[-1].end + 1]
    return CreateQuery(normalize("NFC", name), parse_select(script, rest), text, script)


def _expect_select(cursor: TokenCursor) -> None:
    """A query starts with SELECT, WITH or a parenthesis."""
    token = cursor.peek()
    if token is not None and token.token_type is TokenType.VAR:
        near = suggest(token.text, ["SELECT"])
        raise cursor.fail(f"expected SELECT, found {token.text!r}." + (near if "mean" in near else ""), token)


__all__ = ["parse_query", "parse_script"]
