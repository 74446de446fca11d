"""Which tables of rows may be dealt over several slots when one key is hot (docs/design/spreading-a-hot-key.md).

The rows of a table that is dealt are each in one part, those of the tables it is joined with in every part. That is exact where
every result has exactly one row of the dealt table, and where what is decided once, that a row has no partner or its first
one, is decided of a dealt row. So, of all joins that the tables are connected by in a slot:

* each reads the dealt table, and once;
* it is the first input of each left, semi- and anti-join, and none is a full join, SELECT DISTINCT or a search for versions;
* no rows come to the tables from within the slot, where they are made from rows of the same key, and no node of the slot is
  fed with results of the joins: both rely on a key being in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.program.program import Level, Program
from headrace.program.step import Step


@dataclass(frozen=True)
class DealtTable:
    """A table of rows, by node: the tables that are copied when it is dealt, or why it is not."""

    node: str
    copied: tuple[str, ...] = ()
    obstacle: str | None = None


def find_dealt_tables(program: Program) -> dict[str, DealtTable]:
    """Every table of rows that a join reads."""
    found: dict[str, DealtTable] = {}
    for level in program.levels:
        joins = [step for step in level.steps if step.meets]
        for tables in _connect(join.meets for join in joins):
            here = [join for join in joins if not tables.isdisjoint(join.meets)]
            common = _find_obstacle(program, level, here, tables)
            for node in sorted(tables):
                obstacle = common or _find_own_obstacle(program, node, here)
                copied = () if obstacle else tuple(sorted(tables - {node}))
                found[node] = DealtTable(node, copied, obstacle)
    return found


def _connect(groups: Iterable[Sequence[str]]) -> list[set[str]]:
    """Names that are connected by being in one group."""
    found: list[set[str]] = []
    for group in groups:
        apart = [one for one in found if one.isdisjoint(group)]
        found = [*apart, set(group).union(*(one for one in found if one not in apart))]
    return found


def _find_obstacle(program: Program, level: Level, joins: Sequence[Step], tables: set[str]) -> str | None:
    """Why none of these tables may be dealt."""
    views = {join.gives for join in joins}
    for step in level.steps:
        if step.reads in views and step.gives is not None:
            views.add(step.gives)
        if step.feeds is None or step.leaves:
            continue
        if step.feeds in tables:
            return f"{program.node(step.feeds).label} are made in the slot that has the key"
        if step.reads in views:
            return f"{program.node(step.feeds).label} stands on the join in the same slot and needs the key whole"
    reasons = (program.node(name).find_dealing_obstacle() for name in sorted(tables))
    return next((reason for reason in reasons if reason is not None), None)


def _find_own_obstacle(program: Program, node: str, joins: Sequence[Step]) -> str | None:
    """Why the rows of one of them may not be dealt while those of the others are copied."""
    reasons = (join.find_dealing_obstacle(node, lambda name: program.node(name).label) for join in joins)
    return next((reason for reason in reasons if reason is not None), None)
