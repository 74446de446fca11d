"""Tokens of a script, and a place among them.

The tokens are sqlglot's for Spark, with three things it reads otherwise: 0xFF is a number, '' inside a text is a quote, and
PARTITIONED BY are two words.
Every token keeps its place in the user's text, so that an error can point at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import error

QUOTED = {TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.IDENTIFIER}


def says(token: Token | None, *words: str) -> bool:
    """Whether a token is one of these words or signs, and not a text or a quoted name that reads like it."""
    return token is not None and token.token_type not in QUOTED and token.text.upper() in words


def tokenize(script: str) -> list[Token]:
    """The tokens of a script."""
    try:
        found = Spark().tokenize(script)
    except TokenError as e:
        raise _unclosed(script, e) from e
    out: list[Token] = []
    for token in found:
        text = token.text
        if token.token_type is TokenType.HEX_STRING and script[token.start] == "0":
            out.append(retyped(token, TokenType.NUMBER, str(int(text, 16))))
        elif (
            token.token_type is TokenType.STRING
            and out
            and out[-1].token_type is TokenType.STRING
            and out[-1].end + 1 == token.start
            and script[token.start] == script[out[-1].end]
        ):
            last = out.pop()
            joined = f"{last.text}{script[token.start]}{text}"
            out.append(Token(TokenType.STRING, joined, last.line, last.col, last.start, token.end))
        elif token.token_type is TokenType.PARTITION_BY and text[:11].upper() == "PARTITIONED":
            out.append(Token(TokenType.VAR, text[:11], token.line, token.col, token.start, token.start + 10))
            out.append(Token(TokenType.VAR, text[-2:], token.line, token.col, token.end - 1, token.end))
        else:
            out.append(token)
    return out


def _unclosed(script: str, e: TokenError) -> SqlError:
    """A text or comment that never ends; the tokenizer says where it starts."""
    place = re.search(r"Missing (.+) from (\d+):(\d+)", str(e.__cause__))
    if place is None:
        return SqlError("the text cannot be read; is there a comment that is not closed?")
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", script)
    start = sum(len(part) for part in lines[: int(place[2]) - 1]) + int(place[3])
    start = max(0, script.rfind(place[1], 0, start + 1))
    return error(script, start, start, f"this is not closed: expected {place[1]}")


def retyped(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def split_statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens between semicolons, where there are any."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


class TokenCursor:
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
            if not says(self.peek(k), word):
                return False
        self.i += len(words)
        return True

    def expect(self, word: str) -> Token:
        token = self.next(word)
        if not says(token, word):
            raise self.fail(f"expected {word}, found {token.text!r}", token)
        return token

    def name(self, what: str) -> str:
        """A name: a word, or anything in backticks."""
        token = self.next(what)
        word = token.text[:1].isalpha() or token.text[:1] == "_"
        if token.token_type is not TokenType.IDENTIFIER and (token.token_type in QUOTED or not word):
            raise self.fail(f"expected {what}, found {token.text!r}", token)
        return token.text

    def string(self, what: str) -> str:
        token = self.next(what)
        if token.token_type is not TokenType.STRING:
            raise self.fail(f"expected {what} in quotes, found {token.text!r}", token)
        return token.text

    def bracket(self, closing: str) -> tuple[Token, list[Token]]:
        """An opening bracket, and what stands between it and the one that closes it."""
        opening, depth = self.expect("("), 1
        inside: list[Token] = []
        while depth:
            token = self.next(closing)
            depth += 1 if says(token, "(") else -1 if says(token, ")") else 0
            inside.append(token)
        return opening, inside[:-1]

    def until(self, stop: Iterable[str], what: str) -> str:
        """The words up to one of `stop`, as text (depth 0)."""
        first = self.peek()
        words: list[str] = []
        while (token := self.peek()) is not None and not says(token, *stop):
            words.append(token.text)
            self.i += 1
        if not words:
            raise self.fail(f"expected {what}", first or self.tokens[-1])
        return " ".join(words).replace("- ", "-")

    def fail(self, message: str, token: Token) -> SqlError:
        return error(self.script, token.start, token.end, message)
