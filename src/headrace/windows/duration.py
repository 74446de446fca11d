"""Lengths of time as people write them, turned into ticks.

The words are Spark's interval words, singular or plural, in any case, several in a row (`1 minute 30
seconds`), with an optional leading INTERVAL; the usual short forms are understood too. A stream whose
progressing attribute is an integer has no unit of time, so its lengths are bare numbers, and the other way
round: a bare number on a timestamp could mean seconds to one reader and microseconds to another, and is
refused.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from fractions import Fraction
from typing import Literal

from headrace.errors import OptionError

Unit = Literal["us", "int"]

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {"us": "microsecond", "µs": "microsecond", "ms": "millisecond", "s": "second", "sec": "second"}
_SHORT |= {"min": "minute", "h": "hour", "hr": "hour", "d": "day", "w": "week"}
_CALENDAR = {"month", "quarter", "year", "decade", "century", "millennium"}
_PART = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*([^\W\d_]+)\s*,?")
_NUMBER = re.compile(r"\s*[+-]?\d+\s*")


def ticks(length: str | int, unit: Unit) -> int:
    """`length` in ticks of an attribute whose unit is "us" (a timestamp, in microseconds) or "int" (an
    integer).

    >>> ticks("1 minute 30 seconds", "us")
    90000000
    >>> ticks(300, "int")
    300
    """
    if isinstance(length, int) or _NUMBER.fullmatch(length):
        if unit == "int":
            return int(length)
        raise OptionError(
            f"duration: {length} has no unit, and the progressing attribute is a timestamp; "
            f"write for example '{length} seconds'"
        )
    if unit == "int":
        raise OptionError(
            f"duration: the progressing attribute is an integer and has no unit of time; expected a number, "
            f"got {length!r}"
        )
    rest = re.sub(r"^\s*interval\b", "", length, flags=re.IGNORECASE).replace("'", " ")
    total, at = Fraction(0), 0
    while at < len(rest.rstrip()):
        part = _PART.match(rest, at)
        if part is None:
            raise OptionError(
                f"duration: expected numbers with units such as '5 seconds' or '1 hour 30 minutes', "
                f"got {length!r}"
            )
        total += Fraction(part[1]) * _microseconds(part[2], length)
        at = part.end()
    if at == 0:
        raise OptionError("duration: expected a number and a unit such as '5 seconds', got an empty text")
    if total.denominator != 1:
        raise OptionError(
            f"duration: {length!r} is not a whole number of microseconds, the finest step there is"
        )
    return int(total)


def parse_length(what: str, length: str) -> int:
    """The microseconds of a length of time that stands by itself; errors say `what` it is."""
    if _NUMBER.fullmatch(length):
        raise OptionError(f"{what}: {length.strip()} has no unit; write for example '{length.strip()} seconds'")
    try:
        return ticks(length, "us")
    except OptionError as e:
        raise OptionError(f"{what}: {e}") from e


def parse_trigger(trigger: str) -> int:
    """The milliseconds between two batches; 0 is as soon as there is something to read."""
    return _at_least(0, "trigger", trigger, "is before now; expected a duration like '5 seconds', or '0 seconds'") // 1000


def parse_grace(grace: str) -> float:
    """The seconds that files which were merged stay."""
    return _at_least(0, "grace", grace, "is before now; expected a duration like '10 minutes', or '0 seconds'") / 1e6


def parse_defer(defer: str) -> int:
    """The microseconds that rows of a burst may wait."""
    return _at_least(1, "defer", defer, "lets nothing wait; expected a duration like '2 seconds'")


def parse_retention(retain: str) -> float:
    """The seconds that results are kept."""
    return _at_least(1, "retain", retain, "keeps nothing; expected a duration like '7 days'") / 1e6


def _at_least(least: int, what: str, length: str, otherwise: str) -> int:
    """The microseconds of an option's value."""
    found = parse_length(what, length)
    if found < least:
        raise OptionError(f"{what}: {length!r} {otherwise}")
    return found


def _microseconds(word: str, length: str) -> int:
    name = word.lower()
    name = _SHORT.get(name) or _SHORT.get(name.removesuffix("s")) or name.removesuffix("s")
    if name in _MICROSECONDS:
        return _MICROSECONDS[name]
    if name in _CALENDAR or name in ("centurie", "millennia"):
        raise OptionError(
            f"duration: {length!r} uses {word}, which has no fixed length (28 to 31 days a month, 365 or 366 "
            "a year), so windows of it would not be equally long; write a number of days or weeks"
        )
    near = get_close_matches(name, _MICROSECONDS, n=1)
    hint = f"did you mean {near[0]}s?" if near else "units are " + ", ".join(_MICROSECONDS)
    raise OptionError(f"duration: unknown unit {word!r} in {length!r}; {hint}")
