"""Values of a column as Python has them, and as text where Python has none.

Spark keeps what Python does not: times after the year 9999 and before the year 1, and in a STRING the bytes of a Parquet
file, whatever they are. One such value must not keep all others from being shown. Times that Python cannot hold are given
as text (`+12000-02-03T00:00:01Z`, signed as Spark writes them), and bytes that are no letter as the replacement character.
Columns without such values take Arrow's own way, which is fast.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa


def list_values(column: Any) -> list[Any]:
    """The values of an Arrow array or chunked array."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):  # which a UnicodeDecodeError is
        return [_value(one) for one in column]


def list_rows(batch: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """The rows of a batch."""
    columns = [list_values(column) for column in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _value(one: pa.Scalar) -> Any:
    if not one.is_valid:
        return None
    kind = one.type
    if pa.types.is_struct(kind):
        return {field.name: _value(one[i]) for i, field in enumerate(kind)}
    if pa.types.is_map(kind):
        return [(_value(entry["key"]), _value(entry["value"])) for entry in one.values]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_value(item) for item in one.values]
    try:
        return one.as_py()
    except UnicodeDecodeError:
        return one.as_buffer().to_pybytes().decode(errors="replace")
    except (OverflowError, ValueError):
        return _spell_time(one)


def _spell_time(one: pa.Scalar) -> str:
    """A time or a day in ISO's form; years of more than four digits have a sign."""
    kind = one.type
    moment = np.array(one.value, f"datetime64[{kind.unit if pa.types.is_timestamp(kind) else 'D'}]")
    sign, year, rest = re.fullmatch(r"(-?)(\d+)(.*)", str(moment)).groups()  # type: ignore[union-attr]
    if not sign and len(year) > 4:
        sign = "+"
    return sign + year.zfill(4) + rest + ("Z" if pa.types.is_timestamp(kind) and kind.tz else "")
