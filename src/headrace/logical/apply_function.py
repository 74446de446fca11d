"""Progress through a function of the progressing attribute (document 003, chapters 6 to 8: Apply).

A function that never falls where the attribute rises maps what is excluded: of `ts + INTERVAL 1 HOUR` no value before the bound
and an hour will come. Which functions these are is read from the expression: a shift, `date_trunc` to seconds or minutes, `DIV`
and `*` by a positive number, casts that keep the order. For every other there is a reason, which the error shows to who
puts a window on it. Whole days on a TIMESTAMP are no such function: where clocks change, 02:30 and a day may be later than
03:00 and a day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.logical.read_length import EXACT_UNITS, SECOND, read_length
from headrace.progress.monotone_steps import Divide, FloorDivide, MonotoneStep, Multiply, Shift, Truncate
from headrace.progress.waits import Waits, unite_waits

_DAY = 86_400 * SECOND
_INTEGERS = ("tinyint", "smallint", "int", "bigint")  # each holds those before it
_SAME = {"timestamp_ltz": "timestamp", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_TRUNCATED = {**EXACT_UNITS, "millisecond": 1000, "microsecond": 1}
_COUNTED: dict[type[exp.Expr], int] = {exp.UnixSeconds: SECOND, exp.UnixMillis: 1000, exp.UnixMicros: 1}
_MADE = {"timestamp_seconds": SECOND, "timestamp_millis": 1000, "timestamp_micros": 1}


@dataclass(frozen=True)
class ProgressColumn:
    """A column that carries progress: what it waits for, and its type. `applied`: it is a function of such a column."""

    waits: Waits
    type: str
    applied: bool = False

    @property
    def unit(self) -> str:
        return "int" if self.type in _INTEGERS else "us"

    def then(self, step: MonotoneStep, type_: str | None = None) -> ProgressColumn:
        return ProgressColumn(unite_waits([w.then(step) for w in self.waits]), type_ or self.type, True)


Leaf = Callable[[exp.Expr], ProgressColumn | None]


def canonical_type(declared: str) -> str:
    """A type of a progressing attribute as Spark spells it."""
    base = declared.strip().lower()
    return _SAME.get(base, base)


def apply_function(node: exp.Expr, leaf: Leaf) -> ProgressColumn | str | None:
    """The progress an expression carries over what `leaf` knows to; None if it has to do with none of that, and the reason why if
    it does not keep the order.
    """
    if isinstance(node, exp.Paren):
        return apply_function(node.this, leaf)
    if (found := leaf(node)) is not None:
        return found
    if all(leaf(c) is None for c in node.find_all(exp.Column)):
        return None
    text = node.sql(dialect="spark")
    operand, constant = _take_apart(node)
    if operand is None:
        return f"{text} is no function that is known to keep the order of time"
    inner = apply_function(operand, leaf)
    if not isinstance(inner, ProgressColumn):
        return inner
    if inner.type == "date":
        return f"{text}: of a DATE only copies carry progress; declare a TIMESTAMP"
    if isinstance(node, exp.Cast):
        return _cast(inner, node, text)
    if isinstance(node, exp.TimestampTrunc):
        width = _TRUNCATED.get(str(node.args["unit"].name).lower()) if inner.unit == "us" else None
        if width is None:
            return f"{text} depends on the time zone; seconds and minutes do not"
        return inner.then(Truncate(width))
    if type(node) in _COUNTED and inner.type == "timestamp":
        return inner.then(FloorDivide(_COUNTED[type(node)]), "bigint")
    if isinstance(node, exp.Anonymous) and inner.unit == "int":
        return inner.then(Multiply(_MADE[node.name.lower()]), "timestamp")
    if constant is not None:
        return _calculate(inner, node, operand, constant, text)
    return f"{text} is no function that is known to keep the order of time"


def _take_apart(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None]:
    """What a function is of, and the constant beside it."""
    if isinstance(node, exp.Binary):
        sides = [node.this, node.expression]
        constant = [s for s in sides if s.find(exp.Column) is None]
        if len(constant) != 1:
            return None, None
        return next(s for s in sides if s is not constant[0]), constant[0]
    known = isinstance(node, exp.Anonymous) and node.name.lower() in _MADE and len(node.expressions) == 1
    if known:
        return node.expressions[0], None
    one = isinstance(node, (exp.Cast, exp.TimestampTrunc, exp.Neg)) or type(node) in _COUNTED
    return (node.this, exp.Literal.number(0)) if one else (None, None)


def _calculate(
    inner: ProgressColumn, node: exp.Expr, operand: exp.Expr, constant: exp.Expr, text: str
) -> ProgressColumn | str:
    """Arithmetic with a constant."""
    falls = f"{text} falls where {operand.sql(dialect='spark')} rises"
    first = isinstance(node, exp.Binary) and node.this is operand
    if isinstance(node, exp.Neg) or (isinstance(node, (exp.Sub, exp.IntDiv)) and not first):
        return falls
    length = read_length(constant, inner.unit)
    if isinstance(node, (exp.Add, exp.Sub)):
        if length is None or (inner.unit == "us") != (constant.find(exp.Interval) is not None):
            return f"{text}: {constant.sql(dialect='spark')} is no fixed length"
        if inner.type == "timestamp" and abs(length) >= _DAY:
            return f"{text}: whole days depend on the time zone, and where clocks change they do not keep the order"
        return inner.then(Shift(-length if isinstance(node, exp.Sub) else length))
    if inner.unit == "int" and isinstance(node, exp.Div):
        return f"{text} is a DOUBLE, which counts no windows: write DIV"
    if inner.unit != "int" or length is None or not isinstance(node, (exp.Mul, exp.IntDiv)):
        return f"{text} is no function that is known to keep the order of time"
    if length <= 0:
        return falls if length < 0 else f"{text} is always the same"
    return inner.then(Multiply(length)) if isinstance(node, exp.Mul) else inner.then(Divide(length), "bigint")


def _cast(inner: ProgressColumn, node: exp.Cast, text: str) -> ProgressColumn | str:
    target = canonical_type(node.to.sql(dialect="spark"))
    if target == inner.type:
        return replace(inner, applied=True)
    if inner.unit == "int" and target in _INTEGERS:
        if _INTEGERS.index(target) > _INTEGERS.index(inner.type):
            return replace(inner, type=target, applied=True)
        return f"{text}: not every {inner.type.upper()} is {target.upper()}"
    if inner.type == "timestamp" and target == "bigint":
        return inner.then(FloorDivide(SECOND), "bigint")
    if inner.unit == "int" and target == "timestamp":
        return inner.then(Multiply(SECOND), "timestamp")
    return f"{text}: progress is on a TIMESTAMP or an integer, by casts that keep the order in every time zone"
