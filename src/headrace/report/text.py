"""Numbers as people read them: ticks, spans of time, bytes, rates, sparklines.

Every function is total: None, zero, negative and huge values have a rendering, because a view must not fail
on a stream that has shown nothing, or shown year 9999.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NONE = "–"
_BARS = "▁▂▃▄▅▆▇█"


def ticks(value: int | None, unit: str) -> str:
    """A progressing value: ISO time in UTC (fractions only if there are any) or the integer."""
    if value is None:
        return NONE
    if unit != "us":
        return f"{value:,}"
    try:
        moment = EPOCH + timedelta(microseconds=value)
    except OverflowError:
        return f"{value:,} µs"
    return moment.replace(microsecond=0, tzinfo=None).isoformat(" ") + (
        f".{moment.microsecond:06d}".rstrip("0") if value % 1_000_000 else ""
    )


def distance(value: int | None, unit: str) -> str:
    """A length in ticks."""
    if value is None:
        return NONE
    return span(value / 1e6) if unit == "us" else f"{value:,}"


def span(seconds: float | None) -> str:
    """A length of time in at most two units: 40 µs, 8 ms, 1.25 s, 3 min 20 s, 2 d 4 h."""
    if seconds is None:
        return NONE
    if seconds < 0:
        return "-" + span(-seconds)
    if seconds < 0.00095:
        return f"{seconds * 1e6:.0f} µs" if seconds else "0 s"
    if seconds < 0.0095:
        return f"{seconds * 1e3:.2g} ms"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for size, name, below, below_name in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            big, rest = divmod(whole, size)
            return f"{big:,} {name}" + (
                f" {rest // below} {below_name}" if rest // below and big < 1000 else ""
            )
    return f"{whole} s"


def size(count: float | None) -> str:
    """Bytes, in powers of 1024."""
    if count is None:
        return NONE
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(count) < 1023.5:
            return f"{count:.0f} {unit}" if unit == "B" or abs(count) >= 99.95 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} PiB"


def number(count: float | None) -> str:
    """A count in at most five characters: 950, 12.3k, 1.25M."""
    if count is None:
        return NONE
    if abs(count) < 999.5:
        return f"{count:.0f}" if abs(count) >= 10 or count == int(count) else f"{count:.2g}"
    for unit in "kMGT":
        count /= 1000
        if abs(count) < 999.5:
            return f"{count:.3g}{unit}"
    return f"{count:.3g}T"


def rate(rows_per_second: float | None) -> str:
    return NONE if rows_per_second is None else f"{number(rows_per_second)} rows/s"


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as bars over zero; an empty batch is a blank."""
    shown = list(values)[-width:] if width > 0 else []
    top = max(shown, default=0.0)
    if top <= 0:
        return " " * len(shown)
    last = len(_BARS) - 1
    return "".join(_BARS[min(last, int(value / top * last + 0.5))] if value > 0 else " " for value in shown)


def one_line(text: str) -> str:
    """Names come from strangers: control characters, which could drive a terminal, are shown as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
