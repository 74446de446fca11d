"""Seconds of a mini-partition, which nobody measures: a linear model, learnt from slots batch by batch.

One DuckDB statement serves all mini-partitions of a slot, so only slots have a clock. Their seconds are taken
to be

    seconds(slot) = start + Σ over nodes of  a·rows + b·state rows + c·results

and the coefficients are learnt recursively: each slot of each batch is one equation, its products are added to
a small matrix in which old ones fade, and after each batch the least squares with no coefficient below nothing
are solved from that matrix. The cost is that of a few numbers per node, however long the run. Coefficients of
nodes that run together are fitted together, because only their sum is timed. A little ridge keeps what batches
cannot tell apart (state that is alike everywhere, and the start) from drifting.

The error is reported, not assumed: an exponentially weighted mean of squared misses, each judged *before* the
equation is learnt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.balance.statistics import Activity, Floats, Owners, Statistics, sum_by_slot

FORGET = 0.98  # per batch
RIDGE = 1e-6  # of the mean square of features
FEATURES = ("rows", "state_rows", "results")


@dataclass(frozen=True, eq=False)
class SecondsModel:
    """What is learnt so far; `coefficients` are the start and then FEATURES of each node in turn."""

    nodes: tuple[str, ...]
    coefficients: Floats
    products: Floats  # faded sum of (features, seconds) with themselves
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
    return SecondsModel(tuple(nodes), np.zeros(count), np.zeros((count + 1, count + 1)), 1.0)


def learn_seconds(
    model: SecondsModel, activity: Mapping[str, Activity], seen: Statistics, owners: Owners
) -> SecondsModel:
    """The model after one more batch."""
    slots = seen.slots.count
    features = _features(model, activity, owners, slots)
    scale = model.scale
    if model.equations == 0:
        scale = max(float(features[:, 1:].max(initial=0.0)), 1.0)
    scaled = features / np.r_[1.0, np.full(features.shape[1] - 1, scale)]
    squares, level = model.squares, model.level
    if model.equations > len(
        model.coefficients
    ):  # earlier misses say how little was known, not how good the model is
        misses = seen.slots.busy - scaled @ model.coefficients
        part = 0.2 if level > 0 else 1.0
        squares += part * (float(np.mean(misses**2)) - squares)
        level += part * (float(np.mean(seen.slots.busy**2)) - level)
    rows = np.column_stack([scaled, seen.slots.busy])
    products = FORGET * model.products + rows.T @ rows
    weights = _solve(products)
    return SecondsModel(model.nodes, weights, products, scale, squares, level, model.equations + slots)


def _solve(products: Floats) -> Floats:
    """Least squares without negative coefficients, from the products alone."""
    inner = products[:-1, :-1]
    ridge = RIDGE * max(float(np.trace(inner)) / len(inner), 1e-12)
    return solve_nonnegative(inner + ridge * np.eye(len(inner)), products[:-1, -1])


def solve_nonnegative(inner: Floats, target: Floats) -> Floats:
    """The x ≥ 0 with the least x·inner·x / 2 - target·x, for a positive definite `inner`, by Lawson and Hanson's active sets.

    Not SciPy's, which a short run would load for this alone, and which raises where it has not converged.
    """
    found = np.zeros(len(target))
    free = np.zeros(len(target), dtype=bool)
    small = 1e-12 * max(float(np.abs(target).max(initial=0.0)), 1e-300)
    for _ in range(3 * len(target)):
        slope = np.where(free, -np.inf, target - inner @ found)
        if float(slope.max()) <= small:
            break
        free[int(np.argmax(slope))] = True
        while True:
            best = np.zeros(len(target))
            best[free] = np.linalg.solve(inner[np.ix_(free, free)], target[free])
            bad = free & (best <= 0)
            if not bad.any():
                break
            ways = np.full(len(target), np.inf)
            ways[bad] = found[bad] / np.maximum(found[bad] - best[bad], 1e-300)
            found = found + ways.min() * (best - found)
            free &= ways > ways.min()  # at least one has reached nothing
        found = best
    return found


def price_pids(model: SecondsModel, activity: Mapping[str, Activity]) -> Floats:
    """Seconds of each mini-partition by the model; the start of a slot is nobody's."""
    prices = model.coefficients[1:] / model.scale
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
