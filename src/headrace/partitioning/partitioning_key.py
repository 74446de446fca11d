"""A partitioning key: one scalar expression of a partitioning set, known by what it makes equal.

Keys over one column are members of the coarsening lattice (`coarsening.py`) and are written in one canonical way, so
that two spellings of one function are one key: `x >> 4`, `x & -16` and `(x + 1 - 1) & -16` partition alike, and the
hash is taken of the canonical text. Every other expression is *opaque*: it equals itself, and it is known where all
its parts are known (`lower(host)` where `host` is, or `f(x & 240)` where `x & 240` is). Nothing is concluded from
expressions that may give another value the next time.

Floating point is opaque in a second sense (`exact` is false): 0.0 and -0.0 are one group but not one value, so no
function of such a key is known from it. The same holds for strings with a collation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.partitioning.coarsening import (
    BitMask,
    Coarsening,
    Constant,
    DelimitedPrefix,
    FloorDivision,
    Identity,
    Modulus,
    Remainder,
    TextPrefix,
    TimeTruncation,
    TruncatedDivision,
)

WIDTHS = {"tinyint": 8, "byte": 8, "smallint": 16, "short": 16, "int": 32, "integer": 32, "bigint": 64, "long": 64}
_INEXACT = ("float", "real", "double", "array", "struct", "map", "variant")


@dataclass(frozen=True)
class PartitioningKey:
    """Two keys of a stream are equal if their text is: it is canonical."""

    text: str  # Spark SQL over the attributes of a stream
    column: str | None = None  # None: opaque
    coarsening: Coarsening = field(default=Identity())
    width: int = 64
    exact: bool = True

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The attributes it is a function of, in lower case."""
        return _find_columns(self.text)

    @property
    def expression(self) -> exp.Expr:
        """A copy of the expression, to be changed at will."""
        return _parse(self.text).copy()

    def coarsen(self, coarsening: Coarsening) -> PartitioningKey:
        """Another function of the same column."""
        assert self.column is not None
        return make_key(self.column, coarsening, self.width)


@lru_cache(maxsize=65536)
def make_key(column: str, coarsening: Coarsening, width: int = 64, exact: bool = True) -> PartitioningKey:
    text = write_coarsening(exp.column(column, quoted=needs_quotes(column)), coarsening).sql(dialect="spark")
    return PartitioningKey(text, column, coarsening, width, exact)


def make_opaque_key(expression: exp.Expr, types: Mapping[str, str]) -> PartitioningKey:
    return PartitioningKey(write_expression(expression), exact=is_exact(expression, types))


def write_expression(expression: exp.Expr) -> str:
    """The text of an expression: columns without their table, one way of quoting, no brackets around brackets."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            return exp.column(node.name, quoted=needs_quotes(node.name))
        return node

    return drop_brackets(expression.copy().transform(visit)).sql(dialect="spark")


def drop_brackets(expression: exp.Expr) -> exp.Expr:
    """An expression without those brackets that say nothing, as substitution leaves them: of columns, calls and brackets."""

    def visit(node: exp.Expr) -> exp.Expr:
        while isinstance(node, exp.Paren) and _stands_alone(node.this):
            node = node.this
        return node

    return expression.transform(visit)


def _stands_alone(node: exp.Expr) -> bool:
    call = isinstance(node, (exp.Func, exp.Anonymous)) and not isinstance(node, (exp.Binary, exp.Connector))
    return call or isinstance(node, (exp.Paren, exp.Column, exp.Literal))


def write_coarsening(value: exp.Expr, coarsening: Coarsening) -> exp.Expr:
    """A coarsening of a value, in Spark's words."""
    match coarsening:
        case Identity():
            return value
        case Constant():
            return exp.Literal.number(0)
        case TruncatedDivision(n):
            return exp.IntDiv(this=value, expression=_number(n))
        case FloorDivision(n):
            return exp.Floor(this=exp.Div(this=value, expression=_number(n), typed=False, safe=True))
        case BitMask(mask):
            return exp.BitwiseAnd(this=value, expression=_number(mask))
        case Remainder(n):
            return exp.Mod(this=value, expression=_number(n))
        case Modulus(n):
            return exp.Anonymous(this="pmod", expressions=[value, _number(n)])
        case TextPrefix(n):
            return exp.Substring(this=value, start=_number(1), length=_number(n))
        case DelimitedPrefix(delimiter, n):
            return exp.SubstringIndex(this=value, delimiter=exp.Literal.string(delimiter), count=_number(n))
        case TimeTruncation(unit):
            return exp.TimestampTrunc(this=value, unit=exp.Var(this=unit))


def is_exact(expression: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether equal means the same: no floating point and no collation is in sight."""
    folded = {c.lower(): t for c, t in types.items()}
    for node in expression.walk():
        if isinstance(node, exp.Column) and not is_exact_type(folded.get(node.name.lower(), "string")):
            return False
        if isinstance(node, exp.Literal) and not node.is_string and not str(node.this).isdigit():
            return False
        if isinstance(node, exp.DataType) and not is_exact_type(node.sql(dialect="spark")):
            return False
        if isinstance(node, (exp.Div, exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Pow, exp.Collate)):
            return False
    return True


def is_exact_type(type_: str) -> bool:
    words = type_.strip().lower()
    return not words.startswith(_INEXACT) and "collate" not in words


def width_of(type_: str) -> int | None:
    """The bits of an integer type."""
    return WIDTHS.get(type_.strip().lower())


@lru_cache(maxsize=4096)
def _parse(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="spark")


@lru_cache(maxsize=65536)
def _find_columns(text: str) -> frozenset[str]:
    return frozenset(c.name.lower() for c in _parse(text).find_all(exp.Column))


def _number(value: int) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


@lru_cache(maxsize=4096)
def needs_quotes(name: str) -> bool:
    """Whether a column's name is read as something else without quotes."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is None:
        return True
    try:
        parsed = sqlglot.parse_one(f"{name} & {name}", dialect="spark")
    except SqlglotError:
        return True
    return not (isinstance(parsed, exp.BitwiseAnd) and parsed.this == parsed.expression == exp.column(name))
