"""Windows written as functions in FROM, as in Flink and RisingWave, as bracket windows.

`TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECONDS))` and `TUMBLE(bid, ts, INTERVAL '10 seconds')` are
`bid [RANGE 10 SECONDS ON ts]`; HOP has its slide before its length, CUMULATE its step before the longest length. They become
marks on the stream's token like bracket windows (`parse_window.py`), before sqlglot reads them.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import error
from headrace.sql.statements import BracketWindow
from headrace.sql.token_cursor import says

_LENGTHS = {"TUMBLE": 1, "HOP": 2, "CUMULATE": 2}  # how many each has
_NAMES = (*_LENGTHS, "SESSION")
_BEFORE = (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)


def find_table_function(tokens: list[Token], i: int, out: list[Token]) -> int | None:
    """The place of the name of a window function that begins at `i`, behind FROM, JOIN or a comma."""
    if not out or out[-1].token_type not in _BEFORE:
        return None
    at = i + 2 if says(tokens[i], "TABLE") and i + 2 < len(tokens) and tokens[i + 1].token_type is TokenType.L_PAREN else i
    named = says(tokens[at], *_NAMES) and at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN
    return at if named else None


def read_table_function(script: str, tokens: list[Token], i: int, at: int) -> tuple[Token, BracketWindow, int]:
    """The stream, its window, and the place behind the function whose name is at `at`."""
    name, (arguments, end) = tokens[at], _split_arguments(tokens, at + 1)
    last = tokens[min(end, len(tokens) - 1)]
    kind = name.text.upper()

    def fail(why: str) -> SqlError:
        return error(script, name.start, last.end, f"{why}; write a window behind its stream, like bid [RANGE 10 SECONDS]")

    if kind == "SESSION":
        raise fail("session windows are not supported")
    stream = [t for t in arguments[0] if not says(t, "TABLE")] if arguments else []
    wanted = _LENGTHS[kind]
    if len(stream) != 1 or len(arguments) not in (wanted + 2, wanted + 3):
        known = f"{kind}(TABLE bid, DESCRIPTOR(ts), {', '.join(['<length>'] * wanted)})"
        raise fail(f"expected {known}, with the name of a stream or query")
    column = [t for t in arguments[1] if not says(t, "DESCRIPTOR", "(", ")")]
    lengths = [" ".join(t.text for t in part) for part in arguments[2:]]
    if not all(lengths) or any(says(t, "=>") for part in arguments for t in part):
        raise fail(f"the arguments of {kind} are written in order, without names")
    slide, range_ = (None, lengths[0]) if kind == "TUMBLE" else (lengths[0], lengths[1])
    window = BracketWindow(
        None if kind == "CUMULATE" else range_,
        slide,
        lengths[wanted] if len(lengths) > wanted else None,
        reset=range_ if kind == "CUMULATE" else None,
        attribute="".join(t.text for t in column),
        start=name.start,
        end=last.end,
    )
    return stream[0], window, end + 1 + (at != i)


def _split_arguments(tokens: list[Token], opening: int) -> tuple[list[list[Token]], int]:
    """What stands between the commas of a call, and the place of its closing parenthesis."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for k in range(opening, len(tokens)):
        token = tokens[k]
        depth += token.token_type is TokenType.L_PAREN
        depth -= token.token_type is TokenType.R_PAREN
        if not depth:
            return parts, k
        if depth == 1 and token.token_type is TokenType.COMMA:
            parts.append([])
        elif k > opening:
            parts[-1].append(token)
    return parts, len(tokens) - 1


__all__ = ["find_table_function", "read_table_function"]
