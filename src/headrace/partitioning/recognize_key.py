"""Spark expressions to partitioning keys.

What is recognised is what can be proved from the column's declared type: integer division, masks, shifts and
remainders of integers by literals, prefixes of strings, truncations of timestamps and dates, and, around any of
these, what loses nothing (`x + 7`, `-x`, `~x`, casts to wider integers or to text). `x / 60` is no division of
integers in Spark but of doubles; `floor(x / 60)` and `CAST(x / 60 AS INT)` are recognised where doubles are exact,
for integers of at most 32 bits. The rest is opaque.

An expression that tells apart what a key does may have other values: x >> 8 has not those of x & -256. How the key is
computed of it is its *undo*: (v << 8). So whoever has x >> 8 finds rows that were hashed by x & -256, or by anything coarser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from headrace.partitioning.coarsening import (
    UNITS,
    BitMask,
    Coarsening,
    Constant,
    DelimitedPrefix,
    FloorDivision,
    Identity,
    Remainder,
    TextPrefix,
    TimeTruncation,
    TruncatedDivision,
    make_floor_division,
    make_mask,
    make_modulus,
    make_remainder,
    make_text_prefix,
    make_truncated_division,
    make_truncation,
    meet,
)
from headrace.partitioning.partitioning_key import (
    PartitioningKey,
    is_exact_type,
    make_key,
    make_opaque_key,
    width_of,
)

_NAMES = {"YYYY": "YEAR", "YY": "YEAR", "MM": "MONTH", "MON": "MONTH", "DD": "DAY"}
_EXACT_DOUBLE = 32
_NAMES_OF_WIDTHS = {0: "STRING", 8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_DEEPEST = 60  # operators, one inside the other


@dataclass(frozen=True)
class _Reading:
    """A value known to be a coarsening of a column. `shift` is how far a masked value has been shifted to the right;
    None: its kernel is known, but not its value. The value may have more bits than the column: a mask may ask for the sign
    beyond these, and then x & 0xFFFFFFFF is not x, which its kernel does not tell.
    """

    column: str
    type: str  # of the column
    coarsening: Coarsening
    shift: int | None = 0
    value_width: int = 0  # bits of the value, if it is an integer
    mask: int = -1  # as written
    undo: str | None = "_v"  # the coarsening of the column, computed of the value; None: nobody knows how

    @property
    def width(self) -> int:
        return width_of(self.type) or 0

    @property
    def is_value(self) -> bool:
        """Whether the coarsening of the column is the value."""
        return self.shift == 0 and (not self.width or -1 << self.width - 1 <= self.mask < 1 << self.width - 1)

    def become(
        self,
        coarsening: Coarsening,
        shift: int | None = 0,
        value_width: int | None = None,
        mask: int = -1,
        undo: str | None = "_v",
    ) -> _Reading:
        value_width = self.value_width if value_width is None else value_width
        return replace(self, coarsening=coarsening, shift=shift, value_width=value_width, mask=mask, undo=undo)

    def before(self, step: str) -> str | None:
        """How the coarsening is computed after a step that `step` takes back."""
        return None if self.undo is None else self.undo.replace("_v", f"({step})")


def recognize_key(expression: exp.Expr, types: Mapping[str, str], as_value: bool = False) -> PartitioningKey | None:
    """The key an expression over attributes of these types is; None for a constant, and for what is not the same twice.

    `as_value`: the key must have the expression's values, not only tell apart what it tells apart. So it is where rows
    of two streams are to meet: `x` and `-x` partition one stream alike, but 3 does not meet -3.
    """
    if is_volatile(expression) or expression.find(exp.Column) is None:
        return None
    columns = {c.lower(): (c, t) for c, t in types.items()}
    reading = None if is_deep(expression) else _read(expression, columns)
    if reading is None or (as_value and not _keeps_value(reading, expression)):
        return make_opaque_key(expression, types)
    if isinstance(reading.coarsening, Constant):
        return None
    exact = is_exact_type(reading.type)
    return make_key(reading.column, reading.coarsening, width_of(reading.type) or 64, exact)


def find_undo(
    expression: exp.Expr, types: Mapping[str, str], value: exp.Expr | None = None
) -> tuple[PartitioningKey, exp.Expr] | None:
    """The member of the lattice that an expression tells apart, and how it is computed of the expression, or of a column
    with its value; None if the expression is no such member, or that is not known.
    """
    if is_volatile(expression) or expression.find(exp.Column) is None or is_deep(expression):
        return None
    reading = _read(expression, {c.lower(): (c, t) for c, t in types.items()})
    if reading is None or reading.undo is None or isinstance(reading.coarsening, Constant):
        return None
    key = make_key(reading.column, reading.coarsening, reading.width or 64, is_exact_type(reading.type))
    text = reading.undo
    if text != "_v":
        divided = isinstance(reading.coarsening, (TruncatedDivision, FloorDivision))
        type_ = "timestamp" if isinstance(reading.coarsening, TimeTruncation) else "bigint" if divided else reading.type
        text = f"CAST({text} AS {type_})"
    computed = sqlglot.parse_one(text, dialect="spark").transform(
        lambda node: (value or exp.paren(expression)).copy() if isinstance(node, exp.Column) else node
    )
    return key, computed


def is_deep(expression: exp.Expr) -> bool:
    """Whether an expression is too deep to be read part by part: nobody partitions by four hundred additions."""
    level, depth = [expression], 0
    while level and depth <= _DEEPEST:
        level, depth = [child for e in level for child in e.iter_expressions()], depth + 1
    return bool(level)


def is_volatile(expression: exp.Expr) -> bool:
    """Whether an expression may give another value for the same row, in another batch or another task."""
    if any(isinstance(n, (exp.Rand, exp.Randn, exp.Uuid, exp.CurrentTimestamp, exp.CurrentDate)) for n in expression.walk()):
        return True
    volatile = {"now", "uuid", "random", "shuffle", "monotonically_increasing_id", "spark_partition_id", "input_file_name"}
    return any(n.name.lower() in volatile for n in expression.find_all(exp.Anonymous))


def _keeps_value(reading: _Reading, expression: exp.Expr) -> bool:
    if not reading.is_value:
        return False
    to_date = (exp.TsOrDsToDate, exp.DateTrunc)
    return not any(isinstance(n, to_date) or (isinstance(n, exp.Cast) and not reading.width) for n in expression.walk())


# -- reading --------------------
def _read(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    if isinstance(e, exp.Paren):
        return _read(e.this, columns)
    if isinstance(e, exp.Column):
        name, type_ = columns.get(e.name.lower(), (e.name, ""))
        return _Reading(name, type_.strip().lower(), Identity(), value_width=width_of(type_) or 0)
    for reader in (_read_division, _read_bits, _read_remainder, _read_lossless, _read_text, _read_time):
        found = reader(e, columns)
        if found is not None:
            return found
    return None


def _read_integer(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    found = _read(e, columns)
    return found if found is not None and found.width and found.value_width else None


def _read_division(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    floor = isinstance(e, exp.Floor) and e.args.get("decimals") is None
    if isinstance(e, exp.IntDiv):
        inner, divisor = _read_integer(e.this, columns), read_integer_literal(e.expression)
    elif floor or (isinstance(e, exp.Cast) and _type_name(e) in ("int", "bigint")):
        quotient = e.this.unnest()
        if not isinstance(quotient, exp.Div):
            return None
        inner, divisor = _read_integer(quotient.this, columns), read_integer_literal(quotient.expression)
        if inner is not None and (inner.width > _EXACT_DOUBLE or not isinstance(inner.coarsening, Identity)):
            return None
    else:
        return None
    if inner is None or divisor is None or divisor < 1 or not inner.is_value or (divisor >= 1 << 31 and floor):
        return None
    if isinstance(inner.coarsening, TruncatedDivision):
        return inner.become(make_truncated_division(inner.coarsening.divisor * divisor, inner.width), value_width=64)
    if not isinstance(inner.coarsening, Identity):
        return None
    make = make_floor_division if floor else make_truncated_division
    coarsening = make(divisor, inner.width)
    known = isinstance(coarsening, (TruncatedDivision, Identity))
    wide = 32 if isinstance(e, exp.Cast) and _type_name(e) == "int" else 64
    undo = f"(_v * {-coarsening.mask})" if isinstance(coarsening, BitMask) else "_v"  # a power of two
    return inner.become(coarsening, 0 if known else None, wide, undo=undo)


def _read_bits(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    if isinstance(e, exp.BitwiseAnd):
        for value, literal in ((e.this, e.expression), (e.expression, e.this)):
            inner, mask = _read_integer(value, columns), read_integer_literal(literal)
            if mask is not None and (bits := _bits_of(inner)) is not None and inner is not None and inner.shift is not None:
                kept, wide = bits & (mask << inner.shift), max(inner.value_width, _width_of_literal(literal))
                undo = _undo_mask(kept, inner.width, inner.shift)
                return inner.become(make_mask(kept, inner.width), inner.shift, wide, kept, undo)
        return None
    unsigned = isinstance(e, exp.Anonymous) and e.name.lower() == "shiftrightunsigned"
    if not (unsigned and len(e.expressions) == 2) and not isinstance(e, (exp.BitwiseRightShift, exp.BitwiseLeftShift)):
        return None
    value, amount = e.expressions if unsigned else (e.this, e.expression)
    inner, by = _read_integer(value, columns), read_integer_literal(amount)
    bits = _bits_of(inner)
    if inner is None or by is None or bits is None or inner.shift is None:
        return None
    wide = max(32, inner.value_width)
    by %= wide  # as Java does
    if isinstance(e, exp.BitwiseLeftShift):
        plain = isinstance(inner.coarsening, Identity) and inner.is_value
        kept = (1 << (wide - by)) - 1
        undo = _undo_mask(kept, inner.width, 0, f"shiftrightunsigned(_v, {by})")
        return inner.become(make_mask(kept, inner.width), None, wide, undo=undo) if plain else None
    if unsigned:
        plain = isinstance(inner.coarsening, Identity) and inner.is_value
        undo = _undo_mask(-1 << by, inner.width, by)
        return inner.become(make_mask(-1 << by, inner.width), None, wide, undo=undo) if plain else None
    shift = inner.shift + by
    kept = bits & (-1 << shift)
    undo = _undo_mask(kept, inner.width, shift)
    return inner.become(make_mask(kept, inner.width), shift, wide, kept, undo)


def _undo_mask(kept: int, width: int, shift: int, value: str = "_v") -> str | None:
    """The mask of a column from `(x & kept) >> shift`, where that may keep bits beyond the column: copies of its sign.

    Shifting back may lose these, and counts of shifts are taken modulo the value's width: so the sign is read before.
    """
    least = 1 << width - 1
    back = f"({value} << {shift})" if shift else value
    if -least <= kept < least:
        return back
    if width == 64:
        return None  # no literal of this type is the least number without its sign
    low = f"({back} & {least - 1})" if kept & least - 1 else f"({value} & 0)"
    return f"({low} - CASE WHEN {value} BETWEEN 0 AND {max(least >> shift, 1) - 1} THEN 0 ELSE {least} END)"


def _bits_of(reading: _Reading | None) -> int | None:
    if reading is None:
        return None
    return reading.mask if isinstance(reading.coarsening, (Identity, BitMask)) else None


def _read_remainder(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    pmod = isinstance(e, exp.Anonymous) and e.name.lower() == "pmod" and len(e.expressions) == 2
    if not pmod and not isinstance(e, exp.Mod):
        return None
    value, by = e.expressions if pmod else (e.this, e.expression)
    inner, divisor = _read_integer(value, columns), read_integer_literal(by)
    if inner is None or divisor is None or divisor < 1 or not inner.is_value:
        return None
    make, wide = make_modulus if pmod else make_remainder, max(inner.value_width, _width_of_literal(by))
    if isinstance(inner.coarsening, Identity):
        unsigned, least = pmod and divisor >= 1 << inner.width, 1 << inner.width - 1
        undo = f"(_v - CASE WHEN _v >= {least} THEN {divisor} ELSE 0 END)" if unsigned else "_v"
        return inner.become(make(divisor, inner.width), None if pmod else 0, wide, undo=undo)
    if isinstance(inner.coarsening, Remainder) and inner.coarsening.divisor % divisor == 0:
        return inner.become(make(divisor, inner.width), None if pmod else 0, wide)
    return None


def _read_lossless(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    """What tells the same values apart as its operand does."""
    if isinstance(e, (exp.Add, exp.Sub, exp.BitwiseXor)):
        for value, literal in ((e.this, e.expression), (e.expression, e.this)):
            if read_integer_literal(literal) is not None and (inner := _read_integer(value, columns)) is not None:
                step, wide = _undo_sum(e, literal), max(inner.value_width, _width_of_literal(literal))
                if wide > max(inner.value_width, 32):
                    step = f"CAST({step} AS INT)"  # what is shifted next is as wide as it was
                return inner.become(inner.coarsening, None, wide, undo=inner.before(step))
    if isinstance(e, (exp.Neg, exp.BitwiseNot)) and (inner := _read_integer(e.this, columns)) is not None:
        return inner.become(inner.coarsening, None, undo=inner.before("- _v" if isinstance(e, exp.Neg) else "~ _v"))
    if isinstance(e, exp.Cast):
        found = _read(e.this, columns)
        return _cast(found, _type_name(e)) if found is not None else None
    return None


def _undo_sum(e: exp.Expr, literal: exp.Expr) -> str:
    """What takes back that a literal was added, subtracted, subtracted from, or compared bit by bit."""
    text = literal.sql(dialect="spark")
    if isinstance(e, exp.BitwiseXor):
        return f"_v ^ ({text})"
    if isinstance(e, exp.Add):
        return f"_v - ({text})"
    return f"_v + ({text})" if e.expression is literal else f"({text}) - _v"


def _cast(inner: _Reading, to: str) -> _Reading | None:
    if inner.type == to and isinstance(inner.coarsening, Identity) and (inner.is_value or not inner.width):
        return inner
    if inner.width:
        least = inner.width if isinstance(inner.coarsening, Identity) else max(inner.width, 32)
        if (width_of(to) or 0) >= (least if inner.is_value else inner.value_width or 64):
            undo = inner.undo if inner.undo == "_v" else inner.before(f"CAST(_v AS {_NAMES_OF_WIDTHS[inner.value_width]})")
            return replace(inner, value_width=width_of(to) or 0, undo=undo)
        undo = inner.before(f"CAST(_v AS {_NAMES_OF_WIDTHS[inner.value_width]})")
        return inner.become(inner.coarsening, None, 0, undo=undo) if to == "string" else None
    if inner.type == "boolean" and to in ("int", "bigint", "string"):
        return inner.become(inner.coarsening, None, undo=inner.before("CAST(_v AS BOOLEAN)"))
    if inner.type == "date" and to in ("timestamp", "timestamp_ntz") and inner.shift == 0:
        return replace(inner, undo=inner.before("CAST(_v AS DATE)"))
    if inner.type == "date" and to == "string" and isinstance(inner.coarsening, Identity):
        return inner.become(inner.coarsening, None, undo=inner.before("CAST(_v AS DATE)"))
    return None


def _read_text(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    if isinstance(e, (exp.Substring, exp.Left)):
        inner = _read(e.this, columns)
        start = read_integer_literal(e.args["start"]) if isinstance(e, exp.Substring) else 1
        length = read_integer_literal(e.args.get("length") if isinstance(e, exp.Substring) else e.expression)
        if inner is None or inner.type != "string" or inner.shift != 0 or start not in (0, 1) or length is None:
            return None
        if isinstance(inner.coarsening, (Identity, TextPrefix)):
            return inner.become(meet(inner.coarsening, make_text_prefix(length)))
    if isinstance(e, exp.SubstringIndex):
        inner, count = _read(e.this, columns), read_integer_literal(e.args["count"])
        delimiter = e.args["delimiter"]
        known = isinstance(delimiter, exp.Literal) and delimiter.is_string and len(delimiter.this) == 1
        if inner is None or inner.type != "string" or inner.shift != 0 or not known or count is None or count < 1:
            return None
        found = DelimitedPrefix(str(delimiter.this), count)
        if isinstance(inner.coarsening, Identity) or (
            isinstance(inner.coarsening, DelimitedPrefix) and inner.coarsening.delimiter == found.delimiter
        ):
            return inner.become(meet(inner.coarsening, found))
    return None


def _read_time(e: exp.Expr, columns: Mapping[str, tuple[str, str]]) -> _Reading | None:
    if isinstance(e, (exp.TimestampTrunc, exp.DateTrunc)):
        unit = e.args["unit"].name.upper() if e.args.get("unit") is not None else ""
        unit = _NAMES.get(unit, unit)
        floor = UNITS.index("WEEK") if isinstance(e, exp.DateTrunc) else 0
        if unit not in UNITS or UNITS.index(unit) < floor:
            return None
    elif (isinstance(e, exp.Cast) and _type_name(e) == "date") or (
        isinstance(e, exp.TsOrDsToDate) and e.args.get("format") is None
    ):
        unit = "DAY"
    else:
        return None
    inner = _read(e.this, columns)
    if inner is None or inner.type not in ("timestamp", "timestamp_ntz", "date") or inner.shift != 0:
        return None
    step = make_truncation(unit, inner.type == "date")
    both = meet(inner.coarsening, step)
    if isinstance(inner.coarsening, (Identity, TimeTruncation)) and both in (inner.coarsening, step):
        undo = "_v" if isinstance(both, Identity) else f"date_trunc('{unit}', _v)"
        plain = isinstance(e, exp.TimestampTrunc) or inner.type != "timestamp_ntz"  # a day is one of the session's zone
        return inner.become(both, undo=undo if plain else None)
    return None


# -- small pieces --------------------
def read_integer_literal(node: exp.Expr | None) -> int | None:
    """The value of 60, -16, 240L or 0xFFF0."""
    if isinstance(node, exp.Paren):
        return read_integer_literal(node.this)
    if isinstance(node, exp.Neg):
        inner = read_integer_literal(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast) and width_of(_type_name(node)):
        inner = read_integer_literal(node.this)
        return inner if inner is not None and abs(inner) < 1 << (width_of(_type_name(node)) or 0) - 1 else None
    value: int | None = None
    if isinstance(node, exp.HexString):
        value = int(str(node.this), 16)
    elif isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
        value = int(node.this)
    return value if value is not None and value < 1 << 63 else None


def _width_of_literal(node: exp.Expr) -> int:
    """The bits of an integer literal: it is an INT if it can be, and what is computed with a wider one is as wide."""
    value = read_integer_literal(node) or 0
    cast = next((width_of(_type_name(c)) or 0 for c in node.find_all(exp.Cast)), 0)
    return max(cast, 32 if -1 << 31 <= value < 1 << 31 else 64)


def _type_name(cast: exp.Expr) -> str:
    return str(cast.args["to"].sql(dialect="spark")).lower()


__all__ = ["find_undo", "is_volatile", "read_integer_literal", "recognize_key"]
