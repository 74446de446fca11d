"""Durations as text."""

from __future__ import annotations

import pytest

from headrace.errors import OptionError
from headrace.windows import ticks

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 seconds", 5 * SECOND),
        ("5 SECOND", 5 * SECOND),
        ("1 minute 30 seconds", 90 * SECOND),
        ("1 hour, 30 minutes", 5400 * SECOND),
        ("INTERVAL '10' MINUTES", 600 * SECOND),
        ("interval 2 weeks", 14 * 86_400 * SECOND),
        ("1.5 seconds", 1_500_000),
        ("250ms", 250_000),
        ("3 us", 3),
        ("7 microseconds", 7),
        ("10 mins", 600 * SECOND),
        ("2 hrs", 7200 * SECOND),
        ("-1 day", -86_400 * SECOND),
        ("0 seconds", 0),
    ],
)
def test_lengths_of_time(text: str, expected: int) -> None:
    """Spark's words and the usual short ones, several in a row, in any case."""
    assert ticks(text, "us") == expected


def test_bare_numbers_belong_to_integer_attributes() -> None:
    """An integer attribute counts in itself, written as a number or as text."""
    assert ticks(300, "int") == 300
    assert ticks(" 300 ", "int") == 300


@pytest.mark.parametrize(
    ("length", "unit", "message"),
    [
        ("1 month", "us", "no fixed length .* write a number of days or weeks"),
        ("2 years", "us", "no fixed length"),
        ("5 secnds", "us", "unknown unit 'secnds' in '5 secnds'; did you mean seconds"),
        ("5 foo", "us", "units are microsecond, millisecond"),
        ("five seconds", "us", "got 'five seconds'"),
        ("5 seconds and more", "us", "got '5 seconds and more'"),
        ("", "us", "empty text"),
        ("interval", "us", "empty text"),
        (300, "us", "300 has no unit"),
        ("300", "us", "write for example '300 seconds'"),
        ("5 seconds", "int", "integer and has no unit of time; expected a number, got '5 seconds'"),
        ("0.0000001 seconds", "us", "not a whole number of microseconds"),
    ],
)
def test_what_cannot_be_a_length_is_refused(length: str | int, unit: str, message: str) -> None:
    """The message says what came and what to write instead."""
    with pytest.raises(OptionError, match=message):
        ticks(length, unit)  # type: ignore[arg-type]
