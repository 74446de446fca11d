"""Values of a file checked one by one: what is there has the type and range it should, or a sentence says
where it does not. Nothing is converted silently; `place` is the way to the value, such as
`streams.FLIGHTS.rate`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

from headrace.errors import NetworkError


def check_mapping(value: Any, place: str, known: Iterable[str] | None = None) -> dict[str, Any]:
    """A mapping with only the entries that are known; None for none."""
    if not isinstance(value, dict):
        entries = f" with {', '.join(sorted(known))}" if known is not None else ""
        raise NetworkError(f"{place}: expected a mapping{entries}; got {_shown(value)}")
    if known is not None:
        for key in value:
            check_known(key, place, known, "entry")
    return {check_name(k, place): v for k, v in value.items()}


def check_known(name: Any, place: str, known: Iterable[str], what: str) -> None:
    """A name that is among the known ones."""
    names = sorted(known)
    if name not in names:
        near = difflib.get_close_matches(str(name), names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise NetworkError(
            f"{place}: unknown {what} {name!r}{hint} known are {', '.join(names[:12]) or 'none'}"
        )


def check_list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise NetworkError(f"{place}: expected a list; got {_shown(value)}")
    return value


def check_name(value: Any, place: str) -> str:
    """A name: text that is not empty; a whole number counts as its digits."""
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise NetworkError(f"{place}: expected a name; got {_shown(value)}")
    return str(value)


def check_number(
    value: Any, place: str, least: float = 0.0, most: float = math.inf, above: bool = False
) -> float:
    """A number in a range; NaN, texts and truth values are none. Infinite only where `most` is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise NetworkError(f"{place}: expected a number; got {_shown(value)}")
    if value < least or value > most or (above and value == least):
        span = f"{'above' if above else 'of at least'} {least:g}"
        span = f"{least:g} to {most:g}" if math.isfinite(most) and not above else span
        raise NetworkError(f"{place}: expected a number {span}; got {_shown(value)}")
    return float(value)


def check_finite(value: Any, place: str, least: float = 0.0, above: bool = False) -> float:
    number = check_number(value, place, least, above=above)
    if math.isinf(number):
        raise NetworkError(f"{place}: expected a finite number; got {_shown(value)}")
    return number


def check_count(value: Any, place: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise NetworkError(f"{place}: expected a whole number of at least {least}; got {_shown(value)}")
    return value


def check_truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise NetworkError(f"{place}: expected true or false; got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
