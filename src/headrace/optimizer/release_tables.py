"""Tables that only removed queries read are let go of.

Removed queries (`Plan.used` does not name them) have been placed like the others, because the columns of a table are those of
all that share it, and its name in the checkpoint is a hash of what it stores: without the columns of a query that was removed it
would be another table, empty. So tables that somebody still reads keep their columns, and forget readers that are no more:
progress need not wait for them.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.optimizer.plan import Plan, RowTable, Table, TransitTable


def release_tables(plan: Plan) -> Plan:
    if not plan.settings.retired:
        return plan
    kept = {id_: table for id_, one in plan.tables.items() if (table := _keep_readers(plan, one)) is not None}
    return plan.with_(
        tables=kept,
        parts={name: parts for name, parts in plan.parts.items() if name in plan.used},
        inputs_of={name: ids for name, ids in plan.inputs_of.items() if name in plan.used},
        exchanges=tuple(one for one in plan.exchanges if one.table in kept),
        by_folder=plan.by_folder & kept.keys(),
    )


def _keep_readers(plan: Plan, table: Table) -> Table | None:
    """The table as those read it that are used; None if nobody does."""
    if plan.used.isdisjoint(table.members):
        return None
    if isinstance(table, RowTable):
        return replace(table, readers=tuple(reader for reader in table.readers if reader[0] in plan.used))
    if isinstance(table, TransitTable):
        return replace(table, members=tuple(name for name in table.members if name in plan.used))
    return table
