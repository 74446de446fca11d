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
from headrace.sql.token_cursor import QUOTED, TokenCursor, says, split_statements, tokenize

_INSTEAD = {  # statements of other systems, and what there is here
    "VIEW": "a query is a view that keeps itself up to date: write CREATE QUERY <name> AS SELECT …",
    "MATERIALIZED": "a query is a view that keeps itself up to date: write CREATE QUERY <name> AS SELECT …",
    "SOURCE": "write CREATE STREAM <name> (…) PROGRESSING ON <time> … FROM '<format>' OPTIONS (…)",
    "EXTERNAL": "write CREATE STREAM, or CREATE TABLE <name> FROM '<format>' OPTIONS (…)",
    "SINK": "results are written by the run, not by a statement: give --sink to headrace run, or sinks= in Python",
    "FUNCTION": "give functions in Python, with session.aggregate(…)",
    "INSERT": "results are read by a query's name, or written with --sink: write CREATE QUERY <name> AS before SELECT",
    "DROP": "a set is what its script says: take the statement out of the script, and run it on the same checkpoint",
    "ALTER": "a set is what its script says: change the script; a query that changes needs another name",
    "SET": "options are given to headrace run, or to hr.Session(…)",
    "USE": "streams and queries have no catalogs and databases",
    "EXPLAIN": "write headrace explain <script>",
    "SHOW": "write headrace explain <script>, or headrace state <checkpoint>",
    "WITH": "write CREATE QUERY <name> AS for each part",
}
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
        if (instead := _INSTEAD.get(first.text.upper().split(" ")[0])) is not None and first.token_type not in QUOTED:
            raise cursor.fail(f"{first.text.upper()} is not a statement here: {instead}", first)
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
    if cursor.accept("OR"):
        raise cursor.fail(f"OR REPLACE is not supported: {_INSTEAD['ALTER']}", first)
    if not cursor.accept("QUERY"):
        found = cursor.next("STREAM or QUERY")
        if (instead := _INSTEAD.get(found.text.upper().split(" ")[0])) is not None and found.token_type not in QUOTED:
            raise cursor.fail(f"CREATE {found.text.upper()} is not a statement here: {instead}", found)
        raise cursor.fail(
            f"expected CREATE STREAM, CREATE TABLE or CREATE QUERY, found CREATE {found.text}."
            + suggest(found.text, ["STREAM", "TABLE", "QUERY"]),
            found,
        )
    if says(cursor.peek(), "IF"):
        raise cursor.fail("IF NOT EXISTS is not supported: a script says each name once", tokens[cursor.i])
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
