"""The types of all columns, and of what aggregations group by and aggregate, as Spark has them."""

from __future__ import annotations

from headrace.dialect.spark_types import find_comparison_type
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate
from headrace.optimizer.plan import AggregateTypes, JoinTypes, PassedPlan, TypedPlan, Typer


def type_columns(plan: PassedPlan, typer: Typer) -> TypedPlan:
    looked_up = {table for n in plan.relations for table in plan.graph.relations[n].tables}
    types = {name: typer.column_types(name) for name in (*plan.graph.streams, *sorted(looked_up), *plan.relations)}
    aggregates, joins = {}, {}
    for name in plan.relations:
        relation = plan.graph.relations[name]
        if relation.compared:
            sides = relation.compared
            each = [typer.types(side.relation, list(side.keys)) for side in sides]
            spelled = [" = ".join(k.sql(dialect="spark") for k in keys) for keys in zip(*(s.keys for s in sides), strict=True)]
            common = [_unify(name, text, [types[k] for types in each]) for k, text in enumerate(spelled)]
            joins[name] = JoinTypes(tuple(common), tuple(map(tuple, each)))
        if isinstance(relation, Aggregate):
            wanted = [*relation.keys, *(a for call in relation.calls for a in call.arguments)]
            found = iter(typer.types(relation.input, wanted))
            keys = tuple(next(found) for _ in relation.keys)
            arguments = tuple(tuple(next(found) for _ in call.arguments) for call in relation.calls)
            aggregates[name] = AggregateTypes(keys, arguments)
    return plan.then(
        TypedPlan,
        types=types,
        aggregates=aggregates,
        joins=joins,
        schemas={q: typer.result_schema(q) for q in plan.graph.queries if q not in plan.settings.retired},
        late_schemas={s: typer.late_schema(s) for s in plan.graph.streams},
    )


def _unify(name: str, spelled: str, types: list[str]) -> str:
    """The type in which the keys of all inputs are compared, as Spark compares them."""
    found = types[0]
    for other in types[1:]:
        common = found if found == other else find_comparison_type(found, other)
        if common is None:
            raise PlanError(f"query {name.split('$')[0]}: {spelled}: no common type for {found} and {other}; add a cast")
        found = common
    return found
