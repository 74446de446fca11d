"""A route whose mini-partitions may be split, and split again, by refining their hash (document 002, section 5.1).

A route has an element for every pid: its slot, or a pair of such elements, the two halves of that pid, of which each is a slot
or again a pair. A route without pairs has a slot for every pid.

    pid = hash mod M;   then the bits of hash div M, lowest first, lead from the pid's root down to a *leaf*

So a leaf at depth d is the residue class  pid + M·bits  modulo  M·2^d  of the hash. Laws (tests/balance): every
hash has exactly one leaf; a split changes where rows of that leaf go and of no other; joining undoes a split; a
tuple of slots routes by hash mod M. Policies see leaves as so many mini-partitions: `list_leaves` lists them,
`replace_slots` puts new owners back.
Numbers of leaves: `leaf_numbers`. No bit of the hash parts the rows of one key: a `DealtLeaf` has parts too, over which
the rows of one table are dealt one by one (`dealt_route`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headrace.errors import OptionError

Owners = NDArray[np.int64]  # the slot of every leaf

Branch: TypeAlias = "int | tuple[Branch, Branch] | DealtLeaf"
SplitRoute: TypeAlias = tuple[Branch, ...]

DEEPEST = 8  # splits of splits: 256 parts of one mini-partition


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

    def covers(self, other: Leaf) -> bool:
        """Whether the other is a part of it, or it itself."""
        return (
            other.pid == self.pid and other.depth >= self.depth and other.bits % (1 << self.depth) == self.bits
        )

    def holds(self, value: int, pids: int) -> bool:
        """Whether a hash belongs here."""
        return value % pids == self.pid and (value // pids) % (1 << self.depth) == self.bits


@dataclass(frozen=True)
class DealtLeaf:
    """A leaf in so many parts, a power of two: rows of the table `dealt` are each in one of them, by a hash of the whole row,
    those of the tables `copied` in all, and all others in the first. Parts are numbered as its descendants are.
    """

    dealt: str
    copied: tuple[str, ...]
    slots: tuple[int, ...]  # of the parts

    @property
    def depth(self) -> int:
        """How many bits tell the parts apart."""
        return len(self.slots).bit_length() - 1

    def list_parts(self, leaf: Leaf) -> list[Leaf]:
        """Its parts, when it is at `leaf`."""
        return [Leaf(leaf.pid, leaf.depth + self.depth, leaf.bits | n << leaf.depth) for n in range(len(self.slots))]


def find_slot(route: SplitRoute, value: int) -> int:
    """The slot of a hash; of a leaf that is dealt, of its first part."""
    rest, pid = divmod(value, len(route))
    branch = route[pid]
    while isinstance(branch, tuple):
        branch = branch[rest & 1]
        rest >>= 1
    return branch.slots[0] if isinstance(branch, DealtLeaf) else branch


def list_leaves(route: SplitRoute) -> tuple[list[Leaf], Owners]:
    """All leaves, pid by pid, and the slot of each."""
    found = [pair for pid, branch in enumerate(route) for pair in walk_leaves(branch, Leaf(pid))]
    return [leaf for leaf, _ in found], np.array([slot for _, slot in found], dtype=np.int64)


def walk_leaves(branch: Branch, leaf: Leaf) -> Iterator[tuple[Leaf, int]]:
    """The leaves under a vertex, and the slot of each."""
    if isinstance(branch, int):
        yield leaf, branch
    elif isinstance(branch, DealtLeaf):
        yield from zip(branch.list_parts(leaf), branch.slots, strict=True)
    else:
        for half, part in zip(leaf.halves(), branch, strict=True):
            yield from walk_leaves(part, half)


def replace_slots(route: SplitRoute, slots: Sequence[int] | Owners) -> SplitRoute:
    """The same tree with other slots, in the order of `list_leaves`."""
    names = iter([int(s) for s in slots])

    def rebuild(branch: Branch) -> Branch:
        if isinstance(branch, DealtLeaf):
            return replace(branch, slots=tuple(next(names) for _ in branch.slots))
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

    return change_vertex(route, leaf, cut)


def join_leaves(route: SplitRoute, leaf: Leaf, slot: int) -> SplitRoute:
    """Undo the split of a leaf, or that it is dealt: its parts are one again, in the given slot."""

    def join(branch: Branch) -> Branch:
        if isinstance(branch, int) or (isinstance(branch, tuple) and not all(isinstance(half, int) for half in branch)):
            raise OptionError(f"{leaf} is not split into two leaves")
        return slot

    return change_vertex(route, leaf, join)


def change_vertex(route: SplitRoute, leaf: Leaf, change: Callable[[Branch], Branch]) -> SplitRoute:
    """The route with something else at a vertex."""

    def descend(branch: Branch, depth: int) -> Branch:
        if depth == leaf.depth:
            return change(branch)
        if not isinstance(branch, tuple):
            raise OptionError(f"the route has no {leaf}")
        halves = list(branch)
        side = leaf.bits >> depth & 1
        halves[side] = descend(halves[side], depth + 1)
        return halves[0], halves[1]

    return (*route[: leaf.pid], descend(route[leaf.pid], 0), *route[leaf.pid + 1 :])


def read_route(value: Sequence[Any]) -> SplitRoute:
    """A route from JSON."""
    return tuple(map(_read_branch, value))


def _read_branch(value: Any) -> Branch:
    if isinstance(value, int):
        return value
    if isinstance(value, dict):
        return DealtLeaf(value["dealt"], tuple(value["copied"]), tuple(value["slots"]))
    left, right = map(_read_branch, value)
    return left, right


def write_branch(value: object) -> object:
    """What JSON has no notation for."""
    if isinstance(value, DealtLeaf):
        return {"dealt": value.dealt, "copied": value.copied, "slots": value.slots}
    raise TypeError(f"{type(value).__name__} is not written as JSON")
