"""What each table keeps from batch to batch, and what bounds it."""

from __future__ import annotations

from headrace.logical.graph import Aggregate, KeyedJoin
from headrace.optimizer.plan import JointTable, PaneTable, Plan, RowTable, StateBound
from headrace.windows.describe_window import describe_length


def bound_state(plan: Plan) -> Plan:
    bounds = {}
    for table in plan.tables.values():
        if isinstance(table, RowTable):
            bounds[table.id] = _bound_rows(plan, table)
            continue
        if isinstance(table, JointTable):
            bounds[table.id] = StateBound("groups", "until all inputs, or the join on one of the times, have passed them")
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
    joins = [(join, i) for n, i in table.readers if isinstance(join := plan.graph.relations[n], KeyedJoin)]
    bounds = [join.bound_rows(i) for join, i in joins]
    others = sorted({other for bound in bounds for other in bound.others})
    said = next((bound.words for bound in bounds if bound.words), "" if others else "until progress passes them")
    length = describe_length(max(bound.ticks for bound in bounds), joins[0][0].unit)
    return StateBound("rows", said or f"until {' and '.join(others)} {'is' if len(others) == 1 else 'are'} {length} past them")
