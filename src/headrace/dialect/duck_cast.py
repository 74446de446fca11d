"""CAST as Spark does it with ANSI mode off: what cannot be converted is NULL, what does not fit wraps or
saturates as in Java."""

from __future__ import annotations

import re
from collections.abc import Callable

from headrace.dialect import duck_parse as parse
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
    if source == "string" and (reader := _READERS.get(target)) is not None:
        return reader(sql)
    if t.is_decimal(target):
        precision, scale = t.decimal_of(target) or (t.MAX, 0)
        if source == "string":
            return parse.parse_decimal(sql, precision, scale)
        if source in ("float", "double"):  # by its shortest digits, as Java's BigDecimal has them
            return parse.read_decimal(f"CAST(CAST({sql} AS DOUBLE) AS VARCHAR)", precision, scale)
        if source == "boolean":
            return f"TRY_CAST(CAST({sql} AS INTEGER) AS {duck})"
        if source in t.INTEGERS or t.is_decimal(source):
            return f"TRY_CAST({sql} AS {duck})"
    if target == "float" and source == "double":
        large = f"isfinite({sql}) AND abs({sql}) >= 3.4028235677973366e38::DOUBLE"
        return f"CASE WHEN {large} THEN CASE WHEN {sql} > 0 THEN 'inf' ELSE '-inf' END::FLOAT ELSE TRY_CAST({sql} AS FLOAT) END"
    if target in ("float", "double") and (source in (*t.NUMBERS, "boolean") or t.is_decimal(source)):
        return f"CAST({sql} AS {duck})"
    if target == "string":
        return _to_string(sql, source)
    if target == "boolean" and (source in t.NUMBERS or t.is_decimal(source)):
        return f"({sql} <> 0)"
    if target in ("date", "timestamp"):
        if source in ("date", "timestamp"):
            return f"TRY_CAST({sql} AS {duck})"
        if target == "timestamp" and source in t.INTEGERS:
            return f"TRY(make_timestamptz({sql}::BIGINT * 1000000))"
    if source.startswith("array<") and target.startswith("array<"):
        element = f"hr_a{source.count('<')}"
        inner = cast(element, source[6:-1], target[6:-1])
        return f"list_transform({sql}, lambda {element}: {inner})"
    raise PlanError(
        f"a cast from {source} to {target} is not available on results of windows; cast before the window"
    )


def epoch_seconds(moment: str) -> str:
    """Whole seconds since 1970, those before it too."""
    return f"((epoch_us({moment}) - (epoch_us({moment}) % 1000000 + 1000000) % 1000000) // 1000000)"


_READERS: dict[str, Callable[[str], str]] = {
    "float": lambda sql: parse.parse_float(sql, "FLOAT"),
    "double": lambda sql: parse.parse_float(sql, "DOUBLE"),
    "boolean": parse.parse_boolean,
    "date": parse.parse_date,
    "timestamp": parse.parse_timestamp,
}


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
        return parse.parse_integer(sql, duck_type(target))
    if source == "timestamp":
        return f"TRY_CAST({epoch_seconds(sql)} AS {duck_type(target)})"
    raise PlanError(
        f"a cast from {source} to {target} is not available on results of windows; cast before the window"
    )


def _year_as_spark(text: str, time: str) -> str:
    """A sign before years of more than four digits, and years before the first counted down from 0000."""
    before = f"CASE WHEN year({time}) < 0 THEN '-' ELSE '' END || lpad(CAST(-year({time}) AS VARCHAR), 4, '0')"
    early = f"{before} || regexp_replace(replace({text}, ' (BC)', ''), '^[0-9]+', '')"
    return f"CASE WHEN year({time}) > 9999 THEN '+' || {text} WHEN year({time}) < 1 THEN {early} ELSE {text} END"


def _to_string(sql: str, source: str) -> str:
    if source in (*t.INTEGERS, "boolean"):
        return f"CAST({sql} AS VARCHAR)"
    if source == "date":
        return _year_as_spark(f"CAST({sql} AS VARCHAR)", sql)
    if source == "timestamp":
        return _year_as_spark(f"CAST(CAST({sql} AS TIMESTAMP) AS VARCHAR)", f"CAST({sql} AS TIMESTAMP)")
    if t.is_decimal(source):
        precision, scale = t.decimal_of(source) or (38, 0)
        plain = f"CAST({sql} AS VARCHAR)"
        if precision == scale:  # DuckDB writes .5
            plain = f"replace(concat(CASE WHEN {sql} < 0 THEN '-' END, '0', ltrim({plain}, '-')), '00.', '0.')"
            plain = f"CASE WHEN {sql} IS NOT NULL THEN {plain} END"
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
