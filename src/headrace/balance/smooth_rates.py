"""Rates smoothed over rounds, with how uncertain they are.

Each of many series (the share of a mini-partition, seconds per unit of work of a slot) has an exponentially
weighted mean and a variance of single observations. A value that lies within three standard deviations of what was
expected is noise, and enters with a small weight: the mean stays precise. One outside is a change: the mean starts
anew from it, as uncertain as one observation is, and is a plain mean of what follows until that is more precise
than the small weight would be.

A count of N rows is uncertain by at least √N even when all rounds so far agreed; the caller says so with `least`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.balance.statistics import Flags, Floats

STEADY = 0.2  # weight of a new value
SURPRISE = 9.0  # squared standard deviations that are a change


@dataclass(frozen=True, eq=False)
class SmoothedRates:
    """Means, the variance of single observations, and the variance of the means; `rounds` counts observations."""

    mean: Floats
    spread: Floats
    variance: Floats
    rounds: NDArray[np.int64]

    @property
    def error(self) -> Floats:
        """Standard deviation of the means."""
        return np.sqrt(self.variance)


def start_rates(count: int) -> SmoothedRates:
    """Nothing observed yet."""
    return SmoothedRates(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64))


def observe_rates(
    rates: SmoothedRates, values: Floats, least: Floats, seen: Flags | None = None
) -> SmoothedRates:
    """The rates after one more round; `least` is the variance the values have in any case, `seen` says which
    were observed."""
    noise = np.maximum(rates.spread, least)
    off = values - rates.mean
    rounds = np.where(off * off > SURPRISE * noise, 0, rates.rounds)  # a change starts anew
    weight = np.maximum(STEADY, 1.0 / (rounds + 1.0))
    mean = rates.mean + weight * off
    square = np.minimum(
        off * off, SURPRISE * noise
    )  # one jump is no noise; noise that was underrated is learnt
    learnt = np.where(rates.rounds > 0, (1 - STEADY) * (rates.spread + STEADY * square), 0.0)
    spread = np.maximum(learnt, least)
    variance = (1 - weight) ** 2 * rates.variance + weight**2 * spread
    if seen is None:
        return SmoothedRates(mean, spread, variance, rounds + 1)
    return SmoothedRates(
        np.where(seen, mean, rates.mean),
        np.where(seen, spread, rates.spread),
        np.where(seen, variance, rates.variance),
        np.where(seen, rounds + 1, rates.rounds),
    )
