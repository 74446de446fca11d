"""Which mini-partitions moved between two routes, renumbering of slots aside.

Slots are numbered by falling work (`number_slots`), so that a slot may go on under another number with all it owns. What
counts as a move is what left its company: slots after are paired with slots before that they share most mini-partitions
with, each with one, and what comes from elsewhere has moved. If numbers as they are explain more, they are taken.
"""

from __future__ import annotations

from collections import Counter

from headrace.state.split_route import SplitRoute, list_leaves

PidMove = tuple[int, int, int]  # mini-partition, slot before, slot after


def list_moves(before: SplitRoute, after: SplitRoute) -> tuple[PidMove, ...]:
    """The moves, by mini-partition; parts that were not there before, or are not any more, have not moved."""
    was = {leaf: int(slot) for leaf, slot in zip(*list_leaves(before), strict=True)}
    owners = [
        (leaf.pid, was[leaf], int(slot)) for leaf, slot in zip(*list_leaves(after), strict=True) if leaf in was
    ]
    shared = Counter((a, b) for _, a, b in owners)
    former: dict[int, int] = {}  # by slot after, the slot before it is taken to be
    for a, b in sorted(shared, key=lambda pair: (-shared[pair], pair[0] != pair[1], pair)):
        if b not in former and a not in former.values():
            former[b] = a
    renumbered = tuple((pid, a, b) for pid, a, b in owners if former.get(b) != a)
    plain = tuple((pid, a, b) for pid, a, b in owners if a != b)
    return min(renumbered, plain, key=len)
