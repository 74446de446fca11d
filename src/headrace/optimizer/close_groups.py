"""Which tables close the windows of a group as soon as the group's own bound has passed them.

A stream may know more of single groups than of the whole (group-wise punctuation, document 003 §2.1;
partitions of the source). A table over it can use that if its keys tell these groups apart, in every branch
that reads such a stream by the same keys. It may not if a query reads its results in the same window: that
one takes a window to be complete when it appears, and then waits for all groups, as every other table does. A
query with a window of its own waits by itself. A table goes on as it has begun: only readers that are no
younger than it are asked, and a younger one that would need whole windows is refused.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headrace.errors import PlanError
from headrace.logical.graph import Aggregate
from headrace.optimizer.plan import PaneTable, PlacedPlan


def close_groups(plan: PlacedPlan) -> PlacedPlan:
    return replace(plan, tables={id_: _close_early(plan, t) if isinstance(t, PaneTable) else t for id_, t in plan.tables.items()})


def _close_early(plan: PlacedPlan, table: PaneTable) -> PaneTable:
    """The table with the keys by which it may close groups on their own."""
    keys = _find_group_keys(plan, table)
    readers = [r for member in table.members for r in _find_readers(plan, member)] if keys else []
    born = plan.settings.cohort(table.members[0])
    if not keys or any(plan.settings.cohort(r) <= born for r in readers):
        return table
    if readers:
        raise PlanError(
            f"query {readers[0].split('$')[0]}: it reads {table.members[0]} in the same window, but in this checkpoint "
            "that closes the windows of each group by its own progress. Give the query a window of its own, or use a new "
            "checkpoint"
        )
    return replace(table, early=keys)


def _find_group_keys(plan: PlacedPlan, table: PaneTable) -> tuple[int, ...]:
    """The keys that are the columns of the groups; none if there are no groups or keys do not tell them
    apart.
    """
    source, given = plan.graph.relations[table.find_input(plan.graph)], table.list_keys(plan.graph)
    found: set[tuple[int, ...]] = set()
    for branch in (b for leaf in source.find_leaves(plan.graph) for b in leaf.branches) if source.is_over_streams else ():
        groups = plan.graph.streams[branch.stream].groups
        if not groups:
            continue
        shown = {e.name: n for n, e in branch.columns if isinstance(e, exp.Column)}
        keys = {k.name: i for i, k in enumerate(given) if isinstance(k, exp.Column)}
        if not all(g in shown and shown[g] in keys for g in groups):
            return ()
        found.add(tuple(keys[shown[g]] for g in groups))
    return next(iter(found)) if len(found) == 1 else ()


def _find_readers(plan: PlacedPlan, name: str) -> list[str]:
    """The aggregations that read the windows of a relation as they are, directly or through others."""
    found: list[str] = []
    for other in plan.relations:
        relation = plan.graph.relations[other]
        if name not in relation.reads:
            continue
        if not isinstance(relation, Aggregate):
            found += _find_readers(plan, other)
        elif relation.window is None:
            found.append(other)
    return found
