"""Functions of a progressing attribute that never fall where it rises (document 003, chapters 6 to 8: Apply).

Each is a step of a `Wait`: `bound` is the function itself, on one tick or on an array of them, and `reach` its inverse, the least
tick whose image is not before a value. Rows keep their groups under them, so bounds of single groups are mapped too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LARGEST_IMAGE = 1 << 62  # beyond, the arithmetic of windows would leave 64 bits


@dataclass(frozen=True)
class Shift:
    """`ts + d`."""

    ticks: int

    def bound(self, tick: Any) -> Any:
        return tick + self.ticks

    def reach(self, tick: int) -> int:
        return tick - self.ticks


@dataclass(frozen=True)
class Truncate:
    """`date_trunc`: down to a multiple."""

    width: int

    def bound(self, tick: Any) -> Any:
        return tick - tick % self.width

    def reach(self, tick: int) -> int:
        return tick + -tick % self.width


@dataclass(frozen=True)
class Divide:
    """`ts DIV n`, towards zero, so that 2n - 1 values become 0."""

    by: int

    def bound(self, tick: Any) -> Any:
        return (tick + (self.by - 1) * (tick < 0)) // self.by

    def reach(self, tick: int) -> int:
        return tick * self.by if tick > 0 else (tick - 1) * self.by + 1


@dataclass(frozen=True)
class FloorDivide:
    """Seconds of microseconds: `CAST(ts AS BIGINT)`."""

    by: int

    def bound(self, tick: Any) -> Any:
        return tick // self.by

    def reach(self, tick: int) -> int:
        return tick * self.by


@dataclass(frozen=True)
class Multiply:
    """`ts * n`, as far as numbers go."""

    by: int

    @property
    def most(self) -> int:
        return LARGEST_IMAGE // self.by

    def bound(self, tick: Any) -> Any:
        if isinstance(tick, int):
            return max(-self.most, min(tick, self.most)) * self.by
        return tick.clip(-self.most, self.most) * self.by

    def reach(self, tick: int) -> int:
        return -(-tick // self.by)


MonotoneStep = Shift | Truncate | Divide | FloorDivide | Multiply


def apply_steps(steps: Iterable[MonotoneStep], tick: Any) -> Any:
    """The image of a tick, or of an array of them."""
    for step in steps:
        tick = step.bound(tick)
    return tick
