"""Rows as multisets: floating-point numbers to nine digits, everything else exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa


def same(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]], what: str) -> None:
    """The two as multisets; floating-point numbers to nine digits, everything else exactly."""
    left, right = sorted(found, key=_order), sorted(expected, key=_order)
    matches = len(left) == len(right) and all(
        len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(left, right, strict=True)
    )
    if not matches:
        extra = [r for r in left if not any(len(r) == len(e) and all(map(_close, r, e)) for e in right)]
        missing = [e for e in right if not any(len(r) == len(e) and all(map(_close, r, e)) for r in left)]
        raise AssertionError(
            f"{what}\n  {len(left)} rows, not {len(right)}\n  wrong: {extra[:5]}\n  missing: {missing[:5]}"
        )


def take_away(pool: list[tuple[Any, ...]], found: Sequence[tuple[Any, ...]], what: str) -> list[tuple[Any, ...]]:
    """What is left to come when these rows have; each of them was to come."""
    left = list(pool)
    for row in found:
        at = next((i for i, e in enumerate(left) if len(row) == len(e) and all(map(_close, row, e))), None)
        assert at is not None, f"{what}: {row} came too early, twice, or is wrong"
        left.pop(at)
    return left


def _order(row: tuple[Any, ...]) -> list[Any]:
    exact = [(v is not None, str(v)) for v in row if not isinstance(v, (float, Decimal))]
    return [exact, [(math.isnan(v), v) for v in row if isinstance(v, (float, Decimal))]]


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_close, a, b))
    if a is None or b is None or isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b) and isinstance(a, float) == isinstance(b, float)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table in its order; times as ticks."""
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    return list(zip(*(c.to_pylist() for c in columns), strict=True)) if columns else []
