"""A cost space: points whose distances resemble the network's, found by relaxing springs.

Every node is tied to others by springs as long as the distance between them; in each round it moves a little
along the spring to one random other node (Vivaldi, Cox et al., which the document's reference [9] uses in
three dimensions; 4,000 rounds as in section 4.4). Steps shrink, so that the points come to rest.
"""

from __future__ import annotations

import numpy as np

from headrace.network.distance_metric import DistanceMetric, Vector

DIMENSIONS = 3
ROUNDS = 4000


def embed_network(
    metric: DistanceMetric, seed: int = 0, rounds: int = ROUNDS, dimensions: int = DIMENSIONS
) -> Vector:
    """A point for every node."""
    n = metric.size
    rng = np.random.default_rng(seed)
    partners = _partners(metric, rng)
    reach = partners[1][np.isfinite(partners[1])]
    scale = float(reach.mean()) or 1.0
    points = rng.normal(0.0, scale / 2, (n, dimensions))
    for step in range(rounds):
        pace = 0.25 * (1.0 - step / rounds) + 0.005
        other = partners[0][:, step % partners[0].shape[1]]
        length = partners[1][:, step % partners[0].shape[1]]
        apart = points[other] - points
        now = np.sqrt((apart**2).sum(axis=1))
        pull = np.where(np.isfinite(length), now - length, 0.0) / np.maximum(now, 1e-9)
        points = points + pace * pull[:, None] * apart
    return points


def _partners(metric: DistanceMetric, rng: np.random.Generator) -> tuple[np.ndarray, Vector]:
    """For each node the others it looks at in turn, and how far they are."""
    n = metric.size
    chosen = rng.permutation(n)[: min(n, 256)]
    far = np.column_stack([metric.row(int(c)) for c in chosen])
    order = rng.permuted(np.tile(np.arange(len(chosen)), (n, 1)), axis=1)
    return chosen[order], np.take_along_axis(far, order, axis=1)
