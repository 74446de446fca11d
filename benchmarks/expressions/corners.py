"""The rows expressions are compared over: of every type its corners, NULL among them, and texts that are no numbers."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

COLUMNS = {
    "b": "boolean",
    "tin": "tinyint",
    "sh": "smallint",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "x": "double",
    "d": "decimal(12,3)",
    "w": "decimal(38,10)",
    "s": "string",
    "num": "string",
    "day": "string",
    "ts": "timestamp",
    "dt": "date",
    "ai": "array<int>",
    "as_": "array<string>",
    "st": "struct<a:int,b:string>",
}


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


_VALUES: dict[str, list[Any]] = {
    "b": [True, False, None],
    "tin": [1, 0, -128, 127, None, 3],
    "sh": [2, -1, 32767, None, -32768, 0, 7],
    "i": [3, 0, -7, 2147483647, None, -2147483648, 1, 65],
    "l": [5, -1, 0, 9223372036854775807, 1700000000, None, -9223372036854775808, 2, 253402300800],
    "f": [1.5, 0.0, -2.25, None, math.inf, 0.1, math.nan, 1e30, -0.0],
    "x": [2.5, -0.5, 0.0, 1e300, None, math.nan, 1e-10, -math.inf, 123456789.125, 0.001, 1e7],
    "d": [Decimal(v) if v else None for v in ("1.500", "-2.345", "0.000", "", "999999999.999", "0.005", "-7.000")],
    "w": [
        Decimal(v) if v else None
        for v in ("1.5", "9999999999999999999999999999.9999999999", "0", "-3.0000000001", "", "0.0000000001", "12")
    ],
    "s": ["Hello", "", "a%b_c", None, " héllo ", "ab,cd,ef", "ß", "éa", "A", "www.apache.org", "\\d+"],
    "num": ["1", " 12 ", "abc", "-3.7", None, "1e3", "", "9999999999999", "0x1F", ".", "NaN", "true", "1_0", "+5"],
    "day": ["2024-02-29", "1969-12-31 23:59:59.999999", "x", None, "2024-13-01", "2024", "2024-03-10T02:30:00Z", "2024-03-05 01"],
    "ts": [
        None if v is None else _moment(v)
        for v in ("2024-02-29T13:45:06.789", "1969-12-31T23:59:59.999999", None, "2030-07-01T00:00:00.000001",
                  "9999-12-31T23:59:59", "2024-03-10T07:30:15.5", "0001-01-01T00:00:00", "1970-01-01T00:00:00")
    ],
    "dt": [
        None if v is None else date.fromisoformat(v)
        for v in ("2024-02-29", "1969-12-31", "2000-01-31", None, "9999-12-31", "2024-12-30", "0001-01-01")
    ],
    "ai": [[1, 2, 3], [], None, [None, 5], [2147483647, -1], [3]],
    "as_": [["a", "b"], None, ["", None, "Hello"], [], ["1", "x"]],
    "st": [{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": -7, "b": "Hello"}],
}  # fmt: skip


def make_rows(count: int = 14, columns: tuple[str, ...] = tuple(COLUMNS)) -> list[tuple[Any, ...]]:
    """Rows in which every value of a column comes up, in other company in each row; the last has NULLs only."""
    rows = [tuple(_VALUES[c][i % len(_VALUES[c])] for c in columns) for i in range(count - 1)]
    return [*rows, tuple([None] * len(columns))]
