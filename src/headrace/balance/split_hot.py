"""When to split a mini-partition, and when to undo it.

A mini-partition near a slot's share cannot be balanced by moving it. Its hash is refined by as many bits as make parts that
would fit if keys were alike; what parts cost is then *seen* before any is split again. If a half still has nearly all of its
parent's load, one group is that large: refining cannot part its rows, the leaf is called a hot group and left alone here
(`deal_hot` may deal its rows; what is dealt is made whole as parts are). So that there is room for that, a step refines by at
most half of the bits there are. Parts
that together need less than a fifth of a slot's share are joined again, on the slot of the largest. A split costs
writing the state of that mini-partition once, so it takes two batches in a row to ask for one, and eight to undo one; these and
the gap between both bounds keep noise from doing them in turn.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.balance.statistics import Floats
from headrace.state.dealt_route import list_dealt
from headrace.state.leaf_numbers import find_deepest
from headrace.state.split_route import Leaf, SplitRoute, change_vertex, join_leaves, list_leaves, split_leaf

SPLIT_ABOVE = 0.5  # of a slot's share
PART = 0.25  # of a slot's share, what a part may have
JOIN_BELOW = 0.2  # of a slot's share
ONE_GROUP = 0.9  # of the parent's load in one half
HOT, COOL = 2, 8  # batches


@dataclass(frozen=True)
class SplitOutcome:
    """The next route, what was split and joined, and leaves that are one hot group."""

    route: SplitRoute
    split: tuple[Leaf, ...] = ()
    joined: tuple[Leaf, ...] = ()
    hot_groups: tuple[Leaf, ...] = field(default=())


def split_hot(route: SplitRoute, recent: Sequence[Floats], slots: int) -> SplitOutcome:
    """Split what is hot, join what has cooled. `recent` is what leaves of the route cost in the last batches, the latest last,
    each as a share of its batch.
    """
    leaves, owners = list_leaves(route)
    if len(recent) < HOT or slots < 2 or not recent[-1].any():
        return SplitOutcome(route)
    least = np.min(recent[-HOT:], axis=0) * slots  # in shares of a slot
    split, hot = [], []
    load = _sum_up(leaves, least)
    dealt = dict(list_dealt(route))
    parts = {part for vertex, one in dealt.items() for part in one.list_parts(vertex)}
    deepest = find_deepest(len(route))
    for at in np.flatnonzero(least > SPLIT_ABOVE):
        leaf = leaves[int(at)]
        if leaf in parts:
            continue
        bits = min(math.ceil(math.log2(least[at] / PART)), math.ceil(deepest / 2), deepest - leaf.depth)
        if bits <= 0 or _is_one_group(leaf, load):
            hot.append(leaf)
        else:
            split.append(leaf)
            route = _refine(route, leaf, bits)
    joined: list[Leaf] = []
    if len(recent) >= COOL:
        most = _sum_up(leaves, np.max(recent[-COOL:], axis=0) * slots)
        slot = {leaf: int(s) for leaf, s in zip(leaves, owners, strict=True)}
        within = {v for v in most for vertex in dealt if vertex.covers(v) and v != vertex}
        for vertex in sorted(most.keys() - slot.keys() - within, key=lambda vertex: (vertex.depth, vertex)):
            if most[vertex] < JOIN_BELOW and not any(above.covers(vertex) for above in joined):
                largest = max((leaf for leaf in leaves if vertex.covers(leaf)), key=lambda leaf: most[leaf])
                joined.append(vertex)
                route = _make_whole(route, vertex, {*slot, *dealt} - parts, slot[largest])
    return SplitOutcome(route, tuple(split), tuple(joined), tuple(hot))


def _make_whole(route: SplitRoute, vertex: Leaf, leaves: Collection[Leaf], slot: int) -> SplitRoute:
    """Without what is below the vertex; `leaves` are split no further, but may be dealt."""
    if vertex not in leaves:
        for half in vertex.halves():
            route = _make_whole(route, half, leaves, slot)
        return join_leaves(route, vertex, slot)
    return change_vertex(route, vertex, lambda _: slot)


def _refine(route: SplitRoute, leaf: Leaf, bits: int) -> SplitRoute:
    route = split_leaf(route, leaf)
    for half in leaf.halves() if bits > 1 else ():
        route = _refine(route, half, bits - 1)
    return route


def _sum_up(leaves: Sequence[Leaf], work: Floats) -> dict[Leaf, float]:
    """The work of every vertex: that of the leaves under it."""
    total: dict[Leaf, float] = {}
    for leaf, cost in zip(leaves, work.tolist(), strict=True):
        total[leaf] = total.get(leaf, 0.0) + cost
        while leaf.depth:
            leaf = leaf.parent()
            total[leaf] = total.get(leaf, 0.0) + cost
    return total


def _is_one_group(leaf: Leaf, load: dict[Leaf, float]) -> bool:
    """Whether splitting its parent left nearly everything here."""
    return leaf.depth > 0 and load[leaf] > ONE_GROUP * load[leaf.parent()]
