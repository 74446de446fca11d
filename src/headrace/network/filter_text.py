"""Filters as users write them, with the selectivity the catalog knows or guesses.

`column = value`, `column IN (…)`, comparisons with numbers, and anything else as opaque text. What a filter
keeps is, in this order: declared under `filters` for the stream; from the column's distinct count or range;
guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from headrace.errors import NetworkError
from headrace.network.stream_catalog import GUESSED_EQUALITY, GUESSED_PREDICATE, Catalog
from headrace.network.stream_filters import Atom, Condition

_TIME = {
    "second": 1.0, "seconds": 1.0, "s": 1.0, "minute": 60.0, "minutes": 60.0, "min": 60.0,
    "hour": 3600.0, "hours": 3600.0, "h": 3600.0, "day": 86400.0, "days": 86400.0, "ms": 0.001,
    "millisecond": 0.001, "milliseconds": 0.001,
}  # fmt: skip
_COMPARISON = re.compile(r"^\s*(.+?)\s*(<=|>=|<>|!=|=|<|>)\s*(.+?)\s*$")
_MEMBERSHIP = re.compile(r"^\s*(\w+)\s+IN\s*\((.*)\)\s*$", re.IGNORECASE)
_OPERATOR = re.compile(r"<=|>=|<>|!=|=|<|>")
_CONNECTIVE = re.compile(r"\b(AND|OR|BETWEEN)\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORD = re.compile(r"\b([A-Za-z_]\w*)\b(?!\s*\()")
_KEYWORDS = {
    "IS",
    "NOT",
    "NULL",
    "LIKE",
    "TRUE",
    "FALSE",
    "IN",
    "CURRENT_TIMESTAMP",
    "CURRENT_TIME",
    "INTERVAL",
}
_NAME = re.compile(r"^[A-Za-z_]\w*$")


def value_condition(catalog: Catalog, stream: str, column: str, values: Sequence[str]) -> Condition:
    """`column` is one of some values."""
    known = catalog.stream(stream).column.get(column)
    each = GUESSED_EQUALITY if known is None or known.distinct is None else 1 / max(known.distinct, 1.0)
    atoms = []
    for value in values:
        declared = catalog.filter(stream, f"{column} = {value}")
        atoms.append(Atom(each if declared is None else declared, value))
    return Condition(column, frozenset((column,)), frozenset(atoms))


def range_condition(
    catalog: Catalog, stream: str, expression: str, columns: frozenset[str], op: str, bound: float
) -> Condition:
    """A comparison of an expression with a number."""
    upper = op in ("<", "<=")
    declared = catalog.filter(stream, f"{expression} {op} {bound:g}")
    share = GUESSED_PREDICATE if declared is None else declared
    known = catalog.stream(stream).column.get(expression)
    if declared is None and known is not None and known.low is not None and known.high is not None:
        span = known.high - known.low
        share = (bound - known.low if upper else known.high - bound) / span if span > 0 else 1.0
    low, high = (float("-inf"), bound) if upper else (bound, float("inf"))
    atom = Atom(min(1.0, max(0.0, share)), None, low, high, op == ">", op == "<")
    return Condition(expression, columns, frozenset((atom,)))


def text_condition(catalog: Catalog, stream: str, text: str, columns: frozenset[str]) -> Condition:
    """A predicate that is only known as text."""
    declared = catalog.filter(stream, text)
    atom = Atom(GUESSED_PREDICATE if declared is None else declared, text)
    return Condition(text, columns, frozenset((atom,)))


def parse_filter(catalog: Catalog, stream: str, text: str) -> Condition:
    """A condition of a queries file: one comparison, one IN, or one piece of text."""
    bare = _QUOTED.sub("''", text)
    if len(_OPERATOR.findall(bare)) > 1 or _CONNECTIVE.search(bare):
        raise NetworkError(
            f"{text!r} is more than one comparison; write each as an entry of its own (all must hold), and"
            " alternatives of one column as `column IN (…)`"
        )
    columns = find_columns(catalog, stream, text)
    member = _MEMBERSHIP.match(text)
    if member:
        return value_condition(catalog, stream, member[1], [_bare(v) for v in _split(member[2], text)])
    comparison = _COMPARISON.match(text)
    if comparison is None and _OPERATOR.search(bare):
        raise NetworkError(f"{text!r}: expected a comparison such as `column = value`")
    if comparison:
        left, op, right = comparison.groups()
        if op == "=" and _NAME.match(left):
            return value_condition(catalog, stream, left, [_bare(right)])
        number = _number(right)
        if number is not None and not math.isfinite(number):
            raise NetworkError(f"{text!r}: expected a finite number after {op}; got {right}")
        if op in ("<", "<=", ">", ">=") and number is not None:
            return range_condition(catalog, stream, left, columns, op, number)
    return text_condition(catalog, stream, text.strip(), columns)


def _split(values: str, text: str) -> list[str]:
    found = re.split(r",(?=(?:[^']*'[^']*')*[^']*$)", values)
    if any(not v.strip() for v in found):
        raise NetworkError(f"{text!r}: expected values between the commas of IN (…)")
    return found


def find_columns(catalog: Catalog, stream: str, text: str) -> frozenset[str]:
    """The stream's columns a piece of text speaks of; the names in it, if no columns are declared."""
    bare = _QUOTED.sub("''", text)
    names = {m[1] for m in _WORD.finditer(bare) if m[1].upper() not in _KEYWORDS}
    declared = catalog.stream(stream).column
    right = _COMPARISON.match(bare)
    literal = {right[3]} if right else set()  # `column = value`: a value may go without quotes
    if _MEMBERSHIP.match(bare):
        names = {bare.split()[0]}
    strange = sorted(names - set(declared) - literal)
    if declared and (strange or not names & set(declared)):
        raise NetworkError(
            f"{text!r}: stream {stream!r} has no column {strange[0] if strange else text!r}; it has"
            f" {', '.join(declared)}"
        )
    return frozenset(names & set(declared) if declared else names)


def parse_duration(text: str | float | int) -> float:
    """Seconds: a number, or `5 minutes`."""
    found = re.match(r"^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$", str(text), re.IGNORECASE)
    unit = found[2].lower() if found else ""
    if not found or (unit and unit not in _TIME) or not float(found[1]) or isinstance(text, bool):
        raise NetworkError(f"expected a duration such as `5 minutes` or a number of seconds, got {text!r}")
    return float(found[1]) * _TIME.get(unit, 1.0)


def _bare(text: str) -> str:
    return text.strip().strip("'\"")


def _number(text: str) -> float | None:
    clock = re.match(r"^'?(\d+):(\d\d):(\d\d)'?$", text)
    if clock:
        return int(clock[1]) * 3600.0 + int(clock[2]) * 60.0 + int(clock[3])
    try:
        return float(text)
    except ValueError:
        return None
