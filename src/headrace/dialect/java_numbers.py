"""Floating-point numbers as Java writes them, in DuckDB SQL.

Since Java 19 these are the shortest digits that read back as the same number, at least two of them. Before, whole numbers
too large for the bits of a float or double came out with more digits; as Spark casts with the Java it runs on, which one
that is must be known (`use_java`).
"""

from __future__ import annotations

from math import log10

_SHORTEST = 19
_java = _SHORTEST


def use_java(release: int) -> None:
    """Write numbers from now on like this release of Java, the one of this process' Spark."""
    global _java
    _java = release


def scientific(digits: str, exponent: str, mark: str, zero: str) -> str:
    rest = f"CASE WHEN length({digits}) > 1 THEN '.' || substr({digits}, 2) ELSE '{zero}' END"
    return f"substr({digits}, 1, 1) || {rest} || '{mark}' || {exponent}"


def double_to_string(sql: str) -> str:
    """A double, scientific below 10^-3 and from 10^7 on."""
    shortest = f"CASE WHEN contains(hr_t, '.') THEN hr_t ELSE printf('%.1e', abs({sql})) END"
    text = f"list_transform([CAST(abs({sql}) AS VARCHAR)], lambda hr_t: {_java_notation(shortest)})[1]"
    text = _or_old_digits(text, sql, 53)
    minus = f"CASE WHEN starts_with(CAST({sql} AS VARCHAR), '-') THEN '-' ELSE '' END"
    return (
        f"CASE WHEN isnan({sql}) THEN 'NaN' WHEN isinf({sql}) THEN {minus} || 'Infinity' "
        f"WHEN {sql} = 0 OR (abs({sql}) >= 0.001 AND abs({sql}) < 10000000) THEN CAST({sql} AS VARCHAR) "
        f"ELSE {minus} || {text} END"
    )


def _java_notation(text: str) -> str:
    """1.5e+20, 0.00015 and 123456789.5 as 1.5E20, 1.5E-4 and 1.234567895E8."""
    whole, part = f"split_part({text}, '.', 1)", f"split_part({text}, '.', 2)"
    power = f"split_part({text}, 'e', 1) || 'E' || CAST(split_part({text}, 'e', 2) AS INTEGER)"
    large = scientific(f"rtrim({whole} || {part}, '0')", f"(length({whole}) - 1)", "E", ".0")
    rest = f"ltrim({part}, '0')"
    small = scientific(rest, f"(length({rest}) - length({part}) - 1)", "E", ".0")
    return f"CASE WHEN contains({text}, 'e') THEN {power} WHEN {whole} = '0' THEN {small} ELSE {large} END"


def float_to_string(sql: str) -> str:
    """The fewest digits that read back as the same float; as a double they are written alike."""
    tries = ", ".join(f"printf('%.{digits}e', CAST({sql} AS DOUBLE))" for digits in range(1, 9))
    shortest = f"CAST(list_filter([{tries}], lambda hr_d: CAST(hr_d AS FLOAT) = {sql})[1] AS DOUBLE)"
    text = f"list_transform([{shortest}], lambda hr_f: {double_to_string('hr_f')})[1]"
    minus = f"CASE WHEN {sql} < 0 THEN '-' ELSE '' END"
    return _or_old_digits(text, sql, 24, minus)


def _or_old_digits(text: str, sql: str, bits: int, minus: str = "''") -> str:
    """`text`, or the digits of Java before 19 for whole numbers that need more than `bits` bits and fit 63: all digits
    but those the lost bits stand for.
    """
    if _java >= _SHORTEST:
        return text
    lost = f"greatest(length(bin(hr_n)) - {bits + 2}, 0)"
    unit = f"CAST(pow(10, CASE WHEN {lost} > 1 THEN floor({lost} * {log10(2)}) ELSE 0 END) AS HUGEINT)"
    number = f"CAST((hr_n + {unit} // 2) // {unit} AS VARCHAR)"
    written = scientific(
        f"rtrim({number}, '0')", f"(length({number}) + length(CAST({unit} AS VARCHAR)) - 2)", "E", ".0"
    )
    old = f"list_transform([CAST(abs({sql}) AS HUGEINT)], lambda hr_n: {written})[1]"
    whole = f"abs({sql}) >= {2**bits}::DOUBLE AND abs({sql}) < {2**63}::DOUBLE"
    return f"CASE WHEN {whole} THEN {minus} || {old} ELSE {text} END"
