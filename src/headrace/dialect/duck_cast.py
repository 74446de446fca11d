"""CAST as Spark does it with ANSI mode off: what cannot be converted is NULL, what does not fit wraps or
saturates as in Java."""

from __future__ import annotations

import re

from headrace.dialect import spark_types as t
from headrace.dialect.java_numbers import double_to_string, float_to_string, scientific
from headrace.dialect.sql_quotes import quote_name
from headrace.errors import PlanError

_DUCK = {
    "string": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ltz": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
    "int": "INTEGER",
    "integer": "INTEGER",
    "long": "BIGINT",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "real": "FLOAT",
    "binary": "BLOB",
    "decimal": "DECIMAL(10,0)",
    "void": "INTEGER",
}
_PLAIN_TYPE = re.compile(r"[a-z][a-z0-9_ ]*(\(\d+(, ?-?\d+)?\))?")
_TRUE = "('t', 'true', 'y', 'yes', '1')"
_FALSE = "('f', 'false', 'n', 'no', '0')"


def duck_type(spark: str) -> str:
    """DuckDB's name of a Spark type."""
    name = spark.strip().lower()
    if name.startswith(("array<", "struct<", "map<")):
        return _duck_nested(spark.strip())
    if not _PLAIN_TYPE.fullmatch(name):
        raise PlanError(f"{spark.strip()!r} is not a type Headrace knows; names of fields are letters, digits, _ and spaces")
    return _DUCK.get(name, name.upper())


def spell_null(spark: str) -> str:
    """A NULL of a Spark type, as a column of rows that others have too: of void it is DuckDB's own NULL, as there."""
    return "NULL" if spark.strip().lower() == "void" else f"NULL::{duck_type(spark)}"


def _duck_nested(type_: str) -> str:
    kind = type_[: type_.index("<")].lower()
    type_ = kind + type_[len(kind) :]
    if kind == "array":
        return f"{duck_type(type_[6:-1])}[]"
    if kind == "map":
        return f"MAP({', '.join(map(duck_type, t.map_types(type_)))})"
    listed = [f"{quote_name(n)} {duck_type(x)}" for n, x in t.fields(type_)]
    return f"STRUCT({', '.join(listed)})"


def spark_name(duck: str) -> str:
    """Spark's name of a DuckDB type."""
    if duck.endswith("[]"):
        return f"array<{spark_name(duck[:-2])}>"
    back = {
        "VARCHAR": "string",
        "FLOAT": "float",
        "BLOB": "binary",
        "TIMESTAMP": "timestamp_ntz",
        "TIMESTAMP WITH TIME ZONE": "timestamp",
        "TIMESTAMPTZ": "timestamp",
        "INTEGER": "int",
        "BIGINT": "bigint",
        "HUGEINT": "decimal(38,0)",
        '"NULL"': "int",
    }
    return back.get(duck.upper(), duck.lower())


def wrap_integer(sql: str, type_: str) -> str:
    """A HUGEINT as an integer type, modulo two to its bits."""
    half = 1 << (t.bits(type_) - 1)
    return f"(((({sql}) + {half}::HUGEINT) & {2 * half - 1}::HUGEINT) - {half}::HUGEINT)::{duck_type(type_)}"


def cast(sql: str, source: str, target: str) -> str:
    """`sql`, of Spark type `source`, as Spark type `target`."""
    if source == target:
        return sql
    duck = duck_type(target)
    if source == "void":
        return f"CAST({sql} AS {duck})"
    if target in t.INTEGERS:
        return _to_integer(sql, source, target)
    if target in ("float", "double") and source == "timestamp":
        return f"CAST(epoch_us({sql}) / 1000000.0 AS {duck})"
    if target in ("float", "double") or t.is_decimal(target):
        if source in (*t.NUMBERS, "boolean") or t.is_decimal(source):
            if source in ("float", "double") and t.is_decimal(target):
                return f"TRY_CAST(CAST({sql} AS DOUBLE) AS {duck})"
            return f"{'TRY_CAST' if t.is_decimal(target) else 'CAST'}({sql} AS {duck})"
        if source == "string":
            return f"TRY_CAST(trim({sql}) AS {duck})"
    if target == "string":
        return _to_string(sql, source)
    if target == "boolean":
        if source == "string":
            text = f"lower(trim({sql}))"
            return f"CASE WHEN {text} IN {_TRUE} THEN true WHEN {text} IN {_FALSE} THEN false END"
        if source in t.NUMBERS or t.is_decimal(source):
            return f"({sql} <> 0)"
    if target in ("date", "timestamp"):
        if source == "string":
            return f"TRY_CAST(trim({sql}) AS {duck})"
        if source in ("date", "timestamp"):
            return f"CAST({sql} AS {duck})"
        if target == "timestamp" and source in t.INTEGERS:
            return f"make_timestamptz({sql}::BIGINT * 1000000)"
    if source.startswith("array<") and target.startswith("array<"):
        return f"CAST({sql} AS {duck})"
    raise PlanError(
        f"a cast from {source} to {target} is not available on results of windows; cast before the window"
    )


def _to_integer(sql: str, source: str, target: str) -> str:
    if source in t.INTEGERS:
        if t.bits(source) <= t.bits(target):
            return f"CAST({sql} AS {duck_type(target)})"
        return wrap_integer(f"{sql}::HUGEINT", target)
    if source == "boolean":
        return f"CAST({sql} AS {duck_type(target)})"
    if t.is_decimal(source):
        return wrap_integer(f"CAST(trunc({sql}) AS HUGEINT)", target)
    if source in ("float", "double"):
        through = target if target in ("int", "bigint") else "int"
        high = (1 << (t.bits(through) - 1)) - 1
        text = f"CASE WHEN isnan({sql}) THEN 0 WHEN {sql} >= {high}::DOUBLE THEN {high} "
        text += f"WHEN {sql} <= {-high - 1}::DOUBLE THEN {-high - 1}::HUGEINT "
        text += f"ELSE CAST(trunc({sql}) AS HUGEINT) END"
        return wrap_integer(text, target)
    if source == "string":
        digits = f"regexp_extract(trim({sql}), '^[+-]?[0-9]*')"
        return (
            f"CASE WHEN regexp_full_match(trim({sql}), '[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)') "
            f"THEN TRY_CAST(CASE WHEN {digits} IN ('', '+', '-') THEN '0' ELSE {digits} END "
            f"AS {duck_type(target)}) END"
        )
    if source == "timestamp":
        return wrap_integer(f"CAST(floor(epoch_us({sql}) / 1000000.0) AS HUGEINT)", target)
    raise PlanError(
        f"a cast from {source} to {target} is not available on results of windows; cast before the window"
    )


def _to_string(sql: str, source: str) -> str:
    if source in (*t.INTEGERS, "boolean", "date"):
        return f"CAST({sql} AS VARCHAR)"
    if source == "timestamp":
        return f"CAST(CAST({sql} AS TIMESTAMP) AS VARCHAR)"
    if t.is_decimal(source):
        _, scale = t.decimal_of(source) or (38, 0)
        plain = f"CAST({sql} AS VARCHAR)"
        if scale <= 6:
            return plain
        digits = f"coalesce(nullif(ltrim(replace(CAST(abs({sql}) AS VARCHAR), '.', ''), '0'), ''), '0')"
        small = scientific(digits, f"({scale} - length({digits}) + 1)", "E-", "")
        return (
            f"CASE WHEN abs({sql}) >= 0.000001 THEN {plain} WHEN {sql} < 0 THEN '-' || {small} "
            f"WHEN {sql} IS NOT NULL THEN {small} END"
        )
    if source == "double":
        return double_to_string(sql)
    if source == "float":
        return float_to_string(sql)
    raise PlanError(
        f"a cast from {source} to string is not available on results of windows; cast before the window"
    )
