"""How progress passes through every relation (document 003, chapters 6 to 8; the rules are `progress/propagate.py`).

Every relation of today melds the streams it depends on: selections and projections pass a frontier on, unions and
aggregates give the least of theirs. So what a relation waits for is a set of streams, and its frontier is the meld of
theirs, provided that the column that carries progress survives on the way.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.logical.graph import Derive, Graph, Merge, Rows
from headrace.optimizer.plan import Passage, Plan
from headrace.progress import Frontier
from headrace.progress.propagate import pass_aggregate, pass_projection, pass_selection, pass_union


def pass_progress(plan: Plan) -> Plan:
    found = {}
    for name in plan.relations:
        relation = plan.graph.relations[name]
        attribute = relation.time if isinstance(relation, Rows) else "window_end"
        found[name] = Passage(plan.graph.streams_of(name), attribute)
    return plan.with_(passages=found)


def find_frontier(graph: Graph, name: str, streams: Mapping[str, Frontier]) -> Frontier:
    """The frontier of a relation, given those of the streams, by the rule of each relation on the way."""
    relation = graph.relations[name]
    if isinstance(relation, Rows):
        arms = [pass_selection(streams[branch.stream]) for branch in relation.branches]
        return pass_projection(pass_union(arms), relation.time is not None)
    if isinstance(relation, Merge):
        return pass_union(find_frontier(graph, source, streams) for source in relation.inputs)
    inner = find_frontier(graph, relation.input, streams)
    return pass_selection(inner) if isinstance(relation, Derive) else pass_aggregate(inner)
