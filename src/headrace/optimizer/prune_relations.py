"""Which relations the set needs at all: what a query is or reads.

A query that was removed from a live checkpoint (`retired`) keeps its share of state that others use, so its
relations stay; only what the others read is *used* and gives results.
"""

from __future__ import annotations

from headrace.optimizer.plan import PlanRequest, PrunedPlan


def prune_relations(plan: PlanRequest) -> PrunedPlan:
    live = plan.graph.reachable(plan.graph.queries)
    used = plan.graph.reachable(set(plan.graph.queries) - plan.settings.retired)
    return plan.then(PrunedPlan, relations=tuple(n for n in plan.graph.relations if n in live), used=frozenset(used))
