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

from headrace.logical.join_kind import JoinKind
from headrace.program.program import (
    Compute,
    FindVersions,
    JoinRows,
    Level,
    LookUp,
    Program,
    Send,
    VersionNode,
)


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
        joins = [step for step in level.steps if isinstance(step, JoinRows)]
        for tables in _connect([side.node for side in join.inputs] for join in joins):
            here = [join for join in joins if join.inputs[0].node in tables]
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


def _find_obstacle(program: Program, level: Level, joins: Sequence[JoinRows], tables: set[str]) -> str | None:
    """Why none of these tables may be dealt."""
    views = {join.view for join in joins}
    for step in level.steps:
        if isinstance(step, FindVersions) and not tables.isdisjoint((step.rows, step.versions)):
            return "versions of keys are looked for in it"
        if isinstance(step, (Compute, LookUp)) and step.source in views:
            views.add(step.view)
        elif isinstance(step, Send) and step.local and step.node in tables:
            return f"{program.node(step.node).label} are made in the slot that has the key"
        elif isinstance(step, Send) and step.local and step.source in views:
            return f"{program.node(step.node).label} stands on the join in the same slot and needs the key whole"
    for node in map(program.node, sorted(tables)):
        if isinstance(node, VersionNode) or getattr(node, "by_folder", False):
            return f"{node.label} is kept {'in versions' if isinstance(node, VersionNode) else 'by folder'}"
    return None


def _find_own_obstacle(program: Program, node: str, joins: Sequence[JoinRows]) -> str | None:
    """Why the rows of one of them may not be dealt while those of the others are copied."""
    for join in joins:
        inputs = [side.node for side in join.inputs]
        if join.kind is JoinKind.DISTINCT:
            return "SELECT DISTINCT reads it"
        if 1 in join.kind.kept:
            return f"a {join.kind} join reads it"
        if inputs.count(node) > 1:
            return "it is joined with itself"
        if node not in inputs:
            others = " and ".join(program.node(each).label for each in inputs)
            return f"{others} are joined without it"
        if join.kind.decided and inputs[0] != node:
            return f"{program.node(inputs[0]).label} are given once, whether or not they have a partner in it"
    return None
