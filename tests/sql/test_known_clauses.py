"""Whatever sqlglot reads of a query is read here too, or refused: by every kind of node, argument and call that it knows."""

from __future__ import annotations

import logging

import pytest
from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.expressions import Expr
from sqlglot.parsers.spark import SparkParser

from headrace.errors import SqlError
from headrace.sql.known_clauses import KNOWN, WHOLE, find_unknown
from headrace.sql.parse_select import parse_select
from headrace.sql.token_cursor import tokenize

OURS = {"stream_window", "aggregate_window", "within", "version", "is_string", "_type"}  # not among sqlglot's arguments of a node


def every_kind(base: type[Expr] = Expr) -> list[type[Expr]]:
    return [base, *(kind for child in base.__subclasses__() for kind in every_kind(child))]


def test_every_argument_is_known_or_refused() -> None:
    """A new version of sqlglot may bring nodes and arguments; what is not in the list is an error. So it is of calls with words
    of their own between the parentheses, like CAST.
    """
    listed = [k for k in {*every_kind()} if (k in KNOWN or not issubclass(k, exp.Func)) and not issubclass(k, WHOLE)]
    assert len(listed) > 300
    for kind, argument in ((k, a) for k in listed for a in k.arg_types):
        unknown = list(find_unknown(_node(kind, argument)))
        assert bool(unknown) == (argument not in KNOWN.get(kind, ())), f"{kind.__name__}.{argument}"


def test_the_list_names_what_is_there() -> None:
    """An argument that sqlglot no longer has is a slip."""
    for kind, arguments in KNOWN.items():
        assert arguments <= {*kind.arg_types, *OURS}, kind


def _node(kind: type[Expr], argument: str) -> Expr:
    node = kind()
    node.args[argument] = exp.Identifier(this="x")
    return node


@pytest.mark.parametrize("spelled", ["word{}", "'text{}'", "90{}"])
def test_no_argument_of_a_call_is_lost(spelled: str) -> None:
    """Whichever function is called with however many arguments: refused, or all of them are in Spark's text of it."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    names, kept = sorted({*SparkParser.FUNCTIONS, *SparkParser.FUNCTION_PARSERS}), 0
    for name, count in ((n, c) for n in names for c in range(1, 6)):
        arguments = [spelled.format(i) for i in range(count)]
        text = f"SELECT {name}({', '.join(arguments)})"
        try:
            body = parse_select(text, tokenize(text))
        except SqlError:
            continue
        given, kept = body.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE).lower(), kept + 1
        assert not [a for a in arguments if a.strip("'") not in given], f"{text}: {given}"
    assert kept > 500


@pytest.mark.parametrize("call", ["map(k)", "date_trunc()", "j_s_o_n_object(k)"])
def test_a_call_that_cannot_be_read_is_an_error_of_its_text(call: str) -> None:
    """Not one of Python's."""
    with pytest.raises(SqlError, match="arguments|takes pairs"):
        parse_select(text := f"SELECT {call} AS x FROM a", tokenize(text))


REFUSED = {
    "SELECT DISTINCT ON (k) ts FROM a": "ON",
    "SELECT ts FROM a TABLESAMPLE (10 ROWS)": "TABLESAMPLE",
    "SELECT * FROM a PIVOT (sum(v) FOR k IN (1, 2))": "PIVOT",
    "SELECT ts FROM a UNPIVOT (z FOR q IN (k, v))": "UNPIVOT",
    "SELECT ts FROM a UNION ALL BY NAME SELECT ts FROM b": "BY",
    "SELECT ts INTO c FROM a": "INTO",
    "SELECT ts FROM a FOR UPDATE": "FOR",
    "SELECT ts FROM a CONNECT BY v = 1": "CONNECT",
    "SELECT ts FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.ts = b.ts LIMIT 0)": "LIMIT",
    "(SELECT ts FROM a) LIMIT 1": "LIMIT",
    "SELECT ts FROM a CLUSTER BY ts": "CLUSTER",
    "SELECT ts FROM (a JOIN b ON a.k = b.k)": "(",
    "SELECT CAST(k AS INT FORMAT '9') AS k FROM a": "FORMAT",
    "SELECT * ILIKE 'a%' FROM a": "ILIKE",
    "SELECT hex(k, 16) AS h FROM a": "hex",
    "SELECT ts FROM a LATERAL VIEW explode(k) t AS x": "LATERAL",
    "SELECT rank() OVER (ORDER BY k) AS r FROM a": "OVER",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_points_at_the_clause(text: str) -> None:
    """The word where the clause begins is underlined, and the message says more than that word."""
    with pytest.raises(SqlError) as caught:
        parse_select(text, tokenize(text))
    message, shown, marks = str(caught.value).splitlines()
    place = marks.index("^")
    assert shown[place : marks.rindex("^") + 1].strip("'") == REFUSED[text]
    assert len(message) > 20


def test_advice_to_the_optimizer_is_taken() -> None:
    """A hint changes no result."""
    assert parse_select(text := "SELECT /*+ BROADCAST(a) */ ts FROM a", tokenize(text)).args["hint"]
