"""Frontiers: what is known not to come any more (document 003, chapters 4 and 7).

A frontier says of a relation "no row with a progressing value below `bound` will come", and may say more of single
groups (group-wise linear punctuation: a group that is further ahead than the rest). Frontiers order by what they
exclude and form a lattice:

* `advance` is the join: both are known, so what either excludes is excluded. Progress once made is never taken
  back, hence a new frontier is always `advance(old, news)`.
* `meld` is the meet: of a union only what every input excludes is excluded (Figure 8-2). An input that has shown
  nothing excludes nothing.

Both are associative, commutative and idempotent, absorb each other and distribute, so observations may be taken in
any order and more than once. `NOTHING_KNOWN` is the neutral element of `advance`: its bound is `LOWEST`, before every
value there can be, which functions of the attribute leave as it is.
A window [start, end) is complete when end <= bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

Group = tuple[Hashable, ...]
LOWEST, HIGHEST = -(1 << 62), 1 << 62  # before and after every progressing value


@dataclass(frozen=True)
class Frontier:
    """No row below `bound` will come, nor one of a group in `groups` below that group's bound.

    Canonical: `groups` is sorted by group, and holds only groups that are ahead of `bound`.
    """

    bound: int = LOWEST
    groups: tuple[tuple[Group, int], ...] = ()

    def __post_init__(self) -> None:
        if self.groups:
            ahead = {g: b for g, b in self.groups if b > self.bound}
            object.__setattr__(self, "groups", tuple(sorted(ahead.items(), key=repr)))

    @property
    def is_known(self) -> bool:
        """Whether anything holds for all rows."""
        return self.bound > LOWEST

    @property
    def furthest(self) -> int:
        """The largest of all bounds."""
        return max((own for _, own in self.groups), default=self.bound)

    def bound_of(self, group: Group) -> int:
        """The bound that holds for a group."""
        return dict(self.groups).get(group, self.bound)


NOTHING_KNOWN = Frontier()


def bound_at(value: int | None) -> Frontier:
    """What is known when no value before this one will come; None: nothing."""
    return NOTHING_KNOWN if value is None else Frontier(value)


def advance(old: Frontier, new: Frontier) -> Frontier:
    """What is excluded when both are known."""
    named = {g for g, _ in (*old.groups, *new.groups)}
    return Frontier(max(old.bound, new.bound), tuple((g, max(old.bound_of(g), new.bound_of(g))) for g in named))


def meld(inputs: Iterable[Frontier]) -> Frontier:
    """What every input excludes: the frontier of their union. A union of nothing excludes nothing."""
    every = list(inputs)
    if not every:
        return NOTHING_KNOWN
    if not any(one.groups for one in every):
        return min(every, key=lambda one: one.bound)
    result = every[0]
    for other in every[1:]:
        named = {g for g, _ in (*result.groups, *other.groups)}
        groups = tuple((g, min(result.bound_of(g), other.bound_of(g))) for g in named)
        result = Frontier(min(result.bound, other.bound), groups)
    return result
