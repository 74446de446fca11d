"""Every relation's own progress: a map from a program's relations to what is known of each before a batch and after it.

A program has a `ProgressRule` for each column that carries progress, for each table of state, and for what joins wait for.
A rule names what it is about, and that it is known of it as little as of any of the sources it *waits* for, each through steps
(`waits.py`): streams, or rules before it. What kinds of relations there are is no business of this module:
`logical/progress_rules.py` has a rule for each kind, and every one of them is of this form, because each kind maps bounds by
steps that never fall, and melds them.

`advance_program` reads the rules once, in order, and gives each an `Interval`. Who closes windows, finds a row late, counts
what is open or decides what has no partner asks the map by name, and folds nothing.

What holds a relation back, like mini-partitions whose rows wait, is an entry of its own in the map `held`: nothing more is
known of that relation than it says, nor, through the rules, of what stands on it. What does not stand on it goes on.

Always true of a map, for sources that only advance: an interval's `before` is not ahead of its `after`, and with nothing
held it is what the waits of the relation for streams, composed, give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from headrace.progress.frontier import NOTHING_KNOWN, Frontier, meld
from headrace.progress.waits import Waits, meld_waits
from headrace.windows import WindowSpec


class Interval(NamedTuple):
    """What is known of a relation before a batch, and after it."""

    before: Frontier = NOTHING_KNOWN
    after: Frontier = NOTHING_KNOWN

    @property
    def is_news(self) -> bool:
        return self.before != self.after


ProgressMap = Mapping[str, Interval]


def pair_up(before: Mapping[str, Frontier], after: Mapping[str, Frontier]) -> dict[str, Interval]:
    """Progress of streams from one to the other."""
    return {name: Interval(before.get(name, NOTHING_KNOWN), found) for name, found in after.items()}


@dataclass(frozen=True)
class ProgressRule:
    """What is known of `name`: the least of its `waits`. Its times are the `values`, taken through their steps, or the last
    tick of the windows that hold these. `level` is that of the slots which give it; None: the sources do.
    """

    name: str
    waits: Waits
    values: Waits
    window: WindowSpec | None = None
    level: int | None = None
    by_group: bool = False  # whether bounds of single groups pass


def advance_program(rules: Iterable[ProgressRule], streams: ProgressMap, held: ProgressMap | None = None) -> dict[str, Interval]:
    """The interval of every stream and of what every rule is about."""
    rules, stopped = list(rules), held or {}
    before, after = (
        _advance_end(rules, {name: known[end] for name, known in streams.items()}, {n: one[end] for n, one in stopped.items()})
        for end in (0, 1)
    )
    return {name: Interval(known, after[name]) for name, known in before.items()}


def _advance_end(
    rules: Iterable[ProgressRule], known: dict[str, Frontier], held: Mapping[str, Frontier]
) -> dict[str, Frontier]:
    for rule in rules:
        found = meld_waits(rule.waits, known)
        if found.groups and not rule.by_group:
            found = Frontier(found.bound)
        known[rule.name] = meld([found, held[rule.name]]) if rule.name in held else found
    return known


def hold_back(rules: Iterable[ProgressRule], behind: ProgressMap) -> dict[str, Interval]:
    """The entries that hold back what the slots of the first level give, where some have come only so far with the streams."""
    rules = list(rules)
    reached = advance_program(rules, behind)
    return {rule.name: reached[rule.name] for rule in rules if rule.level == 0}
