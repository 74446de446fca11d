"""Sliding and tumbling windows: RANGE and SLIDE (document 003, section 5.1.2).

The thesis lines up the *ends* of windows with the slide (Eq. 5.2), Spark and Flink line up the *starts*. The two
differ exactly when the slide does not divide the range, so `align` names which one is meant. The thesis counts
from the smallest value of the stream; a continuous query never knows that value for certain, so windows are
counted from a fixed origin (the epoch by default) and exist for negative ticks too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

import numpy as np

from headrace.errors import OptionError
from headrace.windows.spec import Ids, WindowSpec, check_length

Align = Literal["start", "end"]


@dataclass(frozen=True)
class Sliding(WindowSpec):
    """Windows of `range` ticks, one every `slide`; they tumble if the two are equal, and leave gaps if the slide is
    longer.
    """

    range: int = 0
    align: Align = "start"

    def __post_init__(self) -> None:
        check_length("RANGE", self.range)
        super().__post_init__()
        if self.align not in ("start", "end"):
            raise OptionError(f"window: ALIGN must be START or END, not {self.align!r}")

    @property
    def kind(self) -> str:
        return "tumbling" if self.range == self.slide else "sliding"

    @property
    def pane(self) -> int:
        return gcd(self.range, self.slide)

    @property
    def end_of_zero(self) -> int:
        return self.origin + (self.range if self.align == "start" else self.slide)

    def count_panes(self, width: int) -> int:
        return self.range // width

    def start_of(self, wid: Ids) -> Ids:
        return self.end_of(wid) - self.range

    def stop_wid(self, t: Ids) -> Ids:
        after = (t - self.end_of_zero + self.range) // self.slide + 1  # the first that starts after t
        return np.maximum(self.first_wid(t), after)
