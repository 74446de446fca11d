"""Rotation: mini-partitions that together exceed a slot's memory take turns (document 002, section 6).

Flux spills a consumer's mini-partitions to disk when memory runs out, and brings them back one after the other, each with the
input that waited for it. State here is on disk anyway, in segments; what needs memory is to work on it. So a slot works on
groups of its mini-partitions, one group after the other, each small enough. Input waits within the batch only.

Groups are neighbours in the order of their numbers, so that they change little from batch to batch, and so do the segments
they share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping


def rotate_pids(
    pids: Collection[int], sizes: Mapping[int, int], limit: float | None
) -> list[frozenset[int]]:
    """Mini-partitions with state and input of these bytes, in groups of `limit` bytes; one with more is a group of its own."""
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
