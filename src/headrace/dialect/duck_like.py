"""LIKE and ILIKE with the patterns and escapes of Spark: what Spark refuses in a pattern is refused when it is registered."""

from __future__ import annotations

import re

from sqlglot import exp

from headrace.dialect.duck_expression import Translator, Typed, spark_sql
from headrace.dialect.sql_quotes import quote_text
from headrace.errors import SqlError


def like(translate: Translator, node: exp.Expr) -> Typed:
    escape = "\\"
    if isinstance(node, exp.Escape):
        escape, node = _read_escape(node), node.this
    word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
    if node.args.get("negate"):
        word = f"NOT {word}"
    known = isinstance(node.expression, (exp.Literal, exp.RawString))
    if known:
        _check_pattern(node, escape)
    text, pattern = translate.as_(node.this, "string"), translate.as_(node.expression, "string")
    found = f"({text} {word} {pattern} ESCAPE {quote_text(escape)})"
    return Typed(found if known else f"TRY({found})", "boolean")  # a pattern of a row may be none


def _read_escape(node: exp.Escape) -> str:
    """The letter behind ESCAPE; DuckDB takes one byte."""
    found = node.expression
    if not (isinstance(found, exp.Literal) and found.is_string and len(found.name) == 1 and found.name.isascii()):
        raise SqlError(f"{spark_sql(node)}: behind ESCAPE stands one letter of ASCII, like '!', got {spark_sql(found)}")
    return str(found.name)


def _check_pattern(node: exp.Expr, escape: str) -> None:
    """Refuse the patterns that Spark refuses: behind the escape stands what it is there for."""
    for letter, after in re.findall(f"({re.escape(escape)})(.?)", str(node.expression.this), re.DOTALL):
        if after not in ("%", "_", letter):
            expected = f"in the pattern {letter!r} stands before %, _ or itself"
            raise SqlError(f"{spark_sql(node)}: {expected}, here before {after or 'nothing'!r}")
