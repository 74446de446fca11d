"""The partitioning of a query set that costs least (document 000 §4.2.2).

Candidates are the reconciled partitionings of sets of nodes, grown node by node: from the leaves, and then by nodes all of
whose inputs are served, since no partitioning is compatible with a node and not with those it reads. Many sets of
nodes reconcile to the same partitioning, so what is enumerated are partitionings, each once (the paper's dynamic
programming); streams that no node brings together are searched apart. Every partitioning that is the best for the
nodes it serves is among them, so the cheapest candidate is the optimum.

There can be exponentially many (queries that each leave out another attribute). Beyond `MOST` of them the rest of the
space is walked once, in the order of what nodes would pay if left out: the maximum is then still the least possible
wherever nodes give less than they receive, only ties below it may be decided otherwise.

Order of preference: the maximum, then the total, then more keys (finer spreads better), then who was there first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headrace.logical.graph import Graph
from headrace.partitioning.infer_requirements import GivenRows, collect_types, infer_requirements
from headrace.partitioning.plan_cost import (
    PARTIALS,
    CostedPlan,
    KnownShare,
    PartitioningCost,
    RateStatistics,
    compute_cost,
    estimate_rates,
    read_rate_hints,
)
from headrace.partitioning.requirement import Requirement, propose_partitioning
from headrace.partitioning.restrictions import Restrictions, read_key_list
from headrace.partitioning.stream_partitioning import Partitioning, make_partitioning, reconcile
from headrace.sql.parse_partitioning import parse_expressions
from headrace.sql.token_cursor import tokenize

MOST = 500


@dataclass(frozen=True)
class PartitioningCandidate:
    """A partitioning that was weighed."""

    partitioning: Partitioning
    cost: PartitioningCost


@dataclass(frozen=True)
class PartitioningChoice:
    """The partitioning chosen, and all that was weighed for each group of streams that are searched together."""

    plan: CostedPlan
    partitioning: Partitioning
    cost: PartitioningCost
    candidates: tuple[PartitioningCandidate, ...]
    proposals: Mapping[str, Partitioning | None]  # of each aggregation and join, for itself
    exhaustive: bool


def describe_workload(
    graph: Graph,
    relations: Iterable[str] | None = None,
    statistics: RateStatistics | None = None,
    delivered: Iterable[str] | None = None,
    partial: int = PARTIALS,
    pids: int = 0,
    free: bool = False,
    given: GivenRows | None = None,
) -> CostedPlan:
    """A query graph as the search sees it, with what is known of rates, else what streams declare. Unless said, the results of
    queries that no other reads are delivered. `free`: an even share of `pids` mini-partitions costs nothing.
    """
    asked = graph.reachable(graph.queries) if relations is None else set(relations)
    below = graph.reachable(asked) if given is not None else asked
    names = [n for n in graph.relations if n in below]
    known = (statistics or RateStatistics()).over(read_rate_hints(graph))
    requirements = infer_requirements(graph, names, given)
    requirements = {n: r for n, r in requirements.items() if n in asked}
    read = {i for r in requirements.values() for i in r.inputs}
    wanted = [q for q in graph.queries if q in requirements and q not in read] if delivered is None else delivered
    rates = estimate_rates(graph, names, known)
    shares, types = read_shares(graph, known), collect_types(graph, given)
    limited = frozenset() if given is None else frozenset({given.relation})  # results have been spread before
    return CostedPlan(requirements, rates, types, frozenset(wanted), known, partial, pids, free, shares, limited)


def read_shares(graph: Graph, known: RateStatistics) -> dict[str, tuple[KnownShare, ...]]:
    """The shares that are known of mini-partitions, by stream."""
    found: dict[str, tuple[KnownShare, ...]] = {}
    for (stream, text), share in known.shares.items():
        if stream in graph.streams:
            keys = read_key_list(graph.streams[stream], parse_expressions(text, tokenize(text)), f"share of {stream}")
            found[stream] = (*found.get(stream, ()), KnownShare(keys, share))
    return found


def search_partitioning(plan: CostedPlan, restrictions: Restrictions | None = None) -> PartitioningChoice:
    """The partitioning that costs least, within what is fixed about the streams."""
    limits = restrictions or {}
    plan = replace(plan, limited=plan.limited | frozenset(limits))
    proposals = {
        name: propose_partitioning(r, plan.types) for name, r in plan.requirements.items() if r.views is not None
    }
    best: list[PartitioningCandidate] = []
    weighed: list[PartitioningCandidate] = []
    exhaustive = True
    for streams in _find_components(plan.requirements.values(), limits):
        start = make_partitioning({s: limits[s].keys for s in sorted(streams) if s in limits}, plan.types)
        nodes = [
            n
            for n, r in plan.requirements.items()
            if r.views is not None and set(r.sources) & streams and proposals[n] is not None
        ]
        found, complete = _grow(plan, start, nodes, proposals, limits)
        exhaustive = exhaustive and complete
        mine = {n for n, r in plan.requirements.items() if set(r.sources) & streams}
        candidates = [PartitioningCandidate(p, _narrow(cost, mine)) for p, cost in found]
        candidates.sort(key=lambda c: _rank(c, nodes))
        best.append(candidates[0])
        weighed += candidates
    chosen = Partitioning(tuple(sorted((g for c in best for g in c.partitioning.groups), key=lambda g: g.streams)))
    return PartitioningChoice(plan, chosen, compute_cost(plan, chosen), tuple(weighed), proposals, exhaustive)


def _narrow(cost: PartitioningCost, nodes: set[str]) -> PartitioningCost:
    """What these nodes pay: others are not for this group of streams to serve."""
    costs, results = ({n: c for n, c in each.items() if n in nodes} for each in (cost.costs, cost.results))
    return PartitioningCost(costs, results, cost.compatible & nodes)


def _rank(candidate: PartitioningCandidate, nodes: list[str]) -> tuple[float, float, int, list[bool], str]:
    keys = sum(len(g.keys) for g in candidate.partitioning.groups)
    left_out = [n not in candidate.cost.compatible for n in nodes]
    return candidate.cost.maximum, candidate.cost.total, -keys, left_out, candidate.partitioning.text


def _find_components(requirements: Iterable[Requirement], limits: Restrictions) -> list[set[str]]:
    """Streams that some node brings together."""
    components: list[set[str]] = [{s} for s in limits]
    for requirement in requirements:
        streams = set(requirement.sources)
        if requirement.views is not None and streams:
            touched = [c for c in components if c & streams]
            components = [c for c in components if c not in touched] + [streams.union(*touched)]
    return components


def _grow(
    plan: CostedPlan,
    start: Partitioning,
    nodes: list[str],
    proposals: Mapping[str, Partitioning | None],
    limits: Restrictions,
) -> tuple[list[tuple[Partitioning, PartitioningCost]], bool]:
    """All partitionings that serve some of the nodes, each with its cost, and whether these are all."""
    found = {start.text: (start, compute_cost(plan, start))}
    needed = {name: _find_needed(plan, name) for name in nodes}
    todo = [start]
    while todo and len(found) <= MOST:
        state = todo.pop()
        served = found[state.text][1].compatible if state.groups else frozenset()
        open_nodes = [n for n in nodes if n not in served and all(i in served for i in needed[n])]
        for proposal in dict.fromkeys(proposals[n] for n in open_nodes):
            joined = _serve(plan, state, proposal, limits)
            if joined is not None and joined.text not in found:
                found[joined.text] = (joined, compute_cost(plan, joined))
                todo.append(joined)
    complete = len(found) <= MOST
    if not complete:
        last = _descend(plan, start, nodes, proposals, limits)
        found[last.text] = (last, compute_cost(plan, last))
    return list(found.values()), complete


def _descend(
    plan: CostedPlan,
    start: Partitioning,
    nodes: list[str],
    proposals: Mapping[str, Partitioning | None],
    limits: Restrictions,
) -> Partitioning:
    """Serve nodes one after the other while that can be, those that would pay most first."""
    state = start
    for name in sorted(nodes, key=lambda n: -plan.rates[n].input):
        grown: Partitioning | None = state
        for node in [*_find_needed(plan, name), name]:
            grown = _serve(plan, grown, proposals[node], limits) if grown is not None else None
        state = state if grown is None else grown
    return state


def _serve(
    plan: CostedPlan, state: Partitioning, proposal: Partitioning | None, limits: Restrictions
) -> Partitioning | None:
    joined = reconcile(state, proposal, plan.types) if proposal is not None else None
    if joined is None:
        return None
    for stream, limit in limits.items():
        if limit.fixed and state.keys_of(stream) != joined.keys_of(stream):
            return None
    return joined


def _find_needed(plan: CostedPlan, name: str) -> list[str]:
    """The aggregations and joins below a node, those it reads directly last."""
    found: list[str] = []
    for parent in plan.requirements[name].inputs:
        if parent in plan.requirements:
            found += [n for n in _find_needed(plan, parent) if n not in found]
            if plan.requirements[parent].views is not None and parent not in found:
                found.append(parent)
    return found
