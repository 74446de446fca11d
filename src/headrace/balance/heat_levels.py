"""The load of mini-partitions in few letters: a digit each, how it compares with the mean.

0 is nothing; 5 is about the mean, and each step is a factor of two, up to 9, sixteen times the mean or more. A run's report
can then say it of every mini-partition in every batch, and a page draw it, without keeping numbers nobody reads.
"""

from __future__ import annotations

import numpy as np

from headrace.balance.statistics import Floats


def encode_heat(work: Floats) -> str:
    """A digit for each mini-partition; empty if none did anything."""
    if not work.any():
        return ""
    ratio = np.maximum(work, 0.0) / work.mean()
    with np.errstate(divide="ignore"):
        level = np.clip(5 + np.rint(np.log2(ratio)), 1, 9)
    return "".join(map(str, np.where(ratio > 0, level, 0).astype(int).tolist()))
