"""Windows and lengths of time as a person would write them."""

from __future__ import annotations

from datetime import datetime, timedelta

from headrace.windows.cumulative import Cumulative
from headrace.windows.sliding import Sliding
from headrace.windows.spec import WindowSpec

_SIZES = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1000, "ms"))


def describe_length(ticks: int, unit: str) -> str:
    """A number of ticks as a person would write it."""
    if unit != "us":
        return str(ticks)
    if ticks == 0:
        return "0 s"
    for size, name in _SIZES:
        if ticks % size == 0:
            return f"{ticks // size} {name}"
    return f"{ticks} µs"


def describe_window(window: WindowSpec, unit: str) -> str:
    """A window in a few words."""
    every = describe_length(window.slide, unit)
    if isinstance(window, Sliding):
        text = f"{window.kind} {describe_length(window.range, unit)}"
        text += "" if window.tumbling else f" every {every}"
        text += ", ends aligned" if window.align == "end" else ""
    else:
        text = f"{window.kind} all every {every}"
        text += f", reset {describe_length(window.reset, unit)}" if isinstance(window, Cumulative) else ""
    return text + (f", origin {_describe_tick(window.origin, unit)}" if window.origin else "")


def _describe_tick(tick: int, unit: str) -> str:
    """A moment, or a length where it is not far from the epoch."""
    if unit != "us" or abs(tick) < _SIZES[0][0]:
        return describe_length(tick, unit)
    return f"{datetime(1970, 1, 1) + timedelta(microseconds=tick)}"
