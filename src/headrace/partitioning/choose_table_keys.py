"""What a table of state over source rows is partitioned by: expressions of its group-by values.

Tables that some query downstream reads together, or through each other, are partitioned together: the search
(`search_partitioning.py`) runs over that part of the query graph, and every table it serves gets the chosen
partitioning, as expressions of its own keys. Tables that nothing brings together need nothing in common, since one
exchange carries the rows of all of them, so they keep all their keys, which spreads best. Results are written where
they are, so they cost nothing; few values spread over few mini-partitions, and that is weighed.

The rows a join keeps are partitioned by all its keys, unless fewer or coarser ones spare what reads the join an exchange.

Where a stream is PARTITIONABLE BY some attributes, only functions of these are chosen, as long as they serve a table.

A choice is a `TablePlacement`. It is made once, when a table is new, by the numbers known then: state never moves to another
hash.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headrace.logical.graph import Aggregate, Graph, Join, Rows
from headrace.partitioning.express_key import GIVEN
from headrace.partitioning.follow_rows import TableKey
from headrace.partitioning.plan_cost import DECLARED, RateStatistics
from headrace.partitioning.requirement import Requirement, find_partition_steps
from headrace.partitioning.restrictions import Restrictions
from headrace.partitioning.search_partitioning import (
    PartitioningChoice,
    describe_workload,
    search_partitioning,
)
from headrace.partitioning.stream_partitioning import Partitioning, Types


@dataclass(frozen=True)
class TablePlacement:
    """What a table, or the rows a join keeps, are partitioned by, and the numbers that decided."""

    keys: tuple[TableKey, ...]
    sets: tuple[tuple[str, str], ...] = ()  # each stream with the same as a partitioning set of it, where that is known
    numbers: str = ""  # where they come from, in words; none where all is assumed or there was no choice


def choose_table_keys(
    graph: Graph,
    members: Sequence[Aggregate],
    readers: Collection[str],
    pids: int,
    limits: Restrictions | None = None,
    statistics: RateStatistics | None = None,
) -> TablePlacement | None:
    """The partitioning of a table whose `members` share their keys, within `limits`, by what was measured or declared; only
    `readers` are asked. None: it is not served.
    """
    together = find_read_together(graph, [m.name for m in members], readers)
    plan = describe_workload(graph, together, statistics, delivered=(), pids=pids)
    requirement = plan.requirements[members[0].name]
    choice = search_partitioning(plan, {s: one for s, one in (limits or {}).items() if s in requirement.sources})
    if any(m.name not in choice.cost.compatible for m in members):
        return None
    keys = write_table_keys(requirement, choice.partitioning, plan.types)
    if keys is None:
        return None
    return TablePlacement(keys, _list_sets(choice, requirement.streams), describe_numbers(choice, members[0].name))


def write_table_keys(requirement: Requirement, partitioning: Partitioning, types: Types) -> tuple[TableKey, ...] | None:
    """The keys of a partitioning as expressions of a node's group-by values; None if they are not."""
    steps = find_partition_steps(requirement, partitioning, types)
    if steps is None:
        return None
    keys = tuple(_number_keys(step, requirement.numbers) for step in steps)
    return tuple(sorted(keys)) if all(isinstance(k, int) for k in keys) else keys


def choose_join_keys(
    graph: Graph,
    join: Join,
    readers: Collection[str],
    pids: int,
    limits: Restrictions | None = None,
    statistics: RateStatistics | None = None,
) -> TablePlacement | None:
    """The partitioning of the rows a join keeps, if a coarser one than by all keys also serves what reads its results, or nothing
    finer is within `limits`. None: it serves nobody else, so all keys spread best.
    """
    together = find_read_together(graph, [join.name], readers)
    above = {n for n in together if n != join.name and join.name in graph.reachable([n])}
    plan = describe_workload(graph, together, statistics, delivered=(), pids=pids)
    mine = {s: one for s, one in (limits or {}).items() if s in plan.requirements[join.name].sources}
    if not mine and not any(isinstance(graph.relations[n], (Aggregate, Join)) for n in above):
        return None
    choice = search_partitioning(plan, mine)
    served = {n for n in choice.cost.compatible if plan.requirements[n].views is not None}
    if join.name not in served or (not mine and not served & above):
        return None
    requirement = plan.requirements[join.name]
    steps = find_partition_steps(requirement, choice.partitioning, plan.types)
    used = {int(n) for step in steps or () for n in re.findall(rf"\b{GIVEN}(\d+)\b", step)}
    if steps is None or any(requirement.numbers[n] < 0 for n in used):
        return None
    keys = tuple(_number_keys(step, requirement.numbers) for step in steps)
    return TablePlacement(keys, _list_sets(choice, requirement.streams), describe_numbers(choice, join.name))


def _list_sets(choice: PartitioningChoice, streams: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((s, choice.partitioning.text_of(s)) for s in streams)


def describe_numbers(choice: PartitioningChoice, name: str) -> str:
    """Where the numbers come from by which a node got its partitioning: what was measured before what was declared."""
    if sum(name in c.cost.compatible for c in choice.candidates) < 2:
        return ""
    plan = choice.plan
    used = dict.fromkeys([*plan.requirements, *(s for r in plan.requirements.values() for s in r.sources)])
    origins = [plan.statistics.origins[n] for n in used if n in plan.statistics.origins]
    return next((o for o in origins if o != DECLARED), origins[0] if origins else "")


def find_read_together(graph: Graph, names: Sequence[str], readers: Collection[str]) -> set[str]:
    """The relations that are linked to these by windowed relations that read them, with the rows they stand on."""
    asked = {n for n in (*readers, *names) if not isinstance(graph.relations[n], Rows)}
    links = [(n, i) for n in asked for i in graph.relations[n].reads if i in asked]
    found, grew = set(names), True
    while grew:
        more = {x for pair in links if found & set(pair) for x in pair}
        grew = not more <= found
        found |= more
    return graph.reachable(found)


def _number_keys(step: str, numbers: Sequence[int]) -> TableKey:
    """A step over `_k0`… as a key of the table."""
    if step.startswith(GIVEN) and step[len(GIVEN) :].isdigit():
        return numbers[int(step[len(GIVEN) :])]
    return re.sub(rf"\b{GIVEN}(\d+)\b", lambda m: f"k{numbers[int(m[1])]}", step)
