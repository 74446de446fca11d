"""The first half of "plan, then deploy": a join order chosen by the sizes of intermediate results alone.

The classic optimizer, blind to the network: the tree that minimises the sum of what its intermediate joins
carry.
"""

from __future__ import annotations

from headrace.network.plan_search import Splits
from headrace.network.subsets import Subsets


def order_by_size(problem: Subsets) -> Splits:
    """The chosen tree, as the one split of each of its sets."""
    best: dict[int, tuple[float, tuple[int, int] | None]] = {}
    for i in range(len(problem.names)):
        best[1 << i] = (0.0, None)
    for mask, splits in problem.splits.items():
        own = 0.0 if mask == problem.full else problem.flow(mask)
        options = [(best[a][0] + best[b][0] + own, (a, b)) for a, b in splits if a in best and b in best]
        if options:
            best[mask] = min(options)
    chosen: dict[int, list[tuple[int, int]]] = {}

    def walk(mask: int) -> None:
        split = best[mask][1]
        if split is not None:
            walk(split[0])
            walk(split[1])
            chosen[mask] = [split]

    walk(problem.full)
    return chosen
