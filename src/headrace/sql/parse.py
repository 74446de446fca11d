"""Text to statements.

sqlglot's Spark tokenizer and parser do the work; what Headrace adds is done on the token list, so that
every position still points into the user's text:

* `CREATE STREAM` and `CREATE QUERY` headers are read here, clause by clause;
* a bracket window `[RANGE … SLIDE …]` is taken out of the token list and left as a mark on the table it
  follows (or, after an aggregate as in the thesis' examples, on the table of the same SELECT);
* `GROUP BY time/60 AS tb` loses its alias here and gets it back as an `exp.Alias` (GSQL, document 000
  §3.1);
* `window` is an ordinary function name, not the WINDOW clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.precedence import as_spark_binds
from headrace.sql.source import error, suggest
from headrace.sql.statements import BracketWindow, ColumnDef, CreateQuery, CreateStream, Statement

_MARK = "\x01w"
_WINDOW_WORDS = ("RANGE", "SLIDE", "ORIGIN", "ALIGN", "RESET", "WA", "WATTR", "ON")
_QUOTED = {TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.IDENTIFIER}


def _says(token: Token | None, *words: str) -> bool:
    """Whether a token is one of these words or signs, and not a text or a quoted name that reads like it."""
    return token is not None and token.token_type not in _QUOTED and token.text.upper() in words


class _Cursor:
    """A place in a token list, with errors that point at it."""

    def __init__(self, script: str, tokens: list[Token]) -> None:
        self.script = script
        self.tokens = tokens
        self.i = 0

    def peek(self, ahead: int = 0) -> Token | None:
        return self.tokens[self.i + ahead] if self.i + ahead < len(self.tokens) else None

    def next(self, expected: str) -> Token:
        token = self.peek()
        if token is None:
            raise self.fail(f"expected {expected}, but the statement ends here", self.tokens[-1])
        self.i += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take the given words if they come next."""
        for k, word in enumerate(words):
            if not _says(self.peek(k), word):
                return False
        self.i += len(words)
        return True

    def expect(self, word: str) -> Token:
        token = self.next(word)
        if not _says(token, word):
            raise self.fail(f"expected {word}, found {token.text!r}", token)
        return token

    def name(self, what: str) -> str:
        token = self.next(what)
        if token.token_type in (TokenType.STRING, TokenType.NUMBER) or not (
            token.text[:1].isalpha() or token.text[:1] == "_"
        ):
            raise self.fail(f"expected {what}, found {token.text!r}", token)
        return token.text

    def string(self, what: str) -> str:
        token = self.next(what)
        if token.token_type is not TokenType.STRING:
            raise self.fail(f"expected {what} in quotes, found {token.text!r}", token)
        return token.text

    def until(self, stop: Iterable[str], what: str) -> str:
        """The words up to one of `stop`, as text (depth 0)."""
        first = self.peek()
        words: list[str] = []
        while (token := self.peek()) is not None and not _says(token, *stop):
            words.append(token.text)
            self.i += 1
        if not words:
            raise self.fail(f"expected {what}", first or self.tokens[-1])
        return " ".join(words).replace("- ", "-")

    def fail(self, message: str, token: Token) -> SqlError:
        return error(self.script, token.start, token.end, message)


def parse_script(script: str) -> list[Statement]:
    """The statements of a script, in order."""
    try:
        tokens = _tokens(script)
    except TokenError as e:
        raise _unreadable(script, e) from e
    statements: list[Statement] = []
    for part in _split(tokens):
        cursor = _Cursor(script, part)
        cursor.expect("CREATE")
        if cursor.accept("STREAM"):
            statements.append(_stream(cursor))
        elif cursor.accept("QUERY"):
            name = cursor.name("the name of the query")
            cursor.expect("AS")
            if cursor.peek() is None:
                raise cursor.fail("expected a SELECT after AS", part[-1])
            rest = part[cursor.i :]
            statements.append(
                CreateQuery(name, _body(script, rest), script[rest[0].start : rest[-1].end + 1], script)
            )
        else:
            found = cursor.next("STREAM or QUERY")
            raise cursor.fail(
                f"expected CREATE STREAM or CREATE QUERY, found CREATE {found.text}."
                + suggest(found.text, ["STREAM", "QUERY"]),
                found,
            )
    return statements


def parse_query(name: str, text: str) -> CreateQuery:
    """One query from its SELECT text."""
    try:
        tokens = _tokens(text)
    except TokenError as e:
        raise SqlError(f"query {name}: {_unreadable(text, e)}") from e
    parts = _split(tokens)
    if len(parts) != 1:
        raise SqlError(f"query {name}: expected one SELECT, found {len(parts)} statements")
    return CreateQuery(name, _body(text, parts[0]), text.strip().rstrip(";"), text)


def _unreadable(script: str, e: TokenError) -> SqlError:
    """A text or comment that never ends; the tokenizer says where it starts."""
    place = re.search(r"Missing (.+) from (\d+):(\d+)", str(e.__cause__))
    if place is None:
        return SqlError("the text cannot be read; is there a comment that is not closed?")
    start = sum(len(part) for part in script.splitlines(keepends=True)[: int(place[2]) - 1]) + int(place[3])
    start = max(0, script.rfind(place[1], 0, start + 1))
    return error(script, start, start, f"this is not closed: expected {place[1]}")


def _tokens(script: str) -> list[Token]:
    """Spark's tokens, with 0xFF a number and '' inside a text a quote."""
    out: list[Token] = []
    for token in Spark().tokenize(script):
        text = token.text
        if token.token_type is TokenType.HEX_STRING and script[token.start] == "0":
            out.append(_retyped(token, TokenType.NUMBER, str(int(text, 16))))
        elif (
            token.token_type is TokenType.STRING
            and out
            and out[-1].token_type is TokenType.STRING
            and out[-1].end + 1 == token.start
            and script[token.start] == script[out[-1].end]
        ):
            last = out.pop()
            out.append(
                Token(
                    TokenType.STRING,
                    f"{last.text}{script[token.start]}{text}",
                    last.line,
                    last.col,
                    last.start,
                    token.end,
                )
            )
        else:
            out.append(token)
    return out


def _retyped(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _split(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _stream(cursor: _Cursor) -> CreateStream:
    first = cursor.tokens[0]
    name = cursor.name("the name of the stream")
    columns = _columns(cursor)
    clause_words = {"SLACK", "ORDERED", "HORIZON", "FROM"}
    cursor.expect("PROGRESSING")
    cursor.expect("ON")
    on = cursor.name("the progressing attribute")
    slack = horizon = None
    if cursor.accept("SLACK"):
        slack = cursor.until(clause_words, "a duration, like 5 SECONDS")
    elif not cursor.accept("ORDERED"):
        where = cursor.peek() or cursor.tokens[-1]
        raise cursor.fail(
            f"expected how the progress of {name} is known: SLACK <duration> (how late a row may be), "
            "or ORDERED",
            where,
        )
    if cursor.accept("HORIZON"):
        horizon = cursor.until(clause_words, "a duration, like 1 DAY")
    cursor.expect("FROM")
    fmt = cursor.string("a source format, like 'parquet'")
    options: dict[str, str] = {}
    if cursor.accept("OPTIONS"):
        cursor.expect("(")
        while not cursor.accept(")"):
            key = cursor.next("an option").text
            while cursor.accept("."):
                key += "." + cursor.next("an option").text
            cursor.accept("=")
            options[key] = cursor.next(f"the value of option {key}").text
            if not cursor.accept(","):
                cursor.expect(")")
                break
    if (extra := cursor.peek()) is not None:
        raise cursor.fail(f"did not expect {extra.text!r} after the stream's options", extra)
    last = cursor.tokens[-1]
    return CreateStream(
        name, columns, on, slack, horizon, fmt, options, cursor.script[first.start : last.end + 1]
    )


def _columns(cursor: _Cursor) -> tuple[ColumnDef, ...]:
    cursor.expect("(")
    columns: list[ColumnDef] = []
    while True:
        name = cursor.name("a column name")
        start = cursor.next(f"the type of column {name}")
        depth, end = 0, start
        if _says(start, ",", ")"):
            raise cursor.fail(f"expected the type of column {name}", start)
        while (token := cursor.peek()) is not None:
            if depth == 0 and _says(token, ",", ")"):
                break
            depth += _says(token, "(", "<") - _says(token, ")", ">")
            end = cursor.next("a type")
        columns.append(ColumnDef(name, cursor.script[start.start : end.end + 1]))
        if cursor.accept(")"):
            return tuple(columns)
        if not cursor.accept(","):
            raise cursor.fail("expected ',' or ')' after a column", cursor.peek() or end)


def _body(script: str, tokens: list[Token]) -> exp.Expr:
    """A query's SELECT as a sqlglot expression, windows and GSQL aliases in place."""
    tokens, windows = _take_windows(script, tokens)
    tokens = _take_group_aliases(tokens)
    tokens = [_retyped(t, TokenType.VAR, t.text) if t.token_type is TokenType.WINDOW else t for t in tokens]
    try:
        body = Spark().parser().parse(tokens, script)[0]
    except ParseError as e:
        first = e.errors[0]
        place = _offset(script, first.get("line"), first.get("col"), first.get("highlight"))
        what = str(first.get("description") or "syntax error")
        what = "an argument is missing" if what.startswith("Required keyword") else what
        raise error(script, *place, what) from e
    if not isinstance(body, exp.Query):
        raise error(script, tokens[0].start, tokens[-1].end, "a query is a SELECT or a UNION ALL of SELECTs")
    for table in body.find_all(exp.Table, exp.Subquery):
        _unmark(table, windows)
    body = as_spark_binds(body.transform(_kept))
    for group in body.find_all(exp.Group):
        group.set("expressions", [_realias(e) for e in group.expressions])
    return body


def _kept(node: exp.Expr) -> exp.Expr:
    """Functions that sqlglot would spell differently to Spark, and lose something of, stay as written."""
    if isinstance(node, exp.ToChar):
        return exp.Anonymous(
            this="to_char", expressions=[node.this, *filter(None, [node.args.get("format")])]
        )
    if isinstance(node, exp.UnixDate):
        return exp.Anonymous(this="unix_date", expressions=[node.this])
    return node


def _offset(
    script: str, line: int | None, col: int | None, highlight: str | None
) -> tuple[int | None, int | None]:
    if line is None or col is None:
        return None, None
    start = (
        sum(len(part) for part in script.splitlines(keepends=True)[: line - 1]) + col - len(highlight or " ")
    )
    return max(0, start), max(0, start) + len(highlight or " ") - 1


def _take_windows(script: str, tokens: list[Token]) -> tuple[list[Token], list[BracketWindow]]:
    out: list[Token] = []
    windows: list[BracketWindow] = []
    pending: list[int] = []  # windows written after an aggregate: they belong to the next FROM
    i = 0
    while i < len(tokens):
        token = tokens[i]
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if token.token_type is TokenType.L_BRACKET and _says(following, *_WINDOW_WORDS):
            close = next(
                (k for k in range(i, len(tokens)) if tokens[k].token_type is TokenType.R_BRACKET), None
            )
            if close is None:
                raise error(script, token.start, token.end, "this window is not closed: expected ]")
            windows.append(_window(script, tokens[i + 1 : close]))
            mark = len(windows) - 1
            i = close + 1
            if _after_from(out):
                if out[-1].token_type is TokenType.R_PAREN:
                    if i < len(tokens) and tokens[i].token_type is TokenType.ALIAS:
                        i += 1
                    if i < len(tokens) and tokens[i].token_type is TokenType.VAR:
                        out.append(_marked(tokens[i], mark))
                        i += 1
                    else:
                        out.append(
                            _marked(
                                Token(TokenType.VAR, "", token.line, token.col, token.start, token.end), mark
                            )
                        )
                else:
                    out[-1] = _marked(out[-1], mark)
            else:
                pending.append(mark)
            continue
        out.append(token)
        if pending and len(out) > 1 and out[-2].token_type is TokenType.FROM:
            out[-1] = _marked(token, pending.pop())
        i += 1
    if pending:
        window = windows[pending[0]]
        raise error(script, window.start, window.end, "this window follows no stream or query")
    return out, windows


def _after_from(out: list[Token]) -> bool:
    """Whether the last clause word of the same depth is FROM or JOIN: then a bracket belongs to a table."""
    depth = 0
    for token in reversed(out):
        depth += (token.token_type is TokenType.R_PAREN) - (token.token_type is TokenType.L_PAREN)
        if depth < 0:
            return False
        if depth == 0 and token.token_type in (TokenType.FROM, TokenType.JOIN):
            return True
        if depth == 0 and token.token_type is TokenType.SELECT:
            return False
    return False


def _marked(token: Token, mark: int) -> Token:
    return Token(
        TokenType.IDENTIFIER,
        f"{token.text}{_MARK}{mark}",
        token.line,
        token.col,
        token.start,
        token.end,
        token.comments,
    )


def _unmark(table: exp.Expr, windows: list[BracketWindow]) -> None:
    for identifier in [table.this, table.args.get("alias") and table.args["alias"].this]:
        if isinstance(identifier, exp.Identifier) and _MARK in identifier.name:
            name, mark = identifier.name.split(_MARK)
            table.set("stream_window", windows[int(mark)])
            identifier.set("this", name)
            identifier.set("quoted", False)
            if not name:
                table.set("alias", None)


def _window(script: str, tokens: list[Token]) -> BracketWindow:
    tokens = [t for t in tokens if t.token_type is not TokenType.COMMA]
    cursor = _Cursor(script, tokens)
    stop = set(_WINDOW_WORDS)
    range_: str | None = None
    slide = origin = reset = attribute = None
    align, seen = "start", set()
    while (token := cursor.peek()) is not None:
        word = cursor.next("a window clause").text.upper()
        if word in seen:
            raise cursor.fail(f"{word} is given twice in this window", token)
        seen.add(word)
        if word == "RANGE":
            text = _length(cursor, "a length, like 10 MINUTES")
            range_ = None if text.upper() == "ALL" else text
        elif word == "SLIDE":
            slide = _length(cursor, "a step, like 1 MINUTE")
        elif word == "ORIGIN":
            origin = cursor.until(stop, "a timestamp in quotes, a number or a duration")
        elif word == "RESET":
            reset = _length(cursor, "a length, like 1 DAY")
        elif word == "ALIGN":
            align = cursor.next("START or END").text.lower()
            if align not in ("start", "end"):
                raise cursor.fail("expected ALIGN START or ALIGN END", token)
        elif word in ("WA", "WATTR", "ON"):
            attribute = cursor.until(stop, "the progressing attribute").replace(" . ", ".").split(".")[-1]
        else:
            raise cursor.fail(
                f"{token.text!r} is not a window clause." + suggest(token.text, _WINDOW_WORDS), token
            )
    if "RANGE" not in seen:
        raise cursor.fail("a window needs a RANGE (or RANGE ALL)", tokens[0])
    return BracketWindow(range_, slide, origin, align, reset, attribute, tokens[0].start, tokens[-1].end)


def _length(cursor: _Cursor, what: str) -> str:
    """A length of time; a second word in a row is a window clause nobody knows."""
    start = cursor.i
    text = cursor.until(set(_WINDOW_WORDS), what)
    words = cursor.tokens[start : cursor.i]
    for last, token in pairwise(words):
        if last.text.isalpha() and token.text.isalpha() and last.text.upper() != "INTERVAL":
            raise cursor.fail(
                f"{token.text!r} is not a window clause." + suggest(token.text, _WINDOW_WORDS), token
            )
    return text


def _take_group_aliases(tokens: list[Token]) -> list[Token]:
    """Remove `AS name` inside GROUP BY and leave the name as a marked comment on the token before it."""
    out: list[Token] = []
    depth, group_depth = 0, -1
    i = 0
    while i < len(tokens):
        token = tokens[i]
        kind = token.token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if kind is TokenType.GROUP_BY:
            group_depth = depth
        elif depth < group_depth or kind in (TokenType.HAVING, TokenType.UNION, TokenType.ORDER_BY):
            group_depth = -1
        if kind is TokenType.ALIAS and depth == group_depth and i + 1 < len(tokens):
            last = out[-1]
            mark = [f"{_MARK}{tokens[i + 1].text}"]
            out[-1] = Token(last.token_type, last.text, last.line, last.col, last.start, last.end, mark)
            i += 2
            continue
        out.append(token)
        i += 1
    return out


def _realias(expression: exp.Expr) -> exp.Expr:
    for node in expression.walk():
        for comment in node.comments or []:
            if comment.startswith(_MARK):
                node.comments = None
                return exp.alias_(expression, comment.removeprefix(_MARK))
    return expression
