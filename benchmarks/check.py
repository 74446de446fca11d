"""Did everybody compute the same? Result rows are counted and hashed, in any order, by DuckDB.

Values are brought to common types first (times to microseconds, integers to BIGINT, fractions rounded to
six places), columns are taken by name. Spark closes only the windows that the low-watermark has passed; so
there are two sums: of the windows `closed` by then, and of `all`, which those have who close every window
at the end. Results of a join without a window are as old as their `ts`.
"""

from __future__ import annotations

from typing import Any

import duckdb

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UINTEGER", "UBIGINT")


def checksums(result: dict[str, Any], low_watermark: int) -> dict[str, dict[str, Any]]:
    """{'closed' | 'all': {'rows', 'hash'}} of one query's result files."""
    if not result["paths"]:
        return {which: {"rows": 0, "hash": f"{0:016x}"} for which in ("closed", "all")}
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        if result["format"] == "csv":
            rows = db.read_csv(result["paths"], header=False, names=result["columns"])
        else:
            rows = db.read_parquet(result["paths"])
        values = {name: _common(name, str(kind)) for name, kind in zip(rows.columns, rows.types, strict=True)}
        hashed = ", ".join(values[name] for name in sorted(values))
        answer = {}
        age = values.get("window_end") or values["ts"]
        for which, keep in (("closed", f"{age} <= {low_watermark}"), ("all", "true")):
            counted = rows.filter(keep).aggregate(f"count(*), coalesce(sum(hash({hashed})::HUGEINT), 0)")
            count, total = counted.fetchall()[0]
            answer[which] = {"rows": count, "hash": f"{total % 2**64:016x}"}
        return answer


def _common(name: str, kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return f'epoch_us("{name}")'
    if kind in _INTEGERS:
        return f'"{name}"::BIGINT'
    if kind.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        return f'round("{name}"::DOUBLE, 6)'
    return f'"{name}"::VARCHAR'


def differences(truth: dict[str, Any], other: dict[str, Any], which: str) -> list[str]:
    """The queries of `other` whose rows are not the truth's, and how many rows each has."""
    return [
        f"{query}: {other.get(query, {}).get(which, {}).get('rows')} rows, expected {sums[which]['rows']}"
        for query, sums in truth.items()
        if other.get(query, {}).get(which) != sums[which]
    ]
