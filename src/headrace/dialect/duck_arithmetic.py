"""Arithmetic of Spark in DuckDB SQL: integers wrap, decimals keep the digits Spark keeps, a division by zero is NULL.

Operands are SQL texts that have been made the types Spark computes in (`spark_types.arithmetic`).
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.dialect import spark_types as t
from headrace.dialect.duck_cast import duck_type, wrap_integer


def divide_exactly(a: str, b: str, s1: int, s2: int, scale: int, how: str = "/") -> str:
    """a / b in units of 10^-scale, exactly, halves away from zero (`//`: towards zero); NULL if b is 0."""
    up = scale - s1 + s2
    x, y = (
        f"CAST(replace(CAST({v} AS VARCHAR), '.', '') AS HUGEINT)" if s else f"CAST({v} AS HUGEINT)"
        for v, s in ((a, s1), (b, s2))
    )
    power = f"1{'0' * abs(up)}::HUGEINT"
    if how == "//":
        return (
            f"TRY(({x} * {power}) // nullif({y}, 0))" if up >= 0 else f"TRY({x} // nullif({y} * {power}, 0))"
        )
    x, y = f"abs({x})", f"nullif(abs({y}), 0)"
    if up < 0:
        x, y, power = x, f"({y} * {power})", "1"
    whole, rest, last = f"({x} // {y}) * {power}", f"({x} % {y})", power
    if up > 18:  # the digits after the point in two goes, so that remainders stay within 38 digits
        first, last = f"1{'0' * 18}::HUGEINT", f"1{'0' * (up - 18)}::HUGEINT"
        whole += f" + ({rest} * {first} // {y}) * {last}"
        rest = f"({rest} * {first} % {y})"
    quotient = f"{whole} + ({rest} * {last} * 2 + {y}) // (2 * {y})"
    return f"TRY((sign({a}) * sign({b}))::HUGEINT * ({quotient}))"


def scale_to_decimal(integer: str, type_: str) -> str:
    """A decimal from the integer of its digits."""
    scale = t.scale(type_)
    if scale == 0:
        return f"TRY_CAST({integer} AS {duck_type(type_)})"
    unit = f"'0.{'0' * (scale - 1)}1'::DECIMAL({min(38, scale + 1)},{scale})"
    return f"TRY_CAST(TRY(CAST({integer} AS DECIMAL(38,0)) * {unit}) AS {duck_type(type_)})"


def sum_parts(a: str, b: str, result: str, operator: str, summands: str | None) -> tuple[str, str]:
    """a + b (or a - b), and the same open at its end. `summands` is `a` if it is open itself: then a long chain is one
    flat sum that wraps, or is checked for what it can hold, once: DuckDB takes no more than 1000 levels.
    """
    if result in t.INTEGERS:
        parts = f"{summands or f'{a}::HUGEINT'} {operator} {b}"
        return wrap_integer(parts, result), parts
    if not t.is_decimal(result):
        parts = f"{summands or a} {operator} {b}"
        return f"({parts})", parts
    duck = duck_type(result)  # DuckDB widens by no digit what fits 64 bits
    parts = f"{summands or f'TRY_CAST({a} AS {duck})'} {operator} TRY_CAST({b} AS {duck})"
    return f"TRY_CAST(TRY({parts}) AS {duck})", parts


def _multiply(a: str, b: str, left: str, right: str, result: str) -> str:
    if result in t.INTEGERS:
        return wrap_integer(f"{a}::HUGEINT * {b}", result)
    if not t.is_decimal(result):
        return f"({a} * {b})"
    duck = duck_type(result)
    exact = f"TRY_CAST(TRY({_widest(a, left)} * {b}) AS {duck})"
    return f"coalesce({exact}, {_multiply_in_halves(a, b, t.scale(left), t.scale(right), duck)})"


def _multiply_in_halves(a: str, b: str, s1: int, s2: int, duck: str) -> str:
    """a * b where 38 digits do not hold the product: the digits of all 76 as a text, which is rounded as it is read."""
    half = f"1{'0' * 19}::UHUGEINT"
    x, y = (f"CAST(replace(CAST(abs({v}) AS VARCHAR), '.', '') AS UHUGEINT)" for v in (a, b))
    low = f"((hr_x % {half}) * (hr_y % {half}))"
    middle = f"((hr_x // {half}) * (hr_y % {half}) + (hr_x % {half}) * (hr_y // {half}) + {low} // {half})"
    high = f"((hr_x // {half}) * (hr_y // {half}) + {middle} // {half})"
    digits = " || ".join(
        f"lpad(CAST({part} AS VARCHAR), {width}, '0')"
        for part, width in ((high, 39), (f"{middle} % {half}", 19), (f"{low} % {half}", 19))
    )
    text = f"ltrim(left(hr_d, {77 - s1 - s2}), '0') || '.' || right(hr_d, {s1 + s2})" if s1 + s2 else "ltrim(hr_d, '0')"
    number = f"list_transform([{digits}], lambda hr_d: TRY_CAST({text} AS {duck}))[1]"
    product = f"list_transform([{y}], lambda hr_y: {number})[1]"
    unsigned = f"list_transform([{x}], lambda hr_x: {product})[1]"
    return f"TRY(CASE WHEN ({a} < 0) <> ({b} < 0) THEN -{unsigned} ELSE {unsigned} END)"


def _widest(sql: str, type_: str) -> str:
    return f"CAST({sql} AS DECIMAL(38,{t.scale(type_)}))"


def _divide(a: str, b: str, left: str, right: str, result: str) -> str:
    if not t.is_decimal(result):
        return f"({a} / nullif({b}, 0))"
    exact = scale_to_decimal(divide_exactly(a, b, t.scale(left), t.scale(right), t.scale(result)), result)
    # Where 38 digits do not hold the dividend, 15 digits of the quotient have to do.
    return f"coalesce({exact}, TRY_CAST({a}::DOUBLE / nullif({b}::DOUBLE, 0) AS {duck_type(result)}))"


def _modulo(a: str, b: str, left: str, right: str, result: str) -> str:
    if t.is_decimal(result):
        return f"TRY_CAST(TRY({a} % nullif({b}, 0)) AS {duck_type(result)})"
    if result in t.INTEGERS:
        return f"({a}::HUGEINT % nullif({b}, 0))::{duck_type(result)}"
    return f"({a} % nullif({b}, 0))"


OPERATIONS: dict[str, Callable[[str, str, str, str, str], str]] = {"*": _multiply, "/": _divide, "%": _modulo}
