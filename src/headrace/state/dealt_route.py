"""Leaves that are dealt: the rows of one hot key over several slots (docs/design/spreading-a-hot-key.md).

Rows of a key have one hash, so refining it leaves them together. In a `DealtLeaf` the rows of one table of a join, the *dealt*
one, go to one of its parts each, by a hash of the whole row; rows of the tables it is joined with are *copied* to every part;
all other rows of these keys stay in the first part. So every part can join what it has by itself: a dealt row meets all its
partners, and only there. Which tables may be dealt: `program/dealt_tables.py`.

Parts have the numbers that the halves of a split have. A number therefore means one thing in one manifest and may mean another
in the next, unless the leaf is whole in between: `pass_through_whole` sees to that. When a leaf is whole again, its dealt
rows come together, and of each copied table one copy stays (`list_copies`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.errors import OptionError
from headrace.state.leaf_numbers import number_leaf
from headrace.state.split_route import DEEPEST, Branch, DealtLeaf, Leaf, SplitRoute, change_vertex


def deal_leaf(route: SplitRoute, leaf: Leaf, dealt: str, copied: tuple[str, ...], bits: int) -> SplitRoute:
    """The leaf in 2^bits parts, all where it was."""
    if bits < 1 or leaf.depth + bits > DEEPEST:
        raise OptionError(f"mini-partition {leaf.pid}, split {leaf.depth} times, cannot be dealt over {1 << bits} parts")

    def deal(branch: Branch) -> Branch:
        if not isinstance(branch, int):
            raise OptionError(f"{leaf} is split or dealt already")
        return DealtLeaf(dealt, copied, (branch,) * (1 << bits))

    return change_vertex(route, leaf, deal)


def list_dealt(route: SplitRoute) -> list[tuple[Leaf, DealtLeaf]]:
    """The leaves that are dealt, and where they are."""

    def walk(branch: Branch, leaf: Leaf) -> Iterator[tuple[Leaf, DealtLeaf]]:
        if isinstance(branch, DealtLeaf):
            yield leaf, branch
        elif isinstance(branch, tuple):
            for half, part in zip(leaf.halves(), branch, strict=True):
                yield from walk(part, half)

    return [found for pid, branch in enumerate(route) for found in walk(branch, Leaf(pid))]


def find_parts(route: SplitRoute, node: str) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Where rows of a node are dealt, and where they are copied: by the number that their keys lead to, those of all parts."""
    dealt, copied = {}, {}
    for leaf, one in list_dealt(route):
        numbers = tuple(number_leaf(part, len(route)) for part in one.list_parts(leaf))
        if node == one.dealt:
            dealt[numbers[0]] = numbers
        elif node in one.copied:
            copied[numbers[0]] = numbers
    return dealt, copied


def list_copies(before: SplitRoute, after: SplitRoute) -> dict[str, frozenset[int]]:
    """By node, numbers whose rows are copies to let go of: of leaves that are not dealt any more, all parts but the first."""
    kept = {leaf for leaf, _ in list_dealt(after)}
    found: dict[str, frozenset[int]] = {}
    for leaf, one in list_dealt(before):
        if leaf not in kept:
            numbers = {number_leaf(part, len(before)) for part in one.list_parts(leaf)[1:]}
            for node in one.copied:
                found[node] = found.get(node, frozenset()) | numbers
    return found


def pass_through_whole(before: SplitRoute, after: SplitRoute) -> SplitRoute:
    """The next route, where a leaf that would be dealt otherwise, split instead, or dealt after being split, is whole first."""

    def pass_branch(was: Branch, is_: Branch) -> Branch:
        if isinstance(was, int) or isinstance(is_, int):
            return is_
        if isinstance(was, tuple) and isinstance(is_, tuple):
            return pass_branch(was[0], is_[0]), pass_branch(was[1], is_[1])
        if isinstance(was, DealtLeaf) and isinstance(is_, DealtLeaf) and _is_alike(was, is_):
            return is_
        return _find_first(is_)

    if all(isinstance(branch, int) for branch in (*before, *after)):
        return after
    return tuple(pass_branch(*pair) for pair in zip(before, after, strict=True))


def end_dealing(route: SplitRoute, may_stay: Callable[[DealtLeaf], bool]) -> SplitRoute:
    """The route with leaves whole that may not stay dealt."""
    for leaf, one in list_dealt(route):
        if not may_stay(one):
            route = change_vertex(route, leaf, _find_first)
    return route


def _is_alike(one: DealtLeaf, other: DealtLeaf) -> bool:
    return (one.dealt, one.copied, len(one.slots)) == (other.dealt, other.copied, len(other.slots))


def _find_first(branch: Branch) -> int:
    while isinstance(branch, tuple):
        branch = branch[0]
    return branch.slots[0] if isinstance(branch, DealtLeaf) else branch
