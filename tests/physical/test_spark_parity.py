"""Expressions and aggregates on results give what Spark gives, types and values, row for row.

`expressions.txt` has an expression a line, over rows with the corners of every type; `refused.txt` has functions
that are not available on results and are refused when the query is registered. Both are lists anybody can add to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from sqlglot import exp

from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type
from headrace.dialect.java_numbers import use_java
from headrace.errors import PlanError
from headrace.kernels.connection import connect
from headrace.sql import parse_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
EXPRESSIONS = HERE.joinpath("expressions.txt").read_text().splitlines()
REFUSED = HERE.joinpath("refused.txt").read_text().splitlines()
SCHEMA = {
    "i": "int",
    "l": "bigint",
    "sh": "smallint",
    "d": "decimal(12,3)",
    "e": "decimal(20,6)",
    "x": "double",
    "y": "double",
    "s": "string",
    "b": "boolean",
    "ts": "timestamp",
    "window_start": "timestamp",
    "dt": "date",
    "num": "string",
    "big": "bigint",
    "n": "bigint",
    "sum_l": "bigint",
    "sum_d": "decimal(22,3)",
}


def _row(*values: Any) -> tuple[Any, ...]:
    i, l_, sh, d, e, x, y, s, b, ts, dt, num, big, n, sum_l, sum_d = values
    moment = None if ts is None else datetime.fromisoformat(ts).replace(tzinfo=UTC)
    day = None if dt is None else date.fromisoformat(dt)
    decimals = [None if v is None else Decimal(v) for v in (d, e, sum_d)]
    return (i, l_, sh, *decimals[:2], x, y, s, b, moment, moment, day, num, big, n, sum_l, decimals[2])


NOTHING = _row(*[None] * 16)
ROWS = [
    _row(1, 2, 32767, "1.500", "2.25", 2.5, 1e7, "Hello", True, "2024-02-29T13:45:06.789", "2024-02-29", "5",
         9223372036854775807, 3, 10, "10.000"),
    _row(-7, 3, -1, "-2.345", "0.3", -2.5, 0.00015, " héllo ", False, "2023-12-31T23:59:59", "2023-12-31", " 12 ",
         -9223372036854775808, 7, -22, "-1.005"),
    NOTHING,
    _row(0, 0, 0, "0.000", "0.000001", 0.0, 1e20, "", None, "1969-12-31T23:00:00", "1969-12-31", "abc", 0, 1, 0,
         "0.005"),
    _row(2147483647, 1700000000, 5, "999999999.999", "12345678901234.123456", math.nan, math.inf, "a%b_lll", True,
         "2030-07-01T00:00:00.000001", "2030-07-01", "1.7", 5000000000, 2, 9, "33.335"),
    _row(4, 10, 2, "3.335", "3", 1234567.891, 123456789.125, "true", False, "2024-01-01T00:00:00", "2024-01-01",
         "2024-02-28", 123, 4, 1, "100.000"),
    _row(-2147483648, -5, -32768, "0.005", "-1.5", 0.5, 0.001, "zLLo", True, "2024-03-10T07:30:15.5", "2024-03-10",
         "1e3", -1, 6, 1000, "9999999999999999999.999"),
]  # fmt: skip


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    con = connect("UTC")
    columns = ", ".join(f'"{c}" {duck_type(t)}' for c, t in SCHEMA.items())
    con.execute(f"CREATE OR REPLACE TEMP TABLE parity (nr INT, {columns})")
    marks = ", ".join("?" * (len(SCHEMA) + 1))
    con.executemany(f"INSERT INTO parity VALUES ({marks})", [(i, *row) for i, row in enumerate(ROWS)])
    yield con
    con.execute("DROP TABLE parity")


def parsed(text: str) -> exp.Expr:
    """The expression as a query would have it."""
    return parse_query("q", f"SELECT {text} AS c FROM parity").body.expressions[0].unalias()


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    """A function nobody has compared with Spark is an error with a way out, not an answer that may be wrong."""
    with pytest.raises(PlanError, match=r"not available on results|no common type"):
        translate(parsed(text), SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_expressions(spark: SparkSession, con: duckdb.DuckDBPyConnection, zone: str) -> None:
    """Same type, same values, NULLs in the same places."""
    from headrace.runtime.typer import java_release

    listed = (
        EXPRESSIONS
        if zone == "UTC"
        else [e for e in EXPRESSIONS if re.search(r"\b(ts|dt|window_start)\b", e)]
    )
    spark.conf.set("spark.sql.session.timeZone", zone)
    use_java(java_release(spark))
    con.execute(f"SET TimeZone = '{zone}'")
    try:
        frame = spark.createDataFrame(ROWS, ", ".join(f"{c} {t}" for c, t in SCHEMA.items())).coalesce(1)
        frame.createOrReplaceTempView("parity")
        wrong = []
        for at in range(0, len(listed), 40):
            part = listed[at : at + 40]
            answer = spark.sql(f"SELECT {', '.join(f'{e} AS c{i}' for i, e in enumerate(part))} FROM parity")
            rows = answer.collect()
            for i, text in enumerate(part):
                type_ = answer.schema[i].dataType.simpleString()
                wrong += _differences(con, text, type_, [row[i] for row in rows])
        assert not wrong, "\n".join(wrong)
    finally:
        use_java(19)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        con.execute("SET TimeZone = 'UTC'")


def _differences(con: duckdb.DuckDBPyConnection, text: str, type_: str, expected: list[Any]) -> list[str]:
    try:
        value = translate(parsed(text), SCHEMA)
        found = [r[0] for r in con.execute(f"SELECT {value.sql} FROM parity ORDER BY nr").fetchall()]
    except (PlanError, duckdb.Error) as e:
        return [f"{text}: {e}"]
    if value.type != type_:
        return [f"{text}: type {value.type}, Spark has {type_}"]
    return [
        f"{text}: {f!r} in row {i}, Spark has {s!r}"
        for i, (f, s) in enumerate(zip(map(_plain, found), map(_plain, expected), strict=True))
        if not _same(f, s)
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        # Spark hands out local times of this machine's zone, DuckDB aware ones.
        return value.astimezone(UTC)
    if hasattr(value, "asDict"):
        return {k: _plain(v) for k, v in value.asDict().items()}
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)
    return type(a) is type(b) and bool(a == b)
