"""The types of all columns, and of what aggregations group by and aggregate, as Spark has them."""

from __future__ import annotations

from headrace.logical.graph import Aggregate
from headrace.optimizer.plan import AggregateTypes, Plan, Typer


def type_columns(plan: Plan, typer: Typer) -> Plan:
    types = {name: typer.column_types(name) for name in (*plan.graph.streams, *plan.relations)}
    aggregates = {}
    for name in plan.relations:
        relation = plan.graph.relations[name]
        if isinstance(relation, Aggregate):
            wanted = [*relation.keys, *(a for call in relation.calls for a in call.arguments)]
            found = iter(typer.types(relation.input, wanted))
            keys = tuple(next(found) for _ in relation.keys)
            arguments = tuple(tuple(next(found) for _ in call.arguments) for call in relation.calls)
            aggregates[name] = AggregateTypes(keys, arguments)
    return plan.with_(
        types=types,
        aggregates=aggregates,
        schemas={q: typer.result_schema(q) for q in plan.graph.queries if q not in plan.settings.retired},
        late_schemas={s: typer.late_schema(s) for s in plan.graph.streams},
    )
