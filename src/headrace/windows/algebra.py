"""The three functions that define a window: windows(), extent(), wids() (document 003, section 5.1.1).

`extent` is the definition, read off the window clause; `wids` is its inverse, used on every row; `windows`
names the window-ids there are. The law that ties them, and the oracle for everything built on top:

    t in extent(spec, w)  <=>  w in wids(spec, t)

A window-id is a dense integer, increasing with the end of the window. All kinds share one formula for the
end, `end(w) = end(0) + w * slide`; they differ in end(0) and in the start:

    sliding, align start   end(0) = origin + range   start = end - range      (Spark, Flink)
    sliding, align end     end(0) = origin + slide   start = end - range      (Eq. 5.2)
    landmark               end(0) = origin + slide   start = origin, w >= 0   (Eq. 5.8)
    cumulative             end(0) = origin + slide   start = the last reset before the end

Ends and starts are both monotone in the window-id, so every set of windows asked for here is one `range`.
Division rounds down, which keeps this true for negative ticks. A value belongs to no window when SLIDE
exceeds RANGE and it falls in a gap, or when it lies before a landmark's origin; the range is empty then. A
value under a landmark belongs to all later windows; that range ends at `FOREVER`.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.errors import OptionError
from headrace.windows.spec import WindowSpec

FOREVER = 2**63 - 1
"""One past the last window-id, where there is no last one."""


class Window(NamedTuple):
    """A window-id with its extent [start, end)."""

    wid: int
    start: int
    end: int


def extent(spec: WindowSpec, wid: int) -> tuple[int, int]:
    """The interval [start, end) of window `wid` (Eqs. 5.2 and 5.8)."""
    end = _end_of_zero(spec) + wid * spec.slide
    if spec.range is not None:
        return end - spec.range, end
    if spec.reset is not None:
        return spec.origin + wid * spec.slide // spec.reset * spec.reset, end
    if wid < 0:
        raise OptionError(f"window: a landmark window has ids from 0 on, got {wid}")
    return spec.origin, end


def window(spec: WindowSpec, wid: int) -> Window:
    """Window `wid` together with its extent."""
    return Window(wid, *extent(spec, wid))


def wids(spec: WindowSpec, t: int) -> range:
    """The ids of the windows that contain the value `t` (Eqs. 5.3 and 5.9)."""
    return windows(spec, t, t + 1)


def windows(spec: WindowSpec, lo: int, hi: int) -> range:
    """The ids of the windows whose extent meets the values in [lo, hi) (Eqs. 5.1 and 5.7)."""
    if hi <= lo:
        return range(0)
    first = first_open(spec, lo)
    if spec.range is not None:
        stop = -((_end_of_zero(spec) - spec.range - hi) // spec.slide)  # the first that starts at hi or later
        return range(first, max(first, stop))
    if spec.reset is not None:
        return range(first, ((hi - 1 - spec.origin) // spec.reset + 1) * (spec.reset // spec.slide))
    return range(first, FOREVER) if hi > spec.origin else range(0)


def first_open(spec: WindowSpec, low_watermark: int) -> int:
    """The id of the first window that ends after `low_watermark`."""
    first = (low_watermark - _end_of_zero(spec)) // spec.slide + 1
    return max(first, 0) if spec.kind == "landmark" else first


def first_end(spec: WindowSpec, t: int) -> int | None:
    """The smallest end among the windows that contain `t`, or None if there is no such window.

    A row has missed a window exactly when this is at or before the low-watermark.
    """
    containing = wids(spec, t)
    return extent(spec, containing.start)[1] if containing else None


def _end_of_zero(spec: WindowSpec) -> int:
    if spec.range is not None and spec.align == "start":
        return spec.origin + spec.range
    return spec.origin + spec.slide
