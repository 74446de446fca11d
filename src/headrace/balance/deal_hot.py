"""When the rows of one hot key are dealt over several slots, and over how many (docs/design/spreading-a-hot-key.md).

Of a leaf's load, the share d is of the table that would be dealt, c of those that would be copied, w of neither. In m parts the
largest has d/m + c + w of the load, and copying adds c·(m - 1) to the whole. The more parts, the less the first and the more the
second: m is the power of two for which the larger of the largest part and the mean of the slots is least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.balance.statistics import Activity
from headrace.state.dealt_route import deal_leaf
from headrace.state.leaf_numbers import find_deepest
from headrace.state.split_route import Leaf, SplitRoute, list_leaves

WORTH = 0.8  # of the leaf's load: what may be left in one slot

Copied = Mapping[str, tuple[str, ...]]  # by table that may be dealt: those that are copied then


@dataclass(frozen=True)
class Dealing:
    """The table to deal and over how many parts, as a power of two; what is left in the slowest slot, in shares of a slot."""

    dealt: str
    bits: int
    left: float


def deal_hot(
    route: SplitRoute,
    hot: Sequence[tuple[Leaf, float]],
    activity: Mapping[str, Activity],
    copied: Copied,
    slots: int,
    before: SplitRoute,
) -> tuple[SplitRoute, tuple[Leaf, ...]]:
    """Deal those of the hot leaves, each with its load in shares of a slot, for which it is worth it. `activity` runs over the
    leaves of the route `before`.
    """
    index = {leaf: at for at, leaf in enumerate(list_leaves(before)[0])}
    dealt = []
    for leaf, load in hot:
        rows = {node: float(one.rows[index[leaf]]) for node, one in activity.items()}
        best = choose_dealing(load, rows, copied, slots, find_deepest(len(route)) - leaf.depth)
        if best is not None:
            route = deal_leaf(route, leaf, best.dealt, copied[best.dealt], best.bits)
            dealt.append(leaf)
    return route, tuple(dealt)


def choose_dealing(
    load: float, rows: Mapping[str, float], copied: Copied, slots: int, deepest: int
) -> Dealing | None:
    """The best way to deal a leaf whose new rows are these by table, in at most 2^deepest parts; None if it is not worth it."""
    total = sum(rows.values())
    if not total:
        return None
    ways = []
    for table, others in sorted(copied.items()):
        own = rows.get(table, 0.0) / total
        copies = sum(rows.get(other, 0.0) for other in others) / total
        for bits in range(1, min(deepest, (slots - 1).bit_length()) + 1):
            parts = 1 << bits
            largest = load * (1 - own + own / parts)
            mean = 1 + load * copies * (parts - 1) / slots
            ways.append(Dealing(table, bits, max(largest, mean)))
    best = min(ways, key=lambda way: (way.left, way.bits), default=None)
    return best if best is not None and best.left <= WORTH * load else None
