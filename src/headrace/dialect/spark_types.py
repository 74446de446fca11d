"""Spark's types of scalar expressions: how operands are made alike, and what comes out.

Types are Spark's own names (`bigint`, `decimal(12,3)`, `array<int>`). The rules are those of Spark SQL with
ANSI mode off: numbers widen from tinyint to double, decimals keep every digit up to 38 and then give up
scale before they give up magnitude, a string next to a number in arithmetic is a double, next to it in a
comparison it becomes what it is compared with.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.errors import PlanError, SqlError

INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*INTEGERS, "float", "double")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
MAX = 38


def bits(type_: str) -> int:
    return _BITS[type_]


def decimal_of(type_: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal, or of the decimal that holds every integer of a type."""
    if found := _DECIMAL.fullmatch(type_):
        return int(found[1]), int(found[2])
    return (_DIGITS[type_], 0) if type_ in _DIGITS else None


def scale(type_: str) -> int:
    return (decimal_of(type_) or (MAX, 0))[1]


def is_decimal(type_: str) -> bool:
    return type_.startswith("decimal")


def decimal(precision: int, scale: int) -> str:
    return f"decimal({precision},{scale})"


def adjust_decimal(precision: int, scale: int) -> str:
    """A decimal of at most 38 digits: scale goes first, but not below 6."""
    if precision <= MAX:
        return decimal(precision, scale)
    return decimal(MAX, max(MAX - (precision - scale), min(scale, 6)))


def literal(text: str) -> str:
    """The type of a number as it is written."""
    if "e" in text.lower():
        return "double"
    if "." in text:
        whole, _, fraction = text.partition(".")
        digits = len((whole.lstrip("0") + fraction) if whole.lstrip("0") else fraction.lstrip("0"))
        return decimal(max(digits, len(fraction), 1), len(fraction))
    value = int(text)
    if value < 1 << 31:
        return "int"
    return "bigint" if value < 1 << 63 else decimal(len(str(value)), 0)


def wider(a: str, b: str, strings: bool = True) -> str | None:
    """The type both can be made, as in CASE, coalesce and UNION; a string if all else fails and `strings`."""
    if a == b or b == "void":
        return a
    if a == "void":
        return b
    if a in NUMBERS and b in NUMBERS:
        return max(a, b, key=NUMBERS.index)
    if is_decimal(a) or is_decimal(b):
        if {a, b} & {"float", "double"}:
            return "double"
        left, right = decimal_of(a), decimal_of(b)
        if left is not None and right is not None:
            whole, scale = max(left[0] - left[1], right[0] - right[1]), max(left[1], right[1])
            return decimal(min(MAX, whole + scale), min(scale, MAX - whole))
    if {a, b} == {"date", "timestamp"}:
        return "timestamp"
    atomic = {*NUMBERS, "string", "date", "timestamp"}
    if strings and "string" in (a, b) and all(t in atomic or is_decimal(t) for t in (a, b)):
        return "string"
    return None


def find_comparison_type(a: str, b: str) -> str | None:
    """The type two values are compared as."""
    if "string" in (a, b) and a != b and "void" not in (a, b):
        other = b if a == "string" else a
        return "double" if is_decimal(other) and scale(other) else other
    if "boolean" in (a, b) and any(x in NUMBERS or is_decimal(x) for x in (a, b)):
        return b if a == "boolean" else a
    return wider(a, b)


def arithmetic(operator: str, a: str, b: str) -> tuple[str, str, str] | None:
    """(left, right, result) types of `a operator b` for + - * / %, None if Spark has no such thing."""
    a, b = ("double" if t == "string" else t for t in (a, b))
    if a == "void" and b == "void":
        a = b = "double"
    a, b = (b if a == "void" else a), (a if b == "void" else b)
    if is_decimal(a) or is_decimal(b):
        if {a, b} & {"float", "double"}:
            return "double", "double", "double"
        left, right = decimal_of(a), decimal_of(b)
        if left is None or right is None:
            return None
        return decimal(*left), decimal(*right), _decimal_result(operator, *left, *right)
    if a not in NUMBERS or b not in NUMBERS:
        return None
    common = "double" if operator == "/" else max(a, b, key=NUMBERS.index)
    return common, common, common


def _decimal_result(operator: str, p1: int, s1: int, p2: int, s2: int) -> str:
    if operator in "+-":
        scale = max(s1, s2)
        return adjust_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "*":
        return adjust_decimal(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(6, s1 + p2 + 1)
        return adjust_decimal(p1 - s1 + s2 + scale, scale)
    return adjust_decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


def find_rounded_type(type_: str, digits: int) -> str:
    """The type of round(x, digits)."""
    if not is_decimal(type_):
        return type_
    precision, scale = decimal_of(type_) or (MAX, 0)
    whole = precision - scale + 1
    if digits < 0:
        return decimal(min(MAX, max(whole, -digits + 1)), 0)
    kept = min(scale, digits)
    return decimal(min(MAX, whole + kept), kept)


# -- spelling --------------------
_NAMES = {
    "timestamp_ltz": "timestamp",
    "timestamptz": "timestamp",
    "timestampltz": "timestamp",
    "timestampntz": "timestamp_ntz",
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "decimal": "decimal(10,0)",
    "text": "string",
}


def spell_type(type_: str) -> str:
    """A type as it is declared, spelled as Spark's schemas spell it."""
    try:
        return spelled(exp.DataType.build(type_, dialect="spark"))
    except SqlglotError as e:
        if fields(type_) and "`" not in type_:  # a schema's own text, with a field whose name is no word
            return type_
        raise PlanError(f"{type_} is not a type Spark knows") from e


def spelled(to: exp.Expr) -> str:
    """A parsed type as Spark's schemas spell it; names of fields keep their letters."""
    if not isinstance(to, exp.DataType):
        return to.sql(dialect="spark").lower()
    if to.is_type(exp.DType.STRUCT):
        for field in to.expressions:
            check_field_name(field.name)
        listed = ",".join(f"{f.name}:{spelled(f.args['kind'])}" for f in to.expressions)
        return f"struct<{listed}>"
    if to.is_type(exp.DType.ARRAY, exp.DType.MAP):
        return f"{to.this.value.lower()}<{','.join(map(spelled, to.expressions))}>"
    text = to.sql(dialect="spark").lower().replace(", ", ",")
    if text.startswith(("varchar(", "char(")):
        return "string"
    if text.startswith("decimal(") and "," not in text:
        return text[:-1] + ",0)"
    return _NAMES.get(text, text)


def check_field_name(name: str) -> None:
    """Refuse names that the text of a type cannot hold, since it does not quote them."""
    if name != name.strip() or not name or set(name) & set("<>(),:`\0"):
        raise SqlError(f"a field of a struct cannot be called {name!r}: its name has no < > ( ) , : ` and no space at its ends")


def fields(type_: str) -> list[tuple[str, str]]:
    """Names and types of the fields of a struct type."""
    if not type_.startswith("struct<"):
        return []
    pairs = [part.partition(":") for part in _split(type_[7:-1])]
    return [(name.strip(), inner.strip()) for name, _, inner in pairs]


def map_types(type_: str) -> tuple[str, str]:
    """Types of the keys and values of a map type."""
    key, value = _split(type_[4:-1])
    return key.strip(), value.strip()


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part]
