"""Which functions a text calls, and with how many arguments: what Spark would refuse is refused here, with its place.

The parser folds spellings together and drops arguments that it does not know, so names and numbers of arguments are taken
from the words of the text. A text may call functions that are known to compute from their arguments alone; one that reaches
the machine, its files or the session, one that nobody has read yet, and one that Spark's table does not have are open where the
run allows them by name, and functions that a program registered with its own session are open to its texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache, partial
from itertools import pairwise

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenType

from headrace.errors import SqlError
from headrace.logical.functions import NAMES, aggregate_call, nearest_aggregate
from headrace.logical.spark_functions import REACHES, SparkFunction, read_functions
from headrace.sql.error_places import error, point_at
from headrace.sql.token_cursor import says, tokenize

_OPERATORS = {"and", "or", "not", "in", "like", "ilike", "rlike", "regexp", "between", "case", "when", "div"}
_GRAMMAR = {  # calls of Spark's grammar, beside or beyond its registry: with a unit first, like date_add(DAY, 1, ts)
    **dict.fromkeys(("date_add", "dateadd", "date_diff", "datediff"), (2, 3)),
    **dict.fromkeys(("timestampadd", "timestampdiff", "timediff"), (3, 3)),
    **dict.fromkeys(("cast", "try_cast", "extract"), (1, None)),  # their arguments are words
}
_PAIRS = {"named_struct", "map"}
_FIELDS = {"struct", "named_struct"}  # Spark has a struct of no fields, which no file and no other engine has
_INSIDE = ("FROM", "PLACING", "IN")  # between the arguments of substring, trim, overlay, position
_CLOSE = 0.7
_OF_AGGREGATES: dict[type[exp.Expr], str] = {  # words around the call of an aggregate
    exp.Filter: "FILTER",
    exp.WithinGroup: "WITHIN GROUP",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
}
_MANY_ROWS = (
    "makes many rows of one, and a query here makes at most one; take arrays apart in what writes the source, or in the frame "
    "that Session.stream is given"
)
_BEFORE_NAMES = {TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.FROM, TokenType.JOIN}
_Fail = Callable[[str], SqlError]


@dataclass(frozen=True)
class WrittenCall:
    """A name before a parenthesis. `count`: of arguments; None, where words and not commas stand between them."""

    name: str
    start: int
    end: int
    count: int | None


@dataclass(frozen=True)
class OpenFunctions:
    """What texts may call beyond the functions that are known to be safe: what the run allows, and what its program brings."""

    allowed: frozenset[str] = frozenset()
    is_registered: Callable[[str], bool] = lambda name: False

    @staticmethod
    def of(names: Iterable[str], is_registered: Callable[[str], bool] = lambda name: False) -> OpenFunctions:
        return OpenFunctions(frozenset(n.strip().lower() for n in names if n.strip()), is_registered)


SAFE_ONLY = OpenFunctions()


def check_functions(nodes: Iterable[exp.Expr], script: str, user_defined: Collection[str], opened: OpenFunctions) -> None:
    """Refuse calls in these expressions of the script that Spark would refuse, and those that are not open to texts."""
    users = {u.lower() for u in user_defined}
    listed = list(nodes)
    for one in listed:
        _check_words_of_aggregates(one, script, users)
    for node in (call for one in listed for call in one.find_all(exp.Func) if call.find_ancestor(exp.Hint) is None):
        written = _find_written(script).get(node.meta.get("start", -1))
        name = written.name if written else node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if not name:  # no parentheses, like CURRENT_USER, or the parser's own
            name = next((n for n in map(str.lower, type(node).sql_names()) if n in read_functions()), "")
            if not name or not _find_reach(read_functions()[name], 0):
                continue
        if name in _OPERATORS:
            continue

        def fail(message: str, at: WrittenCall | None = written, node: exp.Expr = node) -> SqlError:
            return error(script, at.start, at.end, message) if at else point_at(script, node, message)

        if isinstance(node.parent, exp.Dot) and node.parent.expression is node:
            qualified = node.parent.sql(dialect="spark").partition("(")[0].replace("`", "").lower()
            if qualified not in opened.allowed:
                raise fail(f"{qualified}: a function is called by its name alone")
        elif name not in users and name not in opened.allowed:
            _check_call(node, name, written, opened, users, fail)


def check_counts(script: str, tokens: list[Token], parsed: bool = False) -> None:
    """Refuse calls with a wrong number of arguments: in a text that was not `parsed`, since that is the likely cause; else those
    that the parser has rules of its own for, since it keeps no place of these.
    """
    names = {after.start for token, after in pairwise(tokens) if token.token_type in _BEFORE_NAMES}  # with columns, like AS b(x)
    for call in _list_calls(tokens):
        if parsed and call.name.upper() not in Spark.Parser.FUNCTION_PARSERS:
            continue
        if call.start not in names and (why := _wrong_count(call)) is not None:
            raise error(script, call.start, call.end, why)


def _check_words_of_aggregates(body: exp.Expr, script: str, users: Collection[str]) -> None:
    """Refuse DISTINCT in a call, FILTER, IGNORE NULLS and WITHIN GROUP where what is called is no aggregate."""
    around = tuple(_OF_AGGREGATES)
    for node in body.find_all(*around, exp.Distinct):
        words = _OF_AGGREGATES.get(type(node), "DISTINCT")
        call = whole = node.parent if isinstance(node, exp.Distinct) and node.parent is not None else node
        while isinstance(call, around):
            call = call.this
        if isinstance(call, exp.Func) and aggregate_call(whole, users, partial(point_at, script)) is None:
            name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
            if name not in NAMES and not isinstance(call, exp.AggFunc):
                raise point_at(script, call, f"{words} is for aggregates, and {name} is none; leave it out")


def _check_call(
    node: exp.Expr,
    name: str,
    written: WrittenCall | None,
    opened: OpenFunctions,
    users: Collection[str],
    fail: _Fail,
) -> None:
    function = read_functions().get(name)
    if function is None:
        if name in _GRAMMAR or name in NAMES or opened.is_registered(name):
            if written is not None and (why := _wrong_count(written)) is not None:
                raise fail(why)
            return
        raise fail(f"there is no function {name!r}." + _suggest(name, users))
    if reach := _find_reach(function, written.count if written else 0):
        raise fail(
            f"{name} is not open to the text of a query: {REACHES[reach]}. If you trust the texts of this run, name it: "
            f"headrace run --allow-functions {name}, or Session(allow_functions=[{name!r}])"
        )
    if function.kind == "table":
        raise fail(f"{name} gives rows, not a value; FROM takes streams, queries and sub-selects")
    if function.kind == "generator":
        raise fail(f"{name} {_MANY_ROWS}")
    if function.kind == "window" and aggregate_call(node) is None:
        raise fail(f"{name} is for OVER (…), which is not supported: group by a window instead")
    if function.kind == "aggregate" and name not in NAMES and aggregate_call(node) is None:
        raise fail(f"the aggregate {name} is not supported. There is: {', '.join(NAMES)}.")
    if written is not None and (why := _wrong_count(written)) is not None:
        raise fail(why)


def _find_reach(function: SparkFunction, count: int | None) -> str:
    """What a call reaches; some functions reach files only by an argument more, their options."""
    reach, _, least = function.reaches.partition(":")
    return reach if reach and (count is None or count >= int(least or 0)) else ""


def _wrong_count(call: WrittenCall) -> str | None:
    """What to say of a call that has more or fewer arguments than its function takes."""
    function = read_functions().get(call.name)
    if call.count is None or call.name in _OPERATORS:
        return None
    if call.name in _GRAMMAR:
        function = SparkFunction(call.name, "scalar", *_GRAMMAR[call.name])
    if call.name in _FIELDS and call.count == 0:
        return f"{call.name} makes a struct of no fields; give it one"
    if function is None or (function.takes_count(call.count) and not (call.name in _PAIRS and call.count % 2)):
        return None
    takes = "pairs of a name and a value" if call.name in _PAIRS else function.counts
    return f"{call.name} takes {takes}, not {call.count}"


def _suggest(name: str, users: Collection[str]) -> str:
    near = nearest_aggregate(name, users) or next(
        iter(get_close_matches(name, [*read_functions(), *_GRAMMAR, *users], n=1, cutoff=_CLOSE)), None
    )
    if near is not None:
        return f" Did you mean {near!r}?"
    return (
        " There are Spark's, aggregates registered with Session.aggregate, and those registered with the session's Spark; one "
        "that an extension of Spark brings is named with --allow-functions"
    )


@lru_cache(maxsize=4)
def _find_written(script: str) -> dict[int, WrittenCall]:
    """The calls of a script, by the place of their names."""
    return {call.start: call for call in _list_calls(tokenize(script))}


def _list_calls(tokens: list[Token]) -> Iterator[WrittenCall]:
    for i, token in enumerate(tokens[:-1]):
        if tokens[i + 1].token_type is not TokenType.L_PAREN or not token.text[:1].isidentifier():
            continue
        count = _count_arguments(tokens, i + 1)
        starred = i and tokens[i - 1].token_type is TokenType.STAR  # SELECT * REPLACE (…)
        yield WrittenCall(token.text.lower(), token.start, token.end, None if starred else count)


def _count_arguments(tokens: list[Token], at: int) -> int | None:
    depth, commas = 0, 0
    for i in range(at, len(tokens)):
        token = tokens[i]
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            depth += 1
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
            depth -= 1
            if depth == 0:
                within = i + 1 < len(tokens) and says(tokens[i + 1], "WITHIN")
                return None if within else commas + 1 if i > at + 1 else 0
        elif depth == 1 and (says(token, *_INSIDE) or (i == at + 1 and says(token, "SELECT", "WITH", "WHERE"))):
            return None
        commas += depth == 1 and token.token_type is TokenType.COMMA
    return None


__all__ = ["SAFE_ONLY", "OpenFunctions", "WrittenCall", "check_counts", "check_functions"]
