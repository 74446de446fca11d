"""What time it is, and a pause: the one way in which whoever decides between two batches knows of time.

A simulation gives another clock, on which a night passes in a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


def read_system_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass(frozen=True)
class Clock:
    """`now` in microseconds since 1970, and `sleep` for some seconds."""

    now: Callable[[], int] = read_system_clock
    sleep: Callable[[float], None] = time.sleep

    @property
    def seconds(self) -> float:
        return self.now() / 1_000_000


SYSTEM = Clock()
