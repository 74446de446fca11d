"""How progress is declared: what stands between PROGRESSING ON <attribute> and FROM.

    ORDERED | SLACK <duration> | SLACK <n> ROWS      [PER (column, …)]
    PUNCTUATED BY (<predicate>) [NOT DATA]           [FOR (column, …)]
    PUNCTUATED FROM '<table>'                        [FOR (column, …)]
    then, in any order, [IDLE AFTER <duration>] [HORIZON <duration>]
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import error
from headrace.sql.parse_select import parse_select
from headrace.sql.statements import ProgressClause
from headrace.sql.token_cursor import TokenCursor, says, split_statements, tokenize

_CLAUSES = {"SLACK", "ORDERED", "PUNCTUATED", "PER", "FOR", "IDLE", "HORIZON", "PARTITIONED", "PARTITIONABLE", "RATE", "FROM"}


def parse_progress(cursor: TokenCursor, stream: str) -> ProgressClause:
    """The clauses, up to the FROM of the source."""
    slack = rows = by = beside = None
    data = True
    if cursor.accept("SLACK"):
        rows = _rows(cursor)
        slack = _duration(cursor, "a duration, like 5 SECONDS, or a number of ROWS") if rows is None else None
    elif cursor.accept("PUNCTUATED"):
        if cursor.accept("FROM"):
            beside = cursor.string("the table that has the bounds")
        else:
            cursor.expect("BY")
            by = _predicate(cursor)
            data = not cursor.accept("NOT", "DATA")
    elif not cursor.accept("ORDERED"):
        raise cursor.fail(
            f"expected how the progress of {stream} is known: SLACK <duration> (how late a row may be), "
            "SLACK <n> ROWS, PUNCTUATED BY (<predicate>), PUNCTUATED FROM '<table>', or ORDERED",
            cursor.peek() or cursor.tokens[-1],
        )
    groups = _groups(cursor, "FOR" if by is not None or beside is not None else "PER")
    found: dict[str, str] = {}
    while cursor.peek() is not None and not says(cursor.peek(), "FROM"):
        if cursor.accept("IDLE"):
            cursor.expect("AFTER")
            word = "IDLE AFTER"
        elif cursor.accept("HORIZON"):
            word = "HORIZON"
        else:
            break
        if word in found:
            raise cursor.fail(f"{word} is there twice", cursor.tokens[cursor.i - 1])
        found[word] = _duration(cursor, "a duration, like 1 DAY" if word == "HORIZON" else "a duration, like 30 SECONDS")
    return ProgressClause(slack, rows, by, data, beside, groups, found.get("IDLE AFTER"), found.get("HORIZON"))


def parse_predicate(text: str) -> exp.Expr:
    """The predicate of punctuating rows, by itself."""
    parts = split_statements(tokenize(text))
    if len(parts) != 1:
        raise SqlError(f"expected a predicate, like kind = 'mark', got {text!r}")
    return _parse_expression(text, parts[0])


def _rows(cursor: TokenCursor) -> int | None:
    number, word = cursor.peek(), cursor.peek(1)
    if number is None or number.token_type is not TokenType.NUMBER or not says(word, "ROW", "ROWS"):
        return None
    if not number.text.isdigit():
        raise cursor.fail(f"expected a whole number of rows, found {number.text!r}", number)
    cursor.i += 2
    return int(number.text)


def _predicate(cursor: TokenCursor) -> exp.Expr:
    opening, inside = cursor.bracket("')' after the predicate of punctuating rows")
    if not inside:
        raise cursor.fail("expected a predicate that is true for punctuating rows, like (kind = 'mark')", opening)
    return _parse_expression(cursor.script, inside)


def _parse_expression(script: str, tokens: list[Token]) -> exp.Expr:
    first = tokens[0]
    select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)
    body = parse_select(script, [select, *tokens])
    listed = body.expressions
    if len(body.args) > 1 and any(value for key, value in body.args.items() if key not in ("expressions", "kind")):
        raise error(script, first.start, tokens[-1].end, "expected one predicate over the columns of the stream")
    if len(listed) != 1 or isinstance(listed[0], (exp.Star, exp.Alias)):
        raise error(script, first.start, tokens[-1].end, "expected one predicate over the columns of the stream")
    found: exp.Expr = listed[0]
    return found


def _groups(cursor: TokenCursor, word: str) -> tuple[str, ...]:
    other = "PER" if word == "FOR" else "FOR"
    if says(token := cursor.peek(), other) and token is not None:
        what = "punctuation is FOR groups" if word == "FOR" else "ORDERED and SLACK hold PER group"
        raise cursor.fail(f"{what}: write {word} (column, …)", token)
    if not cursor.accept(word):
        return ()
    cursor.expect("(")
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    cursor.expect(")")
    return tuple(names)


def _duration(cursor: TokenCursor, what: str) -> str:
    """The words of a duration. A text in quotes belongs to it only after INTERVAL: else it is the source's format."""
    start = cursor.i
    text = cursor.until(_CLAUSES, what)
    for i in range(start + 1, cursor.i):
        token, last = cursor.tokens[i], cursor.tokens[i - 1]
        if token.token_type is TokenType.STRING and not says(last, "INTERVAL"):
            raise cursor.fail(f"expected FROM before the source's format, found {last.text!r}", last)
    return text


__all__ = ["parse_predicate", "parse_progress"]
