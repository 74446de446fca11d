"""Texts as numbers and times, as Spark reads them, in DuckDB SQL; what is none is NULL.

DuckDB reads more texts than Spark does (`1_000`, `0x1F` as a whole number, `infinity` as a date, 2024/03/05) and fewer (`2024`,
`1.5f`, `2024-03-05 01`), so a text is taken apart by a regular expression first and only its canonical form is cast.
"""

from __future__ import annotations

_BLANK = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
_MANTISSA = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
_DATE = "[+]?([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})%s)?)?"
_CLOCK = "([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:[.]([0-9]*))?)?)?"
_ZONE = "(Z|(?:UTC|GMT|UT)?(?:[+-][0-9]{1,2}(?::[0-9]{1,2})?)?|[A-Za-z]+/[A-Za-z_/+-]+[0-9]*)"


def trim_blanks(sql: str) -> str:
    """Without the blanks at its ends that Spark's casts pass over."""
    return f"trim({sql}, {_BLANK})"


def parse_float(sql: str, duck: str) -> str:
    """A FLOAT or DOUBLE, as Java reads it."""
    body = (
        "CASE WHEN lower(hr_t) IN ('inf', '+inf', 'infinity', '+infinity') THEN 'inf' "
        "WHEN lower(hr_t) IN ('-inf', '-infinity') THEN '-inf' "
        "WHEN lower(hr_t) = 'nan' OR hr_t IN ('+NaN', '-NaN') THEN 'nan' "
        f"WHEN regexp_full_match(hr_t, '{_MANTISSA}[fFdD]?') THEN rtrim(hr_t, 'fFdD') END"
    )
    return f"TRY_CAST({_once(trim_blanks(sql), 'hr_t', body)} AS {duck})"


def parse_decimal(sql: str, precision: int, scale: int) -> str:
    body = f"CASE WHEN regexp_full_match(hr_t, '{_MANTISSA}') THEN hr_t END"
    return read_decimal(_once(trim_blanks(sql), "hr_t", body), precision, scale)


def read_decimal(text: str, precision: int, scale: int) -> str:
    """A DECIMAL from digits that may have an exponent; DuckDB wants room for all that stand before it."""
    return f"TRY_CAST(TRY_CAST({text} AS DECIMAL(38,{scale})) AS DECIMAL({precision},{scale}))"


def parse_integer(sql: str, duck: str) -> str:
    """Digits after a point count for nothing; a point alone is 0."""
    digits = "regexp_extract(hr_t, '^[+-]?[0-9]*')"
    body = (
        "CASE WHEN regexp_full_match(hr_t, '[+-]?([0-9]+([.][0-9]*)?|[.][0-9]*)') "
        f"THEN CASE WHEN {digits} IN ('', '+', '-') THEN '0' ELSE {digits} END END"
    )
    return f"TRY_CAST({_once(trim_blanks(sql), 'hr_t', body)} AS {duck})"


def parse_whole(sql: str, duck: str) -> str:
    """An integer as `try_cast` reads it: nothing but digits."""
    body = "CASE WHEN regexp_full_match(hr_t, '[+-]?[0-9]+') THEN hr_t END"
    return f"TRY_CAST({_once(trim_blanks(sql), 'hr_t', body)} AS {duck})"


def parse_boolean(sql: str) -> str:
    body = (
        "CASE WHEN hr_t IN ('t', 'true', 'y', 'yes', '1') THEN true "
        "WHEN hr_t IN ('f', 'false', 'n', 'no', '0') THEN false END"
    )
    return _once(f"lower({trim_blanks(sql)})", "hr_t", body)


def parse_date(sql: str) -> str:
    """A year, a month or a day; what follows a day and a T or a blank counts for nothing."""
    pattern = "^" + _DATE % "(?:[ T].*)?" + "$"
    return f"TRY_CAST({_once(_groups(sql, pattern, 'ymd'), 'hr_p', _day_text())} AS DATE)"


def parse_timestamp(sql: str) -> str:
    """A day, or a day with a clock and a zone; without one the clock is that of the session's zone."""
    pattern = "^" + _DATE % f"(?:[ T]{_CLOCK} ?{_ZONE})?" + "$"
    clock = " || ':' || ".join(f"coalesce(nullif(hr_p.{f}, ''), '0')" for f in "his")
    hour = "regexp_extract(hr_p.z, '[+-][0-9]+')"
    minute = "regexp_extract(hr_p.z, '[+-][0-9]+:([0-9]+)', 1)"
    offset = f"left({hour}, 1) || lpad(substr({hour}, 2), 2, '0') || ':' || lpad({minute}, 2, '0')"
    zone = (
        f"CASE WHEN hr_p.z = '' THEN '' WHEN {hour} <> '' AND NOT contains(hr_p.z, '/') THEN {offset} "
        "WHEN contains(hr_p.z, '/') THEN ' ' || hr_p.z ELSE 'Z' END"
    )
    text = f"{_day_text()} || ' ' || {clock} || '.' || coalesce(nullif(left(hr_p.f, 6), ''), '0') || {zone}"
    body = f"CASE WHEN coalesce(nullif(hr_p.h, ''), '0')::INTEGER < 24 THEN {text} END"
    return f"TRY_CAST({_once(_groups(sql, pattern, 'ymdhisfz'), 'hr_p', body)} AS TIMESTAMPTZ)"


def _groups(sql: str, pattern: str, names: str) -> str:
    listed = ", ".join(f"'{n}'" for n in names)
    return f"regexp_extract({trim_blanks(sql)}, '{pattern}', [{listed}])"


def _day_text() -> str:
    month, day = (f"coalesce(nullif(hr_p.{f}, ''), '1')" for f in "md")
    return f"nullif(hr_p.y, '') || '-' || {month} || '-' || {day}"


def _once(value: str, name: str, body: str) -> str:
    """`body` over `name`, which is `value` computed once."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"
