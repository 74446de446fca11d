"""Rows of a stream: out of order, late, with lulls, skew, NULLs and times that are none."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from decimal import Decimal

from benchmarks.simulate.window_model import Row

SECOND = 1_000_000
COLUMNS = ("k", "g", "v", "d", "x", "b", "s")


@dataclass(frozen=True)
class Shape:
    """How a stream behaves, in units of time."""

    rows: int = 60
    step: float = 0.7  # mean time between rows
    disorder: float = 4.0  # usual delay of a row, at most
    very_late: float = 0.05  # how many rows come later than any slack
    lulls: float = 0.02
    nulls: float = 0.1
    bad_times: float = 0.02
    start: int = 0
    keys: str = "aaaaaabbbcd"


USUAL = Shape()


def stream(rng: random.Random, unit: int, shape: Shape = USUAL) -> list[Row]:
    """Rows in arrival order."""
    clock = float(shape.start)
    rows = []
    for _ in range(shape.rows):
        clock += rng.expovariate(1 / shape.step)
        if rng.random() < shape.lulls:
            clock += rng.uniform(20, 200)
        delay = rng.uniform(0, shape.disorder) * (rng.random() < 0.6)
        if rng.random() < shape.very_late:
            delay += rng.uniform(0, 60)
        t: int | None = math.floor((clock - delay) * unit) if unit > 1 else math.floor(clock - delay)
        if rng.random() < shape.bad_times:
            t = None
        pick = lambda value: None if rng.random() < shape.nulls else value  # noqa: E731
        rows.append(
            {
                "t": t,
                "k": pick(rng.choice(shape.keys)),
                "g": pick(rng.randrange(4)),
                "v": pick(rng.randrange(-20, 100)),
                "d": pick(Decimal(rng.randrange(-99999, 99999)) / 1000),
                "x": pick(rng.choice([rng.uniform(-5, 5), rng.randrange(5) / 2])),
                "b": pick(rng.random() < 0.7),
                "s": pick("".join(rng.choices("abcé ", k=rng.randrange(4)))),
            }
        )
    return rows
