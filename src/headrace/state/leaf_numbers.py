"""Numbers of leaves: what rows carry as their pid when mini-partitions are split.

Rows carry the *number* of their leaf in the column `pid`:  pid + M·(2^d - 1 + bits), which is the pid itself where nothing is
split. Each vertex of a pid's tree has a number of its own, and a number says which vertex it is, so what a segment holds is
known whatever has become of the route since. Rows are stored under leaves of the route of their batch. When the tree changes,
some are *stale*: of a vertex that is split now, or of one whose ancestor is a leaf again. One slot has them all
(`keep_together`: the halves of a split stay in one slot for one batch); it numbers them anew from their keys and writes them
under their new numbers with that batch, and from the next batch on the leaves may go anywhere. A kill in between finds the
manifest of before or of after: numbers and route of one manifest always go together. Where a leaf is dealt
(`dealt_route`), keys alone lead to its first part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from headrace.state.split_route import (
    DEEPEST,
    Branch,
    DealtLeaf,
    Leaf,
    SplitRoute,
    list_leaves,
    replace_slots,
)

NUMBERS = 1 << 16  # of vertices: the column `pid` has two bytes


def number_leaf(leaf: Leaf, pids: int) -> int:
    """What rows of a vertex carry as their pid."""
    return leaf.pid + pids * ((1 << leaf.depth) - 1 + leaf.bits)


def find_leaf(number: int, pids: int) -> Leaf:
    """The vertex of a number."""
    order, pid = divmod(number, pids)
    depth = (order + 1).bit_length() - 1
    return Leaf(pid, depth, order + 1 - (1 << depth))


def find_deepest(pids: int) -> int:
    """How often mini-partitions may be split, when there are so many."""
    return max(0, min(DEEPEST, (NUMBERS // pids + 1).bit_length() - 2))


@lru_cache(maxsize=64)
def list_numbers(route: SplitRoute) -> tuple[int, ...]:
    """The number of every leaf, in the order of `list_leaves`."""
    return tuple(number_leaf(leaf, len(route)) for leaf in list_leaves(route)[0])


@lru_cache(maxsize=64)
def list_owners(route: SplitRoute) -> NDArray[np.int32]:
    """The slot of every leaf, by number; -1 where no leaf has that number."""
    numbers = list_numbers(route)
    owners = np.full(max(numbers) + 1, -1, np.int32)
    owners[list(numbers)] = list_leaves(route)[1]
    return owners


def list_splits(route: SplitRoute) -> dict[int, tuple[int, ...]]:
    """For each pid that is split, the number of the leaf for every value of as many bits as its deepest leaf has."""
    found = {}
    for pid, branch in enumerate(route):
        if not isinstance(branch, int):
            held = dict(_walk_keys(branch, Leaf(pid), len(route)))
            values = range(1 << max(leaf.depth for leaf in held))
            found[pid] = tuple(
                next(n for leaf, n in held.items() if value % (1 << leaf.depth) == leaf.bits) for value in values
            )
    return found


def _walk_keys(branch: Branch, leaf: Leaf, pids: int) -> Iterator[tuple[Leaf, int]]:
    """The leaves that keys lead to, and the number of each."""
    if isinstance(branch, int):
        yield leaf, number_leaf(leaf, pids)
    elif isinstance(branch, DealtLeaf):
        yield leaf, number_leaf(branch.list_parts(leaf)[0], pids)
    else:
        for half, part in zip(leaf.halves(), branch, strict=True):
            yield from _walk_keys(part, half, pids)


def number_hashes(route: SplitRoute, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The numbers of the leaves that hashes belong to."""
    rest, pids = np.divmod(hashes, np.uint64(len(route)))
    numbers = pids.astype(np.int64)
    for pid, parts in list_splits(route).items():
        at = np.flatnonzero(pids == pid)
        numbers[at] = np.array(parts)[(rest[at] % np.uint64(len(parts))).astype(np.int64)]
    return numbers


def find_owner(route: SplitRoute, number: int) -> int:
    """The slot that has the rows of a vertex: of the leaf it is or is part of, or of its first leaf."""
    leaf = find_leaf(number, len(route))
    branch, depth = route[leaf.pid], 0
    while isinstance(branch, tuple):
        branch = branch[leaf.bits >> depth & 1]
        depth += 1
    if isinstance(branch, DealtLeaf):
        return branch.slots[leaf.bits >> depth & (len(branch.slots) - 1)]
    return branch


def find_stale(route: SplitRoute, numbers: Iterable[Collection[int]]) -> frozenset[int]:
    """Those of the numbers that are no leaf of the route."""
    current = set(list_numbers(route))
    return frozenset(n for held in set(map(tuple, numbers)) for n in held if n not in current)


def keep_together(route: SplitRoute, stale: Iterable[int]) -> SplitRoute:
    """The route with all leaves of each stale vertex in one slot, that of its first leaf: its rows are not apart yet."""
    for number in sorted(stale):
        vertex, slot = find_leaf(number, len(route)), find_owner(route, number)
        leaves, owners = list_leaves(route)
        within = [vertex.covers(leaf) for leaf in leaves]
        if any(within):
            route = replace_slots(route, np.where(within, slot, owners))
    return route


def describe_leaf(leaf: Leaf) -> str:
    """17, or 17.01: the part of it whose first bits are 0 and 1."""
    bits = "".join(str(leaf.bits >> at & 1) for at in range(leaf.depth))
    return f"{leaf.pid}.{bits}" if bits else f"{leaf.pid}"
