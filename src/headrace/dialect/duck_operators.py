"""Operators on numbers, times and bits: operands are made the types Spark computes in, results what Spark makes of them."""

from __future__ import annotations

import re

from sqlglot import exp

from headrace.dialect import spark_types as t
from headrace.dialect.duck_arithmetic import OPERATIONS, divide_exactly, sum_parts
from headrace.dialect.duck_cast import cast, duck_type, wrap_integer
from headrace.dialect.duck_expression import Translator, Typed, refuse_expression, refuse_types
from headrace.errors import SqlError

OPERATORS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_NUMBER = re.compile(r"\s*[+-]?\d+(\.\d+)?\s*")
BITWISE: dict[type, str] = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "xor"}


def binary(translate: Translator, node: exp.Expr) -> Typed:
    operator = OPERATORS[type(node)]
    a, b = translate(node.this), translate(node.expression)
    if operator in "+-" and (moved := _moved(node, operator, a, b)) is not None:
        return moved
    left, right = (
        _literal_decimal(n, v.type, o.type) for n, v, o in ((node.this, a, b), (node.expression, b, a))
    )
    found = t.arithmetic(operator, left, right)
    if found is None:
        raise refuse_types(node, [a.type, b.type])
    x, y = cast(a.sql, a.type, found[0]), cast(b.sql, b.type, found[1])
    if operator not in "+-":
        return Typed(OPERATIONS[operator](x, y, *found), found[2])
    kind, opened = translate.chains.get(a.sql, ("", ""))
    sql, parts = sum_parts(x, y, found[2], operator, opened if kind == found[2] else None)
    translate.chains[sql] = found[2], parts
    return Typed(sql, found[2])


def _moved(node: exp.Expr, operator: str, a: Typed, b: Typed) -> Typed | None:
    """Dates and times plus days or intervals."""
    if a.type == "date" and b.type in ("tinyint", "smallint", "int"):
        return Typed(f"TRY({a.sql} {operator} {b.sql})", "date")
    if a.type == "interval" and operator == "+":
        a, b = b, a
    if b.type != "interval" or a.type not in ("date", "timestamp"):
        return None
    if a.type == "timestamp":
        return Typed(f"TRY({a.sql} {operator} {b.sql})", "timestamp")
    whole = any(w in b.sql for w in ("DAY", "MONTH", "YEAR", "WEEK"))
    if whole and not any(w in b.sql for w in ("HOUR", "MINUTE", "SECOND")):
        return Typed(f"TRY_CAST(TRY({a.sql} {operator} {b.sql}) AS DATE)", "date")
    raise refuse_expression(node)


def interval(translate: Translator, node: exp.Expr) -> Typed:
    if not isinstance(node.this, exp.Literal) or not isinstance(node.args.get("unit"), exp.Var):
        raise refuse_expression(node)
    if not _NUMBER.fullmatch(node.this.name):
        raise SqlError(f"{node.sql(dialect='spark')}: behind INTERVAL stands a number, got {node.this.name!r}")
    return Typed(node.sql(dialect="duckdb").upper(), "interval")


def to_number(value: Typed, node: exp.Expr) -> Typed:
    """What a sign stands before: a text or nothing counts as a DOUBLE."""
    if value.type in ("string", "void"):
        return Typed(cast(value.sql, value.type, "double"), "double")
    if value.type not in t.NUMBERS and not t.is_decimal(value.type):
        raise refuse_types(node, [value.type])
    return value


def negative(translate: Translator, node: exp.Expr) -> Typed:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        type_ = t.literal(str(node.this.this))
        type_ = (
            "bigint" if node.this.this == str(1 << 63) else "int" if node.this.this == str(1 << 31) else type_
        )
        return Typed(f"(-{node.this.this})::{duck_type(type_)}", type_)
    value = to_number(translate(node.this), node)
    return Typed(
        wrap_integer(f"-({value.sql}::HUGEINT)", value.type) if value.type in t.INTEGERS else f"(-{value.sql})",
        value.type,
    )


def int_div(translate: Translator, node: exp.Expr) -> Typed:
    a, b = translate(node.this), translate(node.expression)
    if t.decimal_of(a.type) is None or t.decimal_of(b.type) is None:
        raise refuse_types(node, [a.type, b.type])
    if t.is_decimal(a.type) or t.is_decimal(b.type):
        exact = divide_exactly(a.sql, b.sql, t.scale(a.type), t.scale(b.type), 0, "//")
        return Typed(wrap_integer(exact, "bigint"), "bigint")
    return Typed(wrap_integer(f"{a.sql}::HUGEINT // nullif({b.sql}, 0)", "bigint"), "bigint")


def bitwise(translate: Translator, node: exp.Expr) -> Typed:
    a, b = translate(node.this), translate(node.expression)
    common = t.wider(a.type, b.type)
    if common not in t.INTEGERS:
        raise refuse_types(node, [a.type, b.type])
    x, y = cast(a.sql, a.type, common), cast(b.sql, b.type, common)
    return Typed(
        f"xor({x}, {y})" if isinstance(node, exp.BitwiseXor) else f"({x} {BITWISE[type(node)]} {y})",
        common,
    )


def bitwise_not(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type not in t.INTEGERS:
        raise refuse_types(node, [value.type])
    return Typed(f"(~{value.sql})", value.type)


def shift(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    type_ = value.type if value.type == "bigint" else "int"
    by = f"({translate.as_(node.expression, 'int')} & {t.bits(type_) - 1})"
    x = cast(value.sql, value.type, type_)
    if isinstance(node, exp.BitwiseLeftShift):
        return Typed(wrap_integer(f"{x}::HUGEINT * (1::HUGEINT << {by})", type_), type_)
    return Typed(f"({x} >> {by})", type_)


def _literal_decimal(node: exp.Expr, type_: str, other: str) -> str:
    """A whole number written next to a decimal counts with the digits it has."""
    inner = node.this if isinstance(node, exp.Neg) else node
    if t.is_decimal(other) and type_ in t.INTEGERS and isinstance(inner, exp.Literal):
        return t.decimal(len(str(inner.this).lstrip("0")) or 1, 0)
    return type_
