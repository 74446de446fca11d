"""The numbers behind a cost, each with where it comes from: measured in a run, declared, from types, or assumed (§4.2.1).

The share of the largest mini-partition is known for the partitionings a run has; what follows for others, `plan_cost.py` says.
"""

from __future__ import annotations

from headrace.logical.graph import Aggregate, Graph
from headrace.partitioning.plan_cost import (
    COLUMN_SIZE,
    EPOCH,
    GROUPED,
    PIDS,
    ROWS_PER_EPOCH,
    CostedPlan,
    NodeStatistics,
    size_of_stream,
)


def describe_rates(graph: Graph, plan: CostedPlan) -> list[str]:
    """Lines for the streams and the nodes that bring rows together or are queries; none where all is assumed."""
    known = plan.statistics
    if not known.origins:
        return []
    lines = [f"numbers, for {EPOCH:g} seconds:"]
    for stream in dict.fromkeys(s for r in plan.requirements.values() for s in r.sources):
        origin = known.origins.get(stream, "assumed")
        size = "measured" if stream in known.sizes else "from its types"
        lines.append(
            f"  {stream}: {known.rows.get(stream, ROWS_PER_EPOCH):,.0f} rows, {origin}; "
            f"{size_of_stream(graph, stream, known):.3g} B each, {size}"
        )
    for name, requirement in plan.requirements.items():
        if name in graph.streams or (requirement.views is None and name not in graph.queries):
            continue
        said = known.nodes.get(name, NodeStatistics())
        rates = plan.rates[name]
        origin = known.origins.get(name, _describe_default(graph, name))
        size = "from the types of its results" if said.tuple_size is not None else f"{COLUMN_SIZE:g} B a column assumed"
        each = rates.output / rates.rows if rates.rows else said.tuple_size or 0.0
        lines.append(f"  {name}: {rates.rows:,.0f} rows, {origin}; {each:.3g} B each, {size}")
    lines += [
        f"  {stream} by {{{keys}}}: the largest of {PIDS} mini-partitions has {share:.1%} of the rows, measured"
        for (stream, keys), share in known.shares.items()
    ]
    return lines


def _describe_default(graph: Graph, name: str) -> str:
    if isinstance(graph.relations[name], Aggregate):
        return f"{GROUPED:g} of its input assumed"
    return "assumed from its input"
