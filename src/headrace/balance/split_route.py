"""A route whose mini-partitions may be split, and split again, by refining their hash.

Today's route is a tuple with a slot for every pid. Here an element may also be a pair of such elements: the two
halves of that pid, of which each is a slot or again a pair. A route without pairs is today's, value for value.

    pid = hash mod M;   then the bits of hash div M, lowest first, lead from the pid's root down to a *leaf*

So a leaf at depth d is the residue class  pid + M·bits  modulo  M·2^d  of the hash. Laws (tests/balance): every
hash has exactly one leaf; a split changes where rows of that leaf go and of no other; joining undoes a split; a
tuple of slots routes as it does today. A leaf's state is that part of its pid's rows with these bits, so
splitting moves nothing by itself, and the rows of a segment keep their pid.

Policies see leaves as so many mini-partitions: `list_leaves` numbers them, `replace_slots` puts new owners
back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from headrace.balance.statistics import Owners
from headrace.errors import OptionError

Branch: TypeAlias = "int | tuple[Branch, Branch]"
SplitRoute: TypeAlias = tuple[Branch, ...]

DEEPEST = 12  # splits of splits: 4096 parts of one mini-partition


class Leaf(NamedTuple):
    """A mini-partition, or a part of one: rows with hash mod M = pid and the lowest `depth` bits of hash div M
    equal to `bits`."""

    pid: int
    depth: int = 0
    bits: int = 0

    def halves(self) -> tuple[Leaf, Leaf]:
        """The two parts one more bit makes of it."""
        return Leaf(self.pid, self.depth + 1, self.bits), Leaf(
            self.pid, self.depth + 1, self.bits | 1 << self.depth
        )

    def parent(self) -> Leaf:
        """What it is a half of."""
        return Leaf(self.pid, self.depth - 1, self.bits & ~(1 << (self.depth - 1)))

    def holds(self, value: int, pids: int) -> bool:
        """Whether a hash belongs here."""
        return value % pids == self.pid and (value // pids) % (1 << self.depth) == self.bits


def find_slot(route: SplitRoute, value: int) -> int:
    """The slot of a hash."""
    rest, pid = divmod(value, len(route))
    branch = route[pid]
    while not isinstance(branch, int):
        branch = branch[rest & 1]
        rest >>= 1
    return branch


def list_leaves(route: SplitRoute) -> tuple[list[Leaf], Owners]:
    """All leaves, pid by pid, and the slot of each."""
    found = [pair for pid, branch in enumerate(route) for pair in _walk(branch, Leaf(pid))]
    return [leaf for leaf, _ in found], np.array([slot for _, slot in found], dtype=np.int64)


def _walk(branch: Branch, leaf: Leaf) -> Iterator[tuple[Leaf, int]]:
    if isinstance(branch, int):
        yield leaf, branch
    else:
        for half, part in zip(leaf.halves(), branch, strict=True):
            yield from _walk(part, half)


def replace_slots(route: SplitRoute, slots: Sequence[int] | Owners) -> SplitRoute:
    """The same tree with other slots, in the order of `list_leaves`."""
    names = iter([int(s) for s in slots])

    def rebuild(branch: Branch) -> Branch:
        return next(names) if isinstance(branch, int) else (rebuild(branch[0]), rebuild(branch[1]))

    return tuple(rebuild(branch) for branch in route)


def split_leaf(route: SplitRoute, leaf: Leaf, slots: tuple[int, int] | None = None) -> SplitRoute:
    """The leaf in two halves, both where it was unless other slots are given."""
    if leaf.depth >= DEEPEST:
        raise OptionError(
            f"mini-partition {leaf.pid} is split {leaf.depth} times; it cannot be split further"
        )

    def cut(branch: Branch) -> Branch:
        if not isinstance(branch, int):
            raise OptionError(f"{leaf} is split already")
        return slots if slots is not None else (branch, branch)

    return _change(route, leaf, cut)


def join_leaves(route: SplitRoute, leaf: Leaf, slot: int) -> SplitRoute:
    """Undo the split of a leaf: its halves are one again, in the given slot."""

    def join(branch: Branch) -> Branch:
        if isinstance(branch, int) or not all(isinstance(half, int) for half in branch):
            raise OptionError(f"{leaf} is not split into two leaves")
        return slot

    return _change(route, leaf, join)


def _change(route: SplitRoute, leaf: Leaf, change: Callable[[Branch], Branch]) -> SplitRoute:
    def descend(branch: Branch, depth: int) -> Branch:
        if depth == leaf.depth:
            return change(branch)
        if isinstance(branch, int):
            raise OptionError(f"the route has no {leaf}")
        halves = list(branch)
        side = leaf.bits >> depth & 1
        halves[side] = descend(halves[side], depth + 1)
        return halves[0], halves[1]

    return (*route[: leaf.pid], descend(route[leaf.pid], 0), *route[leaf.pid + 1 :])
