"""What sqlglot's parser says about a wrong text, in words that help: the place, and the word that was probably meant."""

from __future__ import annotations

import difflib

from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import error
from headrace.sql.parse_window import WINDOW_WORDS
from headrace.sql.token_cursor import QUOTED, says

_KEYWORDS = (
    *(
        "SELECT",
        "DISTINCT",
        "FROM",
        "WHERE",
        "GROUP",
        "BY",
        "HAVING",
        "UNION",
        "ALL",
        "AS",
        "AND",
        "OR",
        "NOT",
    ),
    *("BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "IS", "NULL", "LIKE", "INTERVAL", "JOIN", "WITHIN", "USING"),
)
_LOOK_BACK = 3  # tokens: the parser stumbles a little behind the misspelt word


def syntax_error(script: str, tokens: list[Token], e: ParseError) -> SqlError:
    """The parser's error, at the token it stumbled over or at the misspelt word before it."""
    first = e.errors[0]
    at = _stumbled(tokens, first.get("line"), first.get("col"))
    what = _description(str(first.get("description") or "syntax error"))
    if at is None:
        return SqlError(what)
    token = tokens[at]
    for back in range(at, max(-1, at - _LOOK_BACK), -1):
        if (near := _misspelt(tokens[back])) is not None:
            place = tokens[back]
            return error(
                script, place.start, place.end, f"{place.text!r} is not understood. Did you mean {near}?"
            )
    before = tokens[at - 1] if at else None
    if says(before, "WITHIN", "ROWS", "SESSION", *WINDOW_WORDS) and token.token_type is TokenType.NUMBER:
        assert before is not None
        what = "a window is written in brackets behind its stream, like [RANGE 10 MINUTES SLIDE 1 MINUTE]"
        return error(script, before.start, token.end, what)
    within = token if says(token, "WITHIN") else before
    if within is not None and says(within, "WITHIN"):
        what = "WITHIN takes a length of time, before ON, like JOIN b WITHIN 10 SECONDS ON a.k = b.k"
        return error(script, within.start, within.end, what)
    if what == "unexpected":
        what = f"did not expect {token.text!r} here"
        if token.text.isalpha() and token.token_type not in (*QUOTED, TokenType.VAR):
            what += f"; if it is a name, write it in backticks: `{token.text}`"
    return error(script, token.start, token.end, what)


def _stumbled(tokens: list[Token], line: int | None, col: int | None) -> int | None:
    return next((i for i, t in enumerate(tokens) if (t.line, t.col) == (line, col)), None)


def _description(what: str) -> str:
    if what.startswith("Required keyword"):
        return "an argument is missing"
    if what.startswith("Invalid expression"):
        return "unexpected"
    return what.replace("Expecting", "expected").replace("Expected", "expected")


def _misspelt(token: Token) -> str | None:
    """The keyword a word is nearly, if it is one of nobody's words."""
    if token.token_type is not TokenType.VAR or token.text.upper() in _KEYWORDS:
        return None
    near = difflib.get_close_matches(token.text.upper(), _KEYWORDS, n=1, cutoff=0.75)
    return near[0] if near else None


__all__ = ["syntax_error"]
