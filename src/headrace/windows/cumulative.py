"""Cumulative windows: RANGE ALL with RESET, a landmark that moves on every `reset` ticks.

Steps of 5 that reset at 15 are [0,5) [0,10) [0,15), then [15,20): today so far, reported every hour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.errors import OptionError
from headrace.windows.spec import Array, Ids, WindowSpec, check_length


@dataclass(frozen=True)
class Cumulative(WindowSpec):
    """Windows that start at the last reset and end at each slide point after it."""

    reset: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("RESET", self.reset)
        if self.reset % self.slide:
            raise OptionError(
                f"window: RESET must be a multiple of SLIDE so that the last window ends at the reset, "
                f"but {self.reset} is not a multiple of {self.slide} (ticks)"
            )

    @property
    def kind(self) -> str:
        return "cumulative"

    @property
    def pane(self) -> int:
        return self.slide

    def count_panes(self, width: int) -> int:
        return 1

    def start_of(self, wid: Ids) -> Ids:
        return self.origin + wid * self.slide // self.reset * self.reset

    def stop_wid(self, t: Ids) -> Ids:
        return ((t - self.origin) // self.reset + 1) * (self.reset // self.slide)

    @property
    def settles(self) -> bool:
        return True

    def settle(self, panes: Array, width: int, low_watermark: int) -> Array:
        reset = panes - (panes - self.origin) % self.reset
        return np.where(panes + width <= low_watermark, reset, panes)
