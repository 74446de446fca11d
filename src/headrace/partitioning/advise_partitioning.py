"""`headrace advise`: which partitioning to ask of a topic or of the hardware, and what each query would pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.partitioning.explain_choice import describe_bytes, explain_choice
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.plan_cost import CostedPlan, PartitioningCost, compute_cost
from headrace.partitioning.restrictions import Restrictions, StreamRestriction
from headrace.partitioning.search_partitioning import search_partitioning
from headrace.partitioning.stream_partitioning import Partitioning


def advise_partitioning(
    plan: CostedPlan,
    restrictions: Restrictions | None = None,
    proposed: Mapping[str, Sequence[PartitioningKey]] | None = None,
) -> list[str]:
    """Lines of advice for a query set, and how a partitioning the user proposes compares."""
    choice = search_partitioning(plan, restrictions)
    lines = explain_choice(choice)
    columns = [("round robin", compute_cost(plan, Partitioning())), ("recommended", choice.cost)]
    if proposed:
        columns.append(("proposed", judge_partitioning(plan, proposed)))
    lines.append("what each query pays:")
    nodes = [n for n, r in plan.requirements.items() if r.views is not None]
    width = max((len(n) for n in nodes), default=0)
    lines.append(f"  {'':<{width}}" + "".join(f"  {title:>20}" for title, _ in columns))
    for name in nodes:
        lines.append(f"  {name:<{width}}" + "".join(f"  {_describe_payment(c, name):>20}" for _, c in columns))
    lines.append(f"  {'most':<{width}}" + "".join(f"  {describe_bytes(c.maximum):>20}" for _, c in columns))
    for stream in dict.fromkeys(s for n in nodes for s in plan.requirements[n].sources):
        keys = choice.partitioning.keys_of(stream)
        if keys:
            lines.append(f"partition {stream} by {', '.join(k.text for k in keys)}")
        else:
            lines.append(f"partition {stream} evenly: no partitioning serves its most expensive query")
    return lines


def judge_partitioning(plan: CostedPlan, proposed: Mapping[str, Sequence[PartitioningKey]]) -> PartitioningCost:
    """What a given partitioning costs, with streams aligned where a node brings them together and that can be."""
    fixed = {s: StreamRestriction(tuple(keys), True) for s, keys in proposed.items()}
    return search_partitioning(plan, fixed).cost


def _describe_payment(cost: PartitioningCost, node: str) -> str:
    if node in cost.compatible:
        return f"{describe_bytes(cost.costs[node])} of results"
    return f"{describe_bytes(cost.costs[node])} of input" if cost.costs[node] else "0 B, follows"


__all__ = ["advise_partitioning", "judge_partitioning"]
