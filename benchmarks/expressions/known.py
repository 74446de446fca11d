"""Differences from Spark that stay, each with its reason; docs/sql.md lists them for users.

A rule looks at the words of an expression and at what came out, and is as narrow as these allow.
"""

from __future__ import annotations

import math
import re

from benchmarks.expressions.compare import Outcome

_NOTHING = re.compile(r"^[^,]*\bNone\b")  # Headrace's answer, or a part of it
_CLOCK = re.compile(r"'\d{1,2}:\d\d")
_TIME = r"(?:\b(?:dt|ts|day)\b|DATE|TIMESTAMP)"
_FAR = re.compile(
    r"TIMESTAMP_(SECONDS|MILLIS|MICROS)|DATE_(ADD|SUB|FROM_UNIX_DATE)|DATEADD|TIMESTAMPADD|ADD_MONTHS|MAKE_DATE"
    rf"|{_TIME}.* [+-] |\b(l|i|x|f)\b.* AS TIMESTAMP"
)
_EARLY = re.compile(r"(DATE|TIMESTAMP|YEAR|DAY|MONTH|WEEK|QUARTER|TRUNC)[A-Z_]*\(.*\b(sh|tin|i|l|d|w|num)\b")
_DIGITS = re.compile(r"^'(-?[0-9.]+)' in row \d+, Spark has '(-?[0-9.]+)'$")
_TIES = ("mode", "min_by", "max_by")


def find_known(outcome: Outcome) -> str | None:
    """Why a difference is known, if it is."""
    if _CLOCK.search(outcome.text):
        return "a time without a date is NULL: Spark takes the day on which it happens to run"
    if _NOTHING.search(outcome.why) and _FAR.search(outcome.text):
        return "a date or time beyond what DuckDB holds (the years 290,000 BC to 294,246) is NULL"
    if _NOTHING.search(outcome.why) and _EARLY.search(outcome.text):
        return "a year before the first, read from a text, is NULL"
    if (digits := _DIGITS.search(outcome.why)) and math.isclose(float(digits[1]), float(digits[2]), rel_tol=1e-14):
        return "the last digit of sin, cbrt, pow and their kin is that of C, not of Java"
    if outcome.function in _TIES:
        return "ties go by value, so that an answer does not depend on the order of rows; to Spark, by chance"
    return None
