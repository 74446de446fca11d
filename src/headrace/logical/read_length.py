"""Lengths of time in expressions: an INTERVAL, or a whole number where time is one."""

from __future__ import annotations

from sqlglot import exp

from headrace.errors import HeadraceError
from headrace.windows import ticks

SECOND = 1_000_000
EXACT_UNITS = {"second": SECOND, "minute": 60 * SECOND}  # of date_trunc, the same in every time zone


def read_length(node: exp.Expr, unit: str) -> int | None:
    """An INTERVAL in ticks, or a whole number where time is one."""
    if isinstance(node, exp.Neg):
        inner = read_length(node.this, unit)
        return None if inner is None else -inner
    if isinstance(node, exp.Paren):
        return read_length(node.this, unit)
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return int(node.this)
        except ValueError:
            return None
    if isinstance(node, exp.Interval) and unit == "us":
        words = node.this.name if node.this is not None else ""
        of = node.args.get("unit")
        try:
            return ticks(f"{words} {of.name if of is not None else ''}".strip(), "us")
        except HeadraceError:
            return None
    return None
