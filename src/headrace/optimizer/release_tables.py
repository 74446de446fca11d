"""Tables that only removed queries read are let go of.

Removed queries (`PrunedPlan.used` does not name them) have been placed like the others, because the columns
of a table are those of all that share it, and its name in the checkpoint is a hash of what it stores: without
the columns of a query that was removed it would be another table, empty. So tables that somebody still reads
keep their columns, and forget readers that are no more: progress need not wait for them.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.optimizer.plan import PlacedPlan


def release_tables(plan: PlacedPlan) -> PlacedPlan:
    if not plan.settings.retired:
        return plan
    kept = {id_: t.keep_members(plan.used) for id_, t in plan.tables.items() if not plan.used.isdisjoint(t.members)}
    return replace(
        plan,
        tables=kept,
        parts={name: parts for name, parts in plan.parts.items() if name in plan.used},
        inputs_of={name: ids for name, ids in plan.inputs_of.items() if name in plan.used},
        exchanges=tuple(one for one in plan.exchanges if one.table in kept),
        by_folder=plan.by_folder & kept.keys(),
    )
