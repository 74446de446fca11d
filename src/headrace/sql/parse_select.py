"""A query's SELECT as a sqlglot expression in Spark's dialect.

What Headrace adds to Spark's SQL is done on the token list, so that every position still points into the user's text:

* bracket windows are taken out and put back on their tables (`parse_window`);
* `GROUP BY time/60 AS tb` loses its alias here and gets it back as an `exp.Alias` (GSQL, document 000
  §3.1);
* `window` is an ordinary function name, not the WINDOW clause.

sqlglot's parser calls itself for every parenthesis, about 25 calls deep each, here and where the text of an expression is
read again; so the depth is bounded here, and what is beyond gets an error instead of a stack overflow.
"""

from __future__ import annotations

import sys

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.sql.error_places import error, point_at
from headrace.sql.parse_window import put_windows, take_windows
from headrace.sql.precedence import as_spark_binds
from headrace.sql.query_parser import QueryParser
from headrace.sql.syntax_hints import syntax_error
from headrace.sql.token_cursor import retyped

MAX_PARENTHESES = 100  # one inside the other
MAX_DEPTH = 500  # of operators and calls, one inside the other; Spark and DuckDB stop not far above
_DEEP, _FRAMES = 15, 8000  # from this many parentheses on, calls of Python that must be possible
_ALIAS_MARK = "\x01a"


def parse_select(script: str, tokens: list[Token]) -> exp.Expr:
    """The SELECT (or UNION ALL of SELECTs) of these tokens, windows and GSQL aliases in place."""
    _check_parentheses(script, tokens)
    _check_lists(script, tokens)
    tokens, windows = take_windows(script, tokens)
    tokens = _take_group_aliases(tokens)
    tokens = [retyped(t, TokenType.VAR, t.text) if t.token_type is TokenType.WINDOW else t for t in tokens]
    try:
        body = QueryParser(dialect=Spark()).parse(tokens, script)[0]
    except ParseError as e:
        raise syntax_error(script, tokens, e) from e
    if not isinstance(body, exp.Query):
        raise error(script, tokens[0].start, tokens[-1].end, "a query is a SELECT or a UNION ALL of SELECTs")
    _drop_double_parentheses(body)
    _check_depth(body)
    for node in (b.this for b in body.find_all(exp.Between) if b.args.get("symmetric")):
        raise point_at(script, node, "BETWEEN SYMMETRIC is not supported: write the lesser bound first, without SYMMETRIC")
    put_windows(body, windows)
    body = as_spark_binds(body.transform(_keep_spelling))
    for group in body.find_all(exp.Group):
        group.set("expressions", [_put_alias(e) for e in group.expressions])
    return body


def _check_parentheses(script: str, tokens: list[Token]) -> None:
    depth = deepest = 0
    for token in tokens:
        depth += token.token_type is TokenType.L_PAREN
        deepest = max(deepest, depth)
        depth -= token.token_type is TokenType.R_PAREN
        if depth > MAX_PARENTHESES:
            raise error(
                script,
                token.start,
                token.end,
                f"more than {MAX_PARENTHESES} parentheses inside each other: write it flatter, "
                "or compute a part of it in a query of its own",
            )
    if (
        deepest > _DEEP
    ):  # Python's own calls take none of the machine's stack, so there is no harm in more of them
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


def _check_lists(script: str, tokens: list[Token]) -> None:
    """sqlglot passes over a comma too many and over a GROUP BY without anything."""
    ends = {TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN, TokenType.WHERE, TokenType.HAVING}
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.COMMA and (after is None or after.token_type in ends):
            raise error(script, token.start, token.end, "expected something after this comma")
        if token.token_type is TokenType.GROUP_BY and (after is None or after.token_type in ends):
            raise error(script, token.start, token.end, "expected something to group by")


def _drop_double_parentheses(body: exp.Expr) -> None:
    for node in list(body.find_all(exp.Paren)):
        if isinstance(node.parent, exp.Paren):
            node.replace(node.this)


def _check_depth(body: exp.Expr) -> None:
    todo: list[tuple[exp.Expr, int]] = [(body, 0)]
    deepest = 0
    while todo:
        node, depth = todo.pop()
        depth = 0 if isinstance(node, exp.Query) else depth + 1
        deepest = max(deepest, depth)
        todo += [(child, depth) for child in node.iter_expressions()]
    if deepest > MAX_DEPTH:
        raise SqlError(
            f"an expression has {deepest:,} operators and calls inside each other, and at most {MAX_DEPTH} can be "
            "computed: compute a part of it in a query of its own"
        )


def _keep_spelling(node: exp.Expr) -> exp.Expr:
    """Functions that sqlglot would spell differently to Spark, and lose something of, stay as written."""
    if isinstance(node, exp.ToChar):
        return exp.Anonymous(
            this="to_char", expressions=[node.this, *filter(None, [node.args.get("format")])]
        )
    if isinstance(node, exp.UnixDate):
        return exp.Anonymous(this="unix_date", expressions=[node.this])
    return node


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
            mark = [f"{_ALIAS_MARK}{tokens[i + 1].text}"]
            out[-1] = Token(last.token_type, last.text, last.line, last.col, last.start, last.end, mark)
            i += 2
            continue
        out.append(token)
        i += 1
    return out


def _put_alias(expression: exp.Expr) -> exp.Expr:
    for node in expression.walk():
        for comment in node.comments or []:
            if comment.startswith(_ALIAS_MARK):
                node.comments = None
                return exp.alias_(
                    expression, exp.to_identifier(comment.removeprefix(_ALIAS_MARK), quoted=True)
                )
    return expression


__all__ = ["parse_select"]
