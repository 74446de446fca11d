"""What a window clause says, in ticks, and nothing else.

A *tick* is the unit of the progressing attribute: a microsecond for timestamps, 1 for integers. A
specification is the RANGE and SLIDE of Li's thesis (document 003, section 5.1.2) plus what users of other
engines expect:

* `range=None` is RANGE ALL, a landmark window (section 5.1.4): every extent starts at the origin and the
  ends go up in steps of the slide. With `reset=R` the landmark itself moves on every R ticks (cumulative
  windows).
* The thesis lines up the *ends* of windows with the slide (Eq. 5.2), Spark and Flink line up the *starts*.
  The two differ exactly when the slide does not divide the range, so `align` names which one is meant.
* The thesis counts from the smallest value of the stream; a continuous query never knows that value for
  certain, so windows are counted from a fixed `origin` (the epoch by default) and exist for negative ticks
  too.

Invariant: a constructed specification is valid. Everything else in this package may rely on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from headrace.errors import OptionError

Align = Literal["start", "end"]
Kind = Literal["tumbling", "sliding", "landmark", "cumulative"]


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window clause: RANGE and SLIDE in ticks, counted from `origin`."""

    range: int | None
    slide: int
    origin: int = 0
    align: Align = "start"
    reset: int | None = None

    def __post_init__(self) -> None:
        _positive("SLIDE", self.slide)
        if self.align not in ("start", "end"):
            raise OptionError(f"window: ALIGN must be START or END, not {self.align!r}")
        if self.range is not None:
            _positive("RANGE", self.range)
            if self.reset is not None:
                raise OptionError(
                    f"window: RESET goes with RANGE ALL, but RANGE is {self.range} ticks; "
                    "write RANGE ALL, or leave RESET out"
                )
        if self.reset is not None:
            _positive("RESET", self.reset)
            if self.reset % self.slide:
                raise OptionError(
                    f"window: RESET must be a multiple of SLIDE so that the last window ends at the reset, "
                    f"but {self.reset} is not a multiple of {self.slide} (ticks)"
                )

    @property
    def kind(self) -> Kind:
        """The common name of this shape of window."""
        if self.range is None:
            return "landmark" if self.reset is None else "cumulative"
        return "tumbling" if self.range == self.slide else "sliding"

    @property
    def tumbling(self) -> bool:
        """Whether extents neither overlap nor leave gaps, so that a pane is a window."""
        return self.range == self.slide

    @property
    def pane(self) -> int:
        """The pane width: the largest that cuts every window into whole panes (section 6.2.1)."""
        return self.slide if self.range is None else gcd(self.range, self.slide)

    @property
    def pane_origin(self) -> int:
        """Where panes are counted from, in [0, pane): starts and ends of all windows lie on that grid."""
        return self.origin % self.pane


def _positive(what: str, value: int) -> None:
    if value <= 0:
        raise OptionError(f"window: {what} must be positive, got {value} ticks")
