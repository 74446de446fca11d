"""The partitioning of a query set as EXPLAIN shows it: what was weighed, what was chosen and why.

This is document 000's question, one partitioning of each stream for the whole set: what to ask of a topic or of the hardware.
The exchange of a run carries rows for every table in one pass, so tables that nothing brings together need no common set,
and are partitioned each by what is best for it (`optimizer/place_relations.py`).
"""

from __future__ import annotations

import json
from typing import Any

from headrace.logical.graph import Graph
from headrace.partitioning.describe_rates import describe_rates
from headrace.partitioning.explain_choice import (
    describe_bytes,
    describe_requirement,
    explain_choice,
    export_choice,
    name_nodes,
)
from headrace.partitioning.plan_cost import PIDS, RateStatistics
from headrace.partitioning.restrictions import Restrictions, StreamRestriction, read_restrictions
from headrace.partitioning.search_partitioning import (
    PartitioningChoice,
    describe_workload,
    search_partitioning,
)


def choose_for_streams(
    graph: Graph, statistics: RateStatistics | None = None, fixed: Restrictions | None = None
) -> PartitioningChoice:
    """The partitioning of the streams that costs the query set least, within what they declare, or as a user has `fixed` it, by
    what was measured.
    """
    plan = describe_workload(graph, statistics=statistics, pids=PIDS, free=True)
    return search_partitioning(plan, {**read_restrictions(graph), **(fixed or {})})


def explain_partitioning(
    graph: Graph, statistics: RateStatistics | None = None, fixed: Restrictions | None = None
) -> list[str]:
    """Lines of text."""
    choice = choose_for_streams(graph, statistics, fixed)
    lines = ["partitioning of the streams, as one set for all queries (headrace advise compares others):"]
    lines += [f"  {line}" for line in describe_restrictions(read_restrictions(graph))]
    lines += [f"  {line}" for line in [*describe_rates(graph, choice.plan), *explain_choice(choice), explain_why(choice)]]
    return lines


def describe_restrictions(restrictions: dict[str, StreamRestriction]) -> list[str]:
    words = {True: "comes partitioned by", False: "can only be partitioned by functions of"}
    return [f"{s} {words[r.fixed]} ({', '.join(k.text for k in r.keys)})" for s, r in restrictions.items()]


def explain_why(choice: PartitioningChoice) -> str:
    """What decided, in a line."""
    names, served = name_nodes(choice.plan), choice.cost.compatible
    left = [name for node, name in names.items() if node not in served]
    if not names:
        return "because: no query brings rows together"
    most = max(choice.cost.costs, key=lambda n: choice.cost.costs[n])
    dearest = f"{most.split('$')[0]} receives the most, {describe_bytes(choice.cost.costs[most])}"
    if not left:
        return f"because: it serves every query; {dearest}"
    if len(left) == len(names):
        return f"because: nothing that could be chosen serves a query; {dearest}"
    return f"because: no candidate has a smaller maximum; {dearest}; left out: {', '.join(left)}"


def export_partitioning(
    graph: Graph, statistics: RateStatistics | None = None, fixed: Restrictions | None = None
) -> dict[str, Any]:
    """The same as data."""
    choice = choose_for_streams(graph, statistics, fixed)
    restrictions = {
        s: {"keys": [k.text for k in r.keys], "fixed": r.fixed} for s, r in read_restrictions(graph).items()
    }
    return {
        **export_choice(choice),
        "why": explain_why(choice).removeprefix("because: "),
        "restrictions": restrictions,
        "numbers": describe_rates(graph, choice.plan)[1:],
    }


def draw_partitioning(
    graph: Graph, statistics: RateStatistics | None = None, fixed: Restrictions | None = None
) -> list[str]:
    """Lines of Graphviz, a cluster of its own: the query graph, each node with its set; dashed what is not served."""
    choice = choose_for_streams(graph, statistics, fixed)
    names = name_nodes(choice.plan)
    title = f"partitioning: {choice.partitioning.text}\n{explain_why(choice)}"
    out = ["  subgraph cluster_partitioning {", f"    label={json.dumps(title, ensure_ascii=False)};"]
    for node, requirement in choice.plan.requirements.items():
        detail = "anything"
        if node in names:
            detail = describe_requirement(requirement, choice.proposals[node])
        cost = choice.cost.costs[node]
        label = f"{names.get(node, node)}\n{detail}" + (f"\nreceives {describe_bytes(cost)}" if cost else "")
        style = "solid" if node in choice.cost.compatible else "dashed"
        out.append(f"    {json.dumps(f'p:{node}')} [label={json.dumps(label, ensure_ascii=False)}, shape=box, style={style}];")
        out += [f"    {json.dumps(f'p:{i}')} -> {json.dumps(f'p:{node}')};" for i in requirement.inputs]
    return [*out, "  }"]


__all__ = ["choose_for_streams", "describe_restrictions", "draw_partitioning", "explain_partitioning", "export_partitioning"]
