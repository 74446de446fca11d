"""K-means with a limit on the size of a cluster.

Lloyd's algorithm from SciPy, several seeded starts, the tightest kept. K starts at ⌈n / limit⌉ and grows a
little while a cluster is too large (as in 004, section 4.2.1, where 128 nodes of limit 32 gave five
clusters); what is still too large is divided by the same means.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from headrace.network.distance_metric import Vector

STARTS = 5
GROWTH = (1.0, 1.15, 1.3)


def group_by_size(points: Vector, limit: int, seed: int) -> list[list[int]]:
    """Groups of row numbers, none larger than the limit, in the order of their first members."""
    groups = _divide(points, np.arange(len(points)), limit, seed)
    return sorted(sorted(int(i) for i in g) for g in groups)


def _divide(points: Vector, rows: NDArray[np.int64], limit: int, seed: int) -> list[NDArray[np.int64]]:
    if len(rows) <= limit:
        return [rows]
    least = math.ceil(len(rows) / limit)
    groups: list[NDArray[np.int64]] = []
    for k in sorted({min(len(rows), math.ceil(least * growth)) for growth in GROWTH}):
        groups = divide_by_kmeans(points, rows, k, seed)
        if max(len(g) for g in groups) <= limit:
            return groups
    if len(groups) == 1:  # all points the same: cut anywhere
        return [rows[i : i + limit] for i in range(0, len(rows), limit)]
    return [part for g in groups for part in _divide(points, g, limit, seed)]


def divide_by_kmeans(points: Vector, rows: NDArray[np.int64], k: int, seed: int) -> list[NDArray[np.int64]]:
    data = points[rows]
    k = min(k, len(np.unique(data, axis=0)))  # nodes with no way between them are one point
    best: tuple[float, NDArray[np.int64]] | None = None
    for start in range(STARTS):
        rng = np.random.default_rng(1000 * seed + start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # an empty cluster is fine: fewer groups
            centres, labels = kmeans2(data, k, iter=20, minit="++", rng=rng)
        spread = float(((data - centres[labels]) ** 2).sum())
        if best is None or spread < best[0]:
            best = (spread, labels)
    assert best is not None
    return [rows[best[1] == label] for label in np.unique(best[1])]
