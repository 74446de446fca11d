"""What is known about the partitioning of a stream's source, before FROM (document 000 §1, §3.2, §4.2.1).

    PARTITIONED BY (<expression>, …)      its rows come partitioned so: a topic with a key, files by key
    PARTITIONABLE BY (<expression>, …)    it can be partitioned by functions of these only: the hardware's limits
    RATE <n> PER SECOND | MINUTE | HOUR   about how many rows come, to weigh partitionings with
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.sql.error_places import error
from headrace.sql.parse_select import parse_select
from headrace.sql.token_cursor import TokenCursor

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}


def parse_partitioning(cursor: TokenCursor) -> tuple[tuple[exp.Expr, ...], bool]:
    """The expressions, and whether the source is partitioned by them already; none, if nothing is said."""
    fixed = cursor.accept("PARTITIONED")
    if not fixed and not cursor.accept("PARTITIONABLE"):
        return (), False
    cursor.expect("BY")
    opening, inside = cursor.bracket("')' after the expressions")
    if not inside:
        raise cursor.fail("expected columns or expressions, like (srcIP, destIP)", opening)
    return parse_expressions(cursor.script, inside), bool(fixed)


def parse_rate(cursor: TokenCursor) -> float | None:
    """Rows a second; None, if nothing is said."""
    if not cursor.accept("RATE"):
        return None
    number = cursor.next("a number of rows, like RATE 100000 PER SECOND")
    if number.token_type is not TokenType.NUMBER or float(number.text) <= 0:
        raise cursor.fail(f"expected a number of rows above 0, found {number.text!r}", number)
    cursor.expect("PER")
    unit = cursor.next("SECOND, MINUTE or HOUR")
    if unit.text.upper() not in _SECONDS:
        raise cursor.fail(f"expected SECOND, MINUTE or HOUR, found {unit.text!r}", unit)
    return float(number.text) / _SECONDS[unit.text.upper()]


def parse_expressions(script: str, tokens: list[Token]) -> tuple[exp.Expr, ...]:
    """Expressions over columns, separated by commas."""
    first = tokens[0]
    select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)
    body = parse_select(script, [select, *tokens])
    more = [key for key, value in body.args.items() if value and key not in ("expressions", "kind")]
    listed = tuple(body.expressions)
    bad = any(isinstance(e, (exp.Star, exp.Alias)) or e.find(exp.AggFunc, exp.Subquery) for e in listed)
    if more or not listed or bad:
        message = "expected columns of the stream or expressions over them, separated by commas"
        raise error(script, first.start, tokens[-1].end, message)
    return listed


__all__ = ["parse_expressions", "parse_partitioning", "parse_rate"]
