"""What each table keeps from batch to batch, and what bounds it."""

from __future__ import annotations

from headrace.logical.graph import Aggregate, Join
from headrace.optimizer.describe import describe_length
from headrace.optimizer.plan import PaneTable, Plan, RowTable, StateBound


def bound_state(plan: Plan) -> Plan:
    bounds = {}
    for table in plan.tables.values():
        if isinstance(table, RowTable):
            bounds[table.id] = _bound_rows(plan, table)
            continue
        if not isinstance(table, PaneTable):
            bounds[table.id] = StateBound("nothing", "from batch to batch")
            continue
        member = plan.graph.relations[table.members[0]]
        assert isinstance(member, Aggregate)
        counts = [w.count_panes(table.grid.width) for w in table.windows]
        panes = max(counts, default=0)
        pane = describe_length(table.grid.width, member.unit)
        keeps = f"{panes:,} pane{'s' if panes > 1 else ''} of {pane} a group"
        if all(w.reports_without_rows for w in table.windows):
            until = "for ever: one row a group"
        else:
            until = "until their last window has closed"
        bounds[table.id] = StateBound(keeps, until)
    return plan.with_(bounds=bounds)


def _bound_rows(plan: Plan, table: RowTable) -> StateBound:
    """Rows are kept until no other input of any join has a row to come that reaches them."""
    longest, others, unit = 0, set(), "us"
    if all(len(join.inputs) == 1 for n, _ in table.readers if isinstance(join := plan.graph.relations[n], Join)):
        return StateBound("rows", "until progress passes them")
    for name, number in table.readers:
        join = plan.graph.relations[name]
        assert isinstance(join, Join)
        unit = join.unit
        for j, other in enumerate(join.inputs):
            if j != number:
                longest = max(longest, join.bounds.reach(number, j))
                others.add(other.alias)
    whom, be = " and ".join(sorted(others)), "is" if len(others) == 1 else "are"
    return StateBound("rows", f"until {whom} {be} {describe_length(longest, unit)} past them")
