"""sqlglot's parser for Spark, with a check that it loses nothing of a call.

sqlglot knows most functions by a class of its own, and passes over arguments for which the class, or Spark's spelling of it,
has no place: of `hex(a, b)` Spark would be given `hex(a)`. So the names and values between the parentheses of a call, as they
stand in the text, are compared with those of the SQL that is made of the tree. What is missing there is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.check_functions import check_counts
from headrace.sql.error_places import error

_PLAIN = ("PERCENTILE", "MAX_BY", "MIN_BY", "TO_CHAR", "UNIX_DATE", "COLLATE")  # of these sqlglot would lose something
_NOT_ALIKE = ("ARRAY_SIZE",)  # of NULL it is NULL; size, which sqlglot makes of it, is -1
_UNITS = {"TRUNC": 1, "DATE_TRUNC": 0}  # where the unit stands
_DEFAULTS = ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd")  # formats that are left out where they are Spark's own
_TRIM = ("BOTH", "LEADING", "TRAILING")
_SLIPS = (TypeError, AttributeError, IndexError, KeyError, ValueError)
_LEAVES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING)


def _keep_unit(name: str, build: Callable[..., Any]) -> Callable[..., Any]:
    """A unit that is a column stays one; sqlglot would take the column's name for the unit."""

    def keep(arguments: list[exp.Expr]) -> Any:
        place = _UNITS[name]
        if len(arguments) > place and isinstance(arguments[place], exp.Column):
            return exp.Anonymous(this=name.lower(), expressions=arguments)
        return build(arguments)

    return keep


class QueryParser(SparkParser):
    """Spark's parser, which leaves functions alone that it would take for others, with positions that point into `script`."""

    FUNCTIONS: ClassVar = {
        **{name: build for name, build in SparkParser.FUNCTIONS.items() if name not in (*_PLAIN, *_NOT_ALIKE)},
        **{name: _keep_unit(name, SparkParser.FUNCTIONS[name]) for name in _UNITS},
    }
    FUNCTION_PARSERS: ClassVar = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name not in _PLAIN
    }

    def __init__(self, script: str) -> None:
        super().__init__(dialect=Spark())
        self._script, self._inside = script, False

    def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
        first, outermost = self._index, not self._inside
        opened = self._next is not None and self._next.token_type is TokenType.L_PAREN
        if not opened or not outermost:
            found: exp.Expr | None = super()._parse_function_call(*args, **options)
            return found
        self._inside = True
        try:
            found = super()._parse_function_call(*args, **options)
            if found is not None and found.find(exp.Query) is None:
                self._check_call(found, _take_parentheses(self._tokens[first : self._index]))
        except _SLIPS as e:  # of sqlglot, over arguments that it does not expect
            name = self._tokens[first]
            check_counts(self._script, _take_parentheses(self._tokens[first:]))
            raise error(self._script, name.start, name.end, f"{name.text.lower()} takes other arguments than these") from e
        finally:
            self._inside = False
        return found

    def _check_call(self, call: exp.Expr, tokens: list[Token]) -> None:
        """Refuse a call of which something is not in its SQL."""
        text = call.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE)
        there = Counter(_spell(t) for t in _leaves(Spark().tokenize(text)))
        joined = _letters(text)
        has_group = call.find(exp.RegexpExtract, exp.RegexpExtractAll) is not None  # whose default, 1, is left out
        for token in _leaves(tokens):
            word = _spell(token)
            if token.text in _DEFAULTS or token.text.upper() in _TRIM:
                continue
            if token.text == "1" and has_group:
                continue
            if there[word] > 0:
                there[word] -= 1
            elif word not in there and _letters(token.text) not in joined:
                check_counts(self._script, tokens)
                raise _refuse_argument(self._script, token, tokens[0])


def _take_parentheses(tokens: list[Token]) -> list[Token]:
    """A call up to its closing parenthesis, without what follows it, like FILTER."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if i and not depth:
            return tokens[: i + 1]
    return tokens


def _leaves(tokens: Iterable[Token]) -> list[Token]:
    """Names and values, without names of functions."""
    listed = list(tokens)
    pairs = zip(listed, [*listed[1:], None], strict=True)
    return [
        t for t, after in pairs if t.token_type in _LEAVES and (after is None or after.token_type is not TokenType.L_PAREN)
    ]


def _spell(token: Token) -> str:
    return token.text.lower()


def _letters(text: str) -> str:
    """Letters and digits alone, so that units, paths and formats may be spelled in another way."""
    return "".join(c for c in text.lower() if c.isalnum())


def _refuse_argument(script: str, token: Token, name: Token) -> SqlError:
    return error(
        script, token.start, token.end, f"{name.text.lower()} has no such argument: {token.text!r} would be ignored; leave it out"
    )


__all__ = ["QueryParser"]
