"""Bracket windows in a token list.

`[RANGE … SLIDE …]` is no SQL, so it is taken out of the tokens before sqlglot reads them and left as a mark on the table it
follows, or, written after an aggregate as in the thesis' examples, on the first table of the same SELECT. `WITHIN 10 SECONDS`
behind a joined table, as in KSQL, is taken out in the same way.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import error, suggest
from headrace.sql.statements import BracketWindow, Within
from headrace.sql.table_functions import find_table_function, read_table_function
from headrace.sql.token_cursor import TokenCursor, says

MARK = "\x01"  # ends a table's name; the kind and number of its clause follow
_MARKS = {"w": "stream_window", "g": "aggregate_window", "i": "within"}
WINDOW_WORDS = ("RANGE", "SLIDE", "ORIGIN", "ALIGN", "RESET", "WA", "WATTR", "ON")
_EXAMPLE = "[RANGE 10 MINUTES SLIDE 1 MINUTE]"
_UNSUPPORTED = {
    **dict.fromkeys(
        ("ROW", "ROWS", "TUPLES"),
        f"windows of a number of rows are not supported; a window is a RANGE of the progressing attribute, like {_EXAMPLE}",
    ),
    "PARTITION": f"windows per key are not supported; write a RANGE, like {_EXAMPLE}, and GROUP BY the key",
    "SESSION": f"session windows are not supported; write a RANGE, like {_EXAMPLE}",
    "WITHIN": "WITHIN is not a window clause; write RANGE and a length, like [RANGE 10 MINUTES]",
    **dict.fromkeys(
        ("TUMBLING", "TUMBLE", "SLIDING", "HOP", "HOPPING"),
        f"a window starts with RANGE: write [RANGE 10 MINUTES] for a tumbling one, {_EXAMPLE} for a sliding one",
    ),
    "PA": "PA names the progressing attribute of a stream, which is said once, with PROGRESSING ON; leave it out, "
    "or write WA and the attribute",
    **dict.fromkeys(
        ("RATTR", "SATTR"),
        "RATTR and SATTR name what RANGE and SLIDE are counted in, which is the progressing attribute; leave them out, or write "
        "WATTR and the attribute",
    ),
    "LANDMARK": "a window starts with RANGE: write [RANGE ALL SLIDE 1 MINUTE] for a landmark",
}
_OTHER_CLAUSES = (
    *(TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ON),
    *(TokenType.ORDER_BY, TokenType.USING, TokenType.UNION, TokenType.LIMIT),
)


def take_windows(script: str, tokens: list[Token]) -> tuple[list[Token], list[BracketWindow | Within]]:
    """The tokens without their windows, tables marked; and the windows, by the numbers of the marks."""
    out: list[Token] = []
    windows: list[BracketWindow | Within] = []
    pending: list[int] = []  # windows written after an aggregate: they belong to the next FROM
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if (at := find_table_function(tokens, i, out)) is not None:
            stream, function, i = read_table_function(script, tokens, i, at)
            windows.append(function)
            out.append(_marked(stream, f"w{len(windows) - 1}"))
            continue
        if token.token_type is TokenType.L_BRACKET and (
            says(_at(tokens, i + 1), *WINDOW_WORDS) or _follows_table(out)
        ):
            close = _closing(script, tokens, i)
            if out and f"{MARK}w" in out[-1].text:
                raise error(script, token.start, tokens[close].end, "this is a second window; a stream or query has one")
            windows.append(_window(script, token, tokens[i + 1 : close]))
            i = close + 1
            if not _in_from(out):
                pending.append(len(windows) - 1)
            else:
                i = _mark_table(out, tokens, i, f"w{len(windows) - 1}")
            continue
        if says(token, "WITHIN") and _last_clause(out) is TokenType.JOIN and _is_length(tokens, i + 1):
            within, i = _within(script, tokens, i)
            windows.append(within)
            i = _mark_table(out, tokens, i, f"i{len(windows) - 1}")
            continue
        out.append(token)
        i += 1
        if pending and len(out) > 1 and out[-2].token_type is TokenType.FROM:
            mark = f"g{pending.pop()}"
            if token.token_type is TokenType.L_PAREN:
                end = _closing_parenthesis(tokens, i)
                inside, more = take_windows(script, tokens[i:end])
                out += [_renumber(t, len(windows)) for t in inside]
                windows += more
                if end < len(tokens):
                    out.append(tokens[end])
                    i = _mark_subselect(out, tokens, end + 1, mark)
            else:
                out[-1] = _marked(token, mark)
    if pending:
        stray = windows[pending[0]]
        raise error(script, stray.start, stray.end, "this window follows no stream or query")
    return out, windows


def put_windows(body: exp.Expr, windows: list[BracketWindow | Within]) -> None:
    """Turn the marks on tables and sub-selects into arguments of them."""
    for table in body.find_all(exp.Table, exp.Subquery):
        for identifier in [table.this, table.args.get("alias") and table.args["alias"].this]:
            if isinstance(identifier, exp.Identifier) and MARK in identifier.name:
                name, *marks = identifier.name.split(MARK)
                for mark in marks:
                    table.set(_MARKS[mark[0]], windows[int(mark[1:])])
                identifier.set("this", name)
                identifier.set("quoted", False)
                if not name:
                    table.set("alias", None)


def _at(tokens: list[Token], i: int) -> Token | None:
    return tokens[i] if i < len(tokens) else None


def _closing(script: str, tokens: list[Token], opening: int) -> int:
    for k in range(opening, len(tokens)):
        if tokens[k].token_type is TokenType.R_BRACKET:
            return k
    raise error(script, tokens[opening].start, tokens[opening].end, "this window is not closed: expected ]")


def _closing_parenthesis(tokens: list[Token], start: int) -> int:
    """The place of the parenthesis that closes what is open at `start`."""
    depth = 1
    for k in range(start, len(tokens)):
        depth += (tokens[k].token_type is TokenType.L_PAREN) - (tokens[k].token_type is TokenType.R_PAREN)
        if not depth:
            return k
    return len(tokens)


def _renumber(token: Token, before: int) -> Token:
    """A token whose marks count from the first window of the whole text."""
    if MARK not in token.text or token.token_type is not TokenType.IDENTIFIER:
        return token
    name, *marks = token.text.split(MARK)
    text = MARK.join([name, *(f"{mark[0]}{int(mark[1:]) + before}" for mark in marks)])
    return Token(token.token_type, text, token.line, token.col, token.start, token.end, token.comments)


def _mark_table(out: list[Token], tokens: list[Token], i: int, mark: str) -> int:
    """Mark the table before a clause; the place behind the clause, or behind the alias of a sub-select."""
    if out[-1].token_type is not TokenType.R_PAREN:
        out[-1] = _marked(out[-1], mark)
        return i
    return _mark_subselect(out, tokens, i, mark)


def _is_length(tokens: list[Token], i: int) -> bool:
    token = _at(tokens, i)
    return token is not None and token.token_type in (TokenType.NUMBER, TokenType.L_PAREN, TokenType.STRING)


def _within(script: str, tokens: list[Token], i: int) -> tuple[Within, int]:
    """The clause that begins with WITHIN at `i`, and the place behind it."""
    stop = next((k for k in range(i, len(tokens)) if tokens[k].token_type in (TokenType.ON, TokenType.USING)), len(tokens))
    part = tokens[i + 1 : stop]
    start, end = tokens[i].start, tokens[stop - 1].end
    if any(says(t, "GRACE") for t in part):
        raise error(script, start, end, "GRACE: how late rows may come is said with the stream, like SLACK 5 SECONDS")
    text = re.sub(r"^\((.*)\)$", r"\1", " ".join(t.text for t in part))
    lengths = [piece.strip() for piece in text.split(",")]
    if len(lengths) > 2 or not all(re.match(r"^'?\d", piece) for piece in lengths):
        raise error(script, start, end, "expected WITHIN 10 SECONDS, or WITHIN (5 SECONDS, 10 SECONDS) for before and after")
    return Within(lengths[0], lengths[-1], start, end), stop


def _mark_subselect(out: list[Token], tokens: list[Token], i: int, mark: str) -> int:
    """Mark the alias behind `(SELECT …) [window]`, or an empty one; the place behind it."""
    if (token := _at(tokens, i)) is not None and token.token_type is TokenType.ALIAS:
        i += 1
    token = _at(tokens, i)
    if token is not None and token.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
        out.append(_marked(token, mark))
        return i + 1
    last = out[-1]
    out.append(_marked(Token(TokenType.VAR, "", last.line, last.col, last.start, last.end), mark))
    return i


def _last_clause(out: list[Token]) -> TokenType | None:
    """The last clause word of the same depth."""
    depth = 0
    for token in reversed(out):
        depth += (token.token_type is TokenType.R_PAREN) - (token.token_type is TokenType.L_PAREN)
        if depth < 0:
            return None
        if depth == 0 and token.token_type in (TokenType.FROM, TokenType.JOIN, *_OTHER_CLAUSES):
            return token.token_type
    return None


def _in_from(out: list[Token]) -> bool:
    """Whether a bracket here belongs to a table."""
    return _last_clause(out) in (TokenType.FROM, TokenType.JOIN)


def _follows_table(out: list[Token]) -> bool:
    """Whether a bracket here can be nothing but a window, whatever is in it."""
    if not out or out[-1].token_type in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA):
        return False
    return _in_from(out)


def _marked(token: Token, mark: str) -> Token:
    text = f"{token.text}{MARK}{mark}"
    return Token(TokenType.IDENTIFIER, text, token.line, token.col, token.start, token.end, token.comments)


def _window(script: str, bracket: Token, tokens: list[Token]) -> BracketWindow:
    tokens = [t for t in tokens if t.token_type is not TokenType.COMMA]
    if not tokens:
        raise error(script, bracket.start, bracket.end, f"this window is empty: write for example {_EXAMPLE}")
    cursor = TokenCursor(script, tokens)
    range_: str | None = None
    slide = origin = reset = attribute = None
    align, seen, tumbling = "start", set(), False
    while (token := cursor.peek()) is not None:
        if not says(token, *WINDOW_WORDS):
            raise _no_clause(cursor, token)
        word = cursor.next("a window clause").text.upper()
        if word in seen:
            raise cursor.fail(f"{word} is given twice in this window", token)
        seen.add(word)
        if word == "RANGE":
            tumbling = cursor.accept("TUMBLING") or cursor.accept("TUMBLE")
            text = _length(cursor, "a length, like 10 MINUTES")
            range_ = None if text.upper() == "ALL" else text
        elif word == "SLIDE":
            slide = _length(cursor, "a step, like 1 MINUTE")
        elif word == "ORIGIN":
            origin = cursor.until(WINDOW_WORDS, "a timestamp in quotes, a number or a duration")
        elif word == "RESET":
            reset = _length(cursor, "a length, like 1 DAY")
        elif word == "ALIGN":
            align = cursor.next("START or END").text.lower()
            if align not in ("start", "end"):
                raise cursor.fail("expected ALIGN START or ALIGN END", token)
        else:
            attribute = cursor.name("the progressing attribute")
            while cursor.accept("."):
                attribute += "." + cursor.name("the progressing attribute")
    if "RANGE" not in seen:
        raise cursor.fail("a window needs a RANGE (or RANGE ALL)", tokens[0])
    if tumbling and (slide is not None or range_ is None):
        what = "a window that is TUMBLING moves by its own length: leave SLIDE out, or TUMBLING"
        raise error(script, tokens[0].start, tokens[-1].end, what)
    return BracketWindow(range_, slide, origin, align, reset, attribute, tumbling, tokens[0].start, tokens[-1].end)


def _length(cursor: TokenCursor, what: str) -> str:
    """A length of time; a second word in a row is a window clause nobody knows."""
    start = cursor.i
    text = cursor.until(WINDOW_WORDS, what)
    for token in cursor.tokens[start : cursor.i]:
        if says(token, "ROW", "ROWS", "TUPLE", "TUPLES"):
            raise cursor.fail(_UNSUPPORTED["ROWS"], token)
    for last, token in pairwise(cursor.tokens[start : cursor.i]):
        if last.text.isalpha() and token.text.isalpha() and not says(last, "INTERVAL"):
            raise _no_clause(cursor, token)
    return text


def _no_clause(cursor: TokenCursor, token: Token) -> SqlError:
    if (why := _UNSUPPORTED.get(token.text.upper().split()[0] if token.text else "")) is not None:
        return cursor.fail(why, token)
    if token.token_type is TokenType.NUMBER:
        return cursor.fail(f"expected RANGE before {token.text}: write for example {_EXAMPLE}", token)
    return cursor.fail(f"{token.text!r} is not a window clause." + suggest(token.text, WINDOW_WORDS), token)


__all__ = ["WINDOW_WORDS", "put_windows", "take_windows"]
