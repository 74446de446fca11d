"""What rows are sent by to an aggregation that needs an exchange of its own: expressions of its group-by values.

Results are not where an aggregation over them groups them, or no partitioning of the streams serves a table over rows. Then
what it reads counts as a stream, and the search (`search_partitioning.py`) runs over it and over all that stands on it:
aggregations by b, n of results, by b & 240 of these and by b & 208 of those need one exchange together, by b & 208. Results
of aggregates may be keys as well, since they are values like others once they are there. If nobody that reads the
aggregation can stay in its slots, it keeps all its keys, which spread best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from headrace.logical.graph import Aggregate, Graph
from headrace.partitioning.choose_table_keys import TablePlacement, describe_numbers, write_table_keys
from headrace.partitioning.infer_requirements import GivenRows
from headrace.partitioning.plan_cost import RateStatistics
from headrace.partitioning.search_partitioning import describe_workload, search_partitioning


def choose_exchange_keys(
    graph: Graph,
    members: Sequence[Aggregate],
    readers: Collection[str],
    pids: int,
    types: Mapping[str, str],
    statistics: RateStatistics | None = None,
) -> TablePlacement:
    """The partitioning of a table whose `members` share their keys, over what they read, whose columns have these types, for
    themselves and for those of `readers` that stand on them.
    """
    given, names = members[0].input, {m.name for m in members}
    above = find_above(graph, names, readers)
    plan = describe_workload(
        graph, _find_beside(graph, names | above, given), statistics, delivered=(), pids=pids, given=GivenRows(given, types)
    )
    served: set[str] = set()
    if any(plan.requirements[n].views is not None for n in above):
        choice = search_partitioning(plan)
        served = {n for n in choice.cost.compatible if plan.requirements[n].views is not None}
    keys = None
    if names <= served and served & above:
        keys = write_table_keys(plan.requirements[members[0].name], choice.partitioning, plan.types)
    if keys is None:
        return TablePlacement(tuple(range(len(members[0].keys))))
    return TablePlacement(keys, numbers=describe_numbers(choice, members[0].name))


def find_above(graph: Graph, names: Collection[str], readers: Collection[str]) -> set[str]:
    """Those of `readers` that stand on these relations."""
    found = set(names)
    for name in graph.relations:  # inputs first
        if name in readers and found & set(graph.relations[name].reads):
            found.add(name)
    return found - set(names)


def _find_beside(graph: Graph, names: Collection[str], given: str) -> set[str]:
    """These and all they read, but not what is below the relation that is given."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph.relations[name].reads if name != given else ()
    return found
