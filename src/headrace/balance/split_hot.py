"""When to split a mini-partition, and when to undo it.

A mini-partition that alone takes longer than a slot's share cannot be balanced by moving it. Its hash is
refined by one bit a round, so that each half's load is *seen* before it is split again. If a half still has
nearly all of its parent's load, one group is that large: refining cannot part its rows, the leaf is called a
hot group and left alone (its rows would have to be spread and super-aggregated). Two halves that together need
less than half of a slot's share are joined again, on the slot of the larger; the gap between splitting and
joining keeps noise from doing both in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headrace.balance.split_route import (
    DEEPEST,
    Leaf,
    SplitRoute,
    join_leaves,
    list_leaves,
    split_leaf,
)
from headrace.balance.statistics import Floats

SPLIT_ABOVE = 1.0  # of a slot's share
JOIN_BELOW = 0.5  # of a slot's share
ONE_GROUP = 0.9  # of the parent's load in one half


@dataclass(frozen=True)
class SplitOutcome:
    """The next route, what was split and joined, and leaves that are one hot group."""

    route: SplitRoute
    split: tuple[Leaf, ...] = ()
    joined: tuple[Leaf, ...] = ()
    hot_groups: tuple[Leaf, ...] = field(default=())


def split_hot(route: SplitRoute, work: Floats, slots: int) -> SplitOutcome:
    """Split what exceeds a slot's share, join what has cooled; `work` runs over the leaves of the route."""
    leaves, owners = list_leaves(route)
    share = float(work.sum()) / slots
    if share <= 0:
        return SplitOutcome(route)
    load = {leaf: float(w) for leaf, w in zip(leaves, work, strict=True)}
    slot = {leaf: int(s) for leaf, s in zip(leaves, owners, strict=True)}
    split, joined, hot = [], [], []
    for at in np.flatnonzero(work > SPLIT_ABOVE * share):
        leaf = leaves[int(at)]
        if leaf.depth >= DEEPEST or _is_one_group(leaf, load):
            hot.append(leaf)
        else:
            split.append(leaf)
            route = split_leaf(route, leaf)
    for leaf in leaves:
        if leaf.depth and leaf == leaf.parent().halves()[0]:
            halves = leaf.parent().halves()
            if halves[1] in load and load[halves[0]] + load[halves[1]] < JOIN_BELOW * share:
                larger = max(halves, key=lambda half: load[half])
                joined.append(leaf.parent())
                route = join_leaves(route, leaf.parent(), slot[larger])
    return SplitOutcome(route, tuple(split), tuple(joined), tuple(hot))


def _is_one_group(leaf: Leaf, load: dict[Leaf, float]) -> bool:
    """Whether splitting its parent left nearly everything here."""
    if not leaf.depth:
        return False
    other = next(half for half in leaf.parent().halves() if half != leaf)
    return other in load and load[leaf] > ONE_GROUP * (load[leaf] + load[other])
