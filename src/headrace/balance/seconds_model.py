"""Seconds of a mini-partition, which nobody measures: a linear model, learnt from slots batch by batch.

One DuckDB statement serves all mini-partitions of a slot, so only slots have a clock. Their seconds are taken to be

    seconds(slot) = start + Σ over nodes of  a·rows + b·state rows + c·results

and the coefficients are learnt by recursive least squares with forgetting: each slot of each batch is one equation, old ones fade, and
the cost is O(coefficients²) per equation, however long the run. Coefficients of nodes that run together are fitted together, because
only their sum is timed. A coefficient below nothing is an accident of features that move together; it is priced as 0.

The error is reported, not assumed: an exponentially weighted mean of squared misses, each judged *before* the equation is learnt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.balance.statistics import Activity, Floats, Owners, Statistics, sum_by_slot

FORGET = 0.99  # per equation; the memory is about a hundred equations
PRIOR = 1e8  # variance of coefficients before anything is seen, in seconds² per scaled feature²
FEATURES = ("rows", "state_rows", "results")


@dataclass(frozen=True, eq=False)
class SecondsModel:
    """What is learnt so far; `coefficients` are the start and then FEATURES of each node in turn."""

    nodes: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    scale: float  # rows of a usual slot: features are kept near 1
    squares: float = 0.0  # smoothed squared miss
    level: float = 0.0  # smoothed squared seconds
    equations: int = 0

    @property
    def error(self) -> float:
        """How far predictions are off, as a share of the seconds of a slot."""
        return float(np.sqrt(self.squares / self.level)) if self.level > 0 else 1.0


def start_model(nodes: Sequence[str]) -> SecondsModel:
    """A model that knows nothing."""
    count = 1 + len(FEATURES) * len(nodes)
    return SecondsModel(tuple(nodes), np.zeros(count), np.eye(count) * PRIOR, 1.0)


def learn_seconds(
    model: SecondsModel, activity: Mapping[str, Activity], seen: Statistics, owners: Owners
) -> SecondsModel:
    """The model after one more batch."""
    slots = seen.slots.count
    features = _features(model, activity, owners, slots)
    scale = model.scale
    if model.equations == 0:
        scale = max(float(features[:, 1:].max(initial=0.0)), 1.0)
    weights, spread = model.coefficients, model.covariance
    squares, level, count = model.squares, model.level, model.equations
    for x, y in zip(features / np.r_[1.0, np.full(features.shape[1] - 1, scale)], seen.slots.busy, strict=True):
        miss = float(y - x @ weights)
        if count >= len(weights):  # earlier misses say how little was known, not how good the model is
            part = max(0.05, 1.0 / (count - len(weights) + 1))
            squares += part * (miss * miss - squares)
            level += part * (float(y) * float(y) - level)
        gain = spread @ x / (FORGET + x @ spread @ x)
        weights = weights + gain * miss
        spread = (spread - np.outer(gain, x @ spread)) / FORGET
        spread = np.minimum((spread + spread.T) / 2, PRIOR)  # what is never excited must not blow up
        count += 1
    return SecondsModel(model.nodes, weights, spread, scale, squares, level, count)


def price_pids(model: SecondsModel, activity: Mapping[str, Activity]) -> Floats:
    """Seconds of each mini-partition by the model; the start of a slot is nobody's."""
    prices = np.maximum(model.coefficients[1:], 0.0) / model.scale
    count = len(next(iter(activity.values())).rows) if activity else 0
    work = np.zeros(count)
    for at, node in enumerate(model.nodes):
        if node in activity:
            for k, name in enumerate(FEATURES):
                work += prices[at * len(FEATURES) + k] * getattr(activity[node], name)
    return work


def _features(model: SecondsModel, activity: Mapping[str, Activity], owners: Owners, slots: int) -> Floats:
    columns = [np.ones(slots)]
    for node in model.nodes:
        for name in FEATURES:
            values = getattr(activity[node], name) if node in activity else np.zeros(len(owners))
            columns.append(sum_by_slot(values, owners, slots))
    return np.column_stack(columns)
