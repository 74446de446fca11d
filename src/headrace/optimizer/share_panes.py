"""Which aggregations share one table of panes (document 003 §6.2, across queries).

Aggregations over rows that agree on source, filter and keys can live on the same panes: the gcd of their
windows. They share only if that is no finer than the finest of them needs by itself, or sharing would cost
more than it saves (panes of 1 s for windows of 60 s and 7 s). Windows whose old panes melt into one
(landmarks) share with their like only. A later *cohort* never joins an earlier one's table: its state
exists already.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from headrace.dialect.duck_expression import spark_sql
from headrace.logical.graph import Aggregate, Rows
from headrace.logical.rows import find_branch_steps
from headrace.optimizer.describe import describe_input
from headrace.optimizer.plan import PaneTable, SharedPlan, TypedPlan
from headrace.optimizer.trace_columns import trace_to_stream
from headrace.windows import WindowSpec, share_grid


@dataclass
class _Group:
    agreed: Hashable
    cohort: int
    members: list[Aggregate] = field(default_factory=list)

    @property
    def windows(self) -> list[WindowSpec]:
        return [m.window for m in self.members if m.window is not None]

    def accepts(self, window: WindowSpec) -> bool:
        together = [*self.windows, window]
        if any(w.settles for w in together):
            return window in self.windows
        return share_grid(together).width >= min(w.pane for w in together)


def share_panes(plan: TypedPlan) -> SharedPlan:
    groups: list[_Group] = []
    for name in plan.relations:
        relation = plan.graph.relations[name]
        if not isinstance(relation, Aggregate) or relation.window is None:
            continue
        if not plan.graph.relations[relation.input].is_over_streams:
            continue
        agreed, cohort = _agreement(plan, relation), plan.settings.cohort(name)
        for group in groups:
            if (group.agreed, group.cohort) == (agreed, cohort) and group.accepts(relation.window):
                group.members.append(relation)
                break
        else:
            groups.append(_Group(agreed, cohort, [relation]))
    tables = [_make_table(plan, group, f"t{number}") for number, group in enumerate(groups)]
    table_of = {member: table.id for table in tables for member in table.members}
    return plan.then(SharedPlan, tables={table.id: table for table in tables}, table_of=table_of)


def _agreement(plan: TypedPlan, relation: Aggregate) -> Hashable:
    """What aggregations must agree on: stream, filter, keys and time of every branch, down to the stream's
    columns.
    """
    source = plan.graph.relations[relation.input]
    assert isinstance(source, Rows)
    types = plan.types[source.name]
    return tuple(
        (
            b.stream,
            spark_sql(b.where) if b.where is not None else None,
            *(spark_sql(trace_to_stream(source, b, key, types)) for key in relation.keys),
            find_branch_steps(plan.graph, b, relation.find_time(plan.graph)),
        )
        for b in source.branches
    )


def _make_table(plan: TypedPlan, group: _Group, id_: str) -> PaneTable:
    first = group.members[0]
    keys = ", ".join(k.sql(dialect="spark") for k in first.keys) or "all"
    used = [m.window for m in group.members if m.name in plan.used and m.window is not None]
    return PaneTable(
        id=id_,
        label=f"{describe_input(plan.graph, first.input)} by {keys}",
        members=tuple(m.name for m in group.members),
        level=0,
        partition=tuple(range(len(first.keys))),
        grid=share_grid(group.windows),
        windows=tuple(dict.fromkeys(used)),
        cohort=group.cohort,
    )
