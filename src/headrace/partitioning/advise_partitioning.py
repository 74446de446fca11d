"""`headrace advise`: which partitioning to ask of a topic or of the hardware, and what each query would pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from headrace.errors import OptionError
from headrace.logical.graph import Graph
from headrace.partitioning.describe_rates import describe_rates
from headrace.partitioning.explain_choice import describe_bytes, explain_choice, name_nodes
from headrace.partitioning.explain_partitioning import describe_restrictions
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.plan_cost import PIDS, CostedPlan, PartitioningCost, RateStatistics, compute_cost
from headrace.partitioning.restrictions import (
    Restrictions,
    StreamRestriction,
    read_key_list,
    read_restrictions,
)
from headrace.partitioning.search_partitioning import (
    PartitioningChoice,
    describe_workload,
    search_partitioning,
)
from headrace.partitioning.stream_partitioning import Partitioning
from headrace.sql.parse_partitioning import parse_expressions
from headrace.sql.token_cursor import tokenize

NOTHING = ""  # to partition by: what belongs together is in one place, as in the partition-agnostic plan (document 000 §5.1)


def advise_partitioning(
    plan: CostedPlan,
    restrictions: Restrictions | None = None,
    proposed: Mapping[str, Sequence[PartitioningKey]] | None = None,
) -> list[str]:
    """Lines of advice for a query set, and how a partitioning the user proposes compares."""
    choice = search_partitioning(plan, restrictions)
    lines = explain_choice(choice)
    compared = {"round robin": Partitioning(), "recommended": choice.partitioning}
    if proposed:
        compared["proposed"] = judge_partitioning(plan, proposed)
    columns = [(title, compute_cost(plan, one)) for title, one in compared.items()]
    lines.append("what each query pays:")
    queries = group_by_query(plan)
    width = max(len(q) for q in (*queries, "most"))
    lines.append(f"  {'':<{width}}" + "".join(f"  {title:>20}" for title, _ in columns))
    for query, nodes in queries.items():
        lines.append(f"  {query:<{width}}" + "".join(f"  {_describe_payment(c, nodes):>20}" for _, c in columns))
    lines.append(f"  {'most':<{width}}" + "".join(f"  {describe_bytes(c.maximum):>20}" for _, c in columns))
    lines.append(f"  {'total':<{width}}" + "".join(f"  {describe_bytes(c.total):>20}" for _, c in columns))
    for stream in dict.fromkeys(s for nodes in queries.values() for n in nodes for s in plan.requirements[n].sources):
        keys = choice.partitioning.keys_of(stream)
        if keys:
            lines.append(f"partition {stream} by {', '.join(k.text for k in keys)}")
        else:
            lines.append(f"partition {stream} evenly: {_explain_evenly(choice, stream)}")
    return lines


def _explain_evenly(choice: PartitioningChoice, stream: str) -> str:
    """Why a stream is best not partitioned by values: nothing serves its queries, or what does costs more."""
    over = {n for n, r in choice.plan.requirements.items() if r.views is not None and stream in r.sources}
    serving = [c for c in choice.candidates if over & c.cost.compatible]
    if not serving:
        return "no partitioning serves a query over it"
    best = serving[0]
    names = [name for node, name in name_nodes(choice.plan).items() if node in over & best.cost.compatible]
    most, total = describe_bytes(best.cost.maximum), describe_bytes(best.cost.total)
    return f"{best.partitioning.text} serves {', '.join(names)}, but costs {most} at most and {total} in all"


def advise_graph(graph: Graph, by: str | None = None, statistics: RateStatistics | None = None) -> list[str]:
    """Advice for a query set, within what its streams declare; `by` is a partitioning to compare with, `statistics` what was
    measured.
    """
    proposed = read_proposal(graph, by) if by is not None else None
    restrictions = read_restrictions(graph)
    said = describe_restrictions(restrictions)
    plan = describe_workload(graph, statistics=statistics, pids=PIDS, free=True)
    return said + describe_rates(graph, plan) + advise_partitioning(plan, restrictions, proposed)


def read_proposal(graph: Graph, text: str, option: str = "--by") -> dict[str, tuple[PartitioningKey, ...]]:
    """Keys by stream from text: expressions for all streams that have the columns, or `stream: expressions; …`."""
    found: dict[str, tuple[PartitioningKey, ...]] = {}
    for part in text.split(";"):
        name, colon, keys = part.rpartition(":")
        expressions = parse_expressions(keys, tokenize(keys)) if keys.strip() else ()
        used = {c.name.lower() for e in expressions for c in e.find_all(exp.Column)}
        names = {s.lower(): s for s in graph.streams}
        if colon and name.strip().lower() not in names:
            known = ", ".join(graph.streams)
            raise OptionError(f"{option} {part.strip()!r}: there is no stream {name.strip()!r}; there are {known}")
        streams = [names[name.strip().lower()]] if colon else list(graph.streams)
        if not colon:
            streams = [s for s in streams if used <= {c.lower() for c, _ in graph.streams[s].columns}]
            if not streams:
                raise OptionError(f"{option} {part.strip()!r}: no stream has all of the columns {', '.join(sorted(used))}")
        found |= {s: read_key_list(graph.streams[s], expressions, f"{option}, stream {s}") for s in streams}
    return found


def fix_streams(graph: Graph, text: str | None) -> Restrictions:
    """What a user wants state partitioned by, as what is fixed about streams."""
    if text == NOTHING:
        return {s: StreamRestriction((), fixed=True) for s in graph.streams}
    proposal = read_proposal(graph, text, "partition by") if text is not None else {}
    return {s: StreamRestriction(keys, fixed=True) for s, keys in proposal.items()}


def judge_partitioning(plan: CostedPlan, proposed: Mapping[str, Sequence[PartitioningKey]]) -> Partitioning:
    """A given partitioning, with streams aligned where a node brings them together and that can be."""
    fixed = {s: StreamRestriction(tuple(keys), True) for s, keys in proposed.items()}
    return search_partitioning(plan, fixed).partitioning


def group_by_query(plan: CostedPlan) -> dict[str, list[str]]:
    """The queries that bring rows together, each with the nodes it is made of."""
    found: dict[str, list[str]] = {}
    for node in plan.requirements:
        found.setdefault(node.split("$")[0], []).append(node)
    return {q: nodes for q, nodes in found.items() if any(plan.requirements[n].views is not None for n in nodes)}


def pay_for_query(cost: PartitioningCost, nodes: Sequence[str]) -> float:
    """Bytes a query pays, all its nodes together."""
    return sum(cost.costs[n] for n in nodes)


def _describe_payment(cost: PartitioningCost, nodes: Sequence[str]) -> str:
    paid = describe_bytes(pay_for_query(cost, nodes))
    if all(n in cost.compatible for n in nodes):
        return f"{paid} of results"
    return f"{paid} of input" if pay_for_query(cost, nodes) else "0 B, follows"


__all__ = [
    "NOTHING",
    "advise_graph",
    "advise_partitioning",
    "fix_streams",
    "group_by_query",
    "judge_partitioning",
    "pay_for_query",
    "read_proposal",
]
