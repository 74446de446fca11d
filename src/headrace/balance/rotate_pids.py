"""Rotation: mini-partitions that together exceed a slot's memory take turns (document 002, section 6).

Flux spills a consumer's mini-partitions to disk when memory runs out, and brings them back one after the other, each with the
input that waited for it. State here is on disk anyway, in segments; what needs memory is to work on it. So a slot works on
groups of its mini-partitions, one group after the other, each small enough. Input waits within the batch only.

Groups are neighbours in the order of their numbers, so that they change little from batch to batch, and so do the segments
they share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

SHARE = 0.5  # of the memory of a slot that state and input of a group may take; the rest is for what is made of them


def find_limit(memory: int) -> float:
    """Bytes of state and input that a group may have in a slot with so much memory."""
    return memory * SHARE


def rotate_pids(
    pids: Collection[int], sizes: Mapping[int, int], memory: int | None
) -> list[frozenset[int]]:
    """Mini-partitions with state and input of these bytes, in groups that fit; one that does not fit is a group of its own."""
    limit = None if memory is None else find_limit(memory)
    if limit is None or sum(sizes.get(pid, 0) for pid in pids) <= limit:
        return [frozenset(pids)]
    groups: list[list[int]] = [[]]
    filled = 0
    for pid in sorted(pids):
        size = sizes.get(pid, 0)
        if filled and filled + size > limit:
            groups.append([])
            filled = 0
        groups[-1].append(pid)
        filled += size
    return [frozenset(group) for group in groups]
