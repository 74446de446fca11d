"""A partitioning choice for a person: each node's set, every candidate with what it costs and serves, and why."""

from __future__ import annotations

from typing import Any

from headrace.partitioning.plan_cost import CostedPlan, find_share
from headrace.partitioning.requirement import Requirement
from headrace.partitioning.search_partitioning import PartitioningCandidate, PartitioningChoice
from headrace.partitioning.stream_partitioning import Partitioning

_SHOWN = 12


def explain_choice(choice: PartitioningChoice) -> list[str]:
    """Lines of text."""
    lines = ["what each query is compatible with:"]
    names = name_nodes(choice.plan)
    width = max((len(n) for n in names.values()), default=0)
    for node, name in names.items():
        requirement = choice.plan.requirements[node]
        lines.append(f"  {name:<{width}}  {describe_requirement(requirement, choice.proposals[node])}")
    lines.append("candidates, by the most bytes one node receives per epoch:")
    shown = choice.candidates[:_SHOWN]
    words = [c.partitioning.text for c in shown]
    width = max((len(w) for w in words), default=0)
    for text, candidate in zip(words, shown, strict=True):
        lines.append(f"  {text:<{width}}  {describe_candidate(choice, candidate)}")
    if len(choice.candidates) > _SHOWN:
        lines.append(f"  … and {len(choice.candidates) - _SHOWN} that cost more")
    lines.append(f"chosen: {choice.partitioning.text}, {describe_bytes(choice.cost.maximum)}")
    return lines


def name_nodes(plan: CostedPlan) -> dict[str, str]:
    """The nodes that require something, in words: the joins and aggregations inside a query have no name of their own."""
    found: dict[str, str] = {}
    for node, requirement in plan.requirements.items():
        if requirement.views is not None:
            query, inside, _ = node.partition("$")
            name = f"{query}'s {requirement.kind}" if inside else query
            same = sum(n == name or n.startswith(f"{name} ") for n in found.values())
            found[node] = f"{name} {same + 1}" if same else name
    return found


def describe_requirement(requirement: Requirement, proposal: Partitioning | None) -> str:
    ignored = f" (not used: {'; '.join(requirement.ignored)})" if requirement.ignored else ""
    if proposal is None:
        return f"nothing{ignored}"
    return "; ".join(g.text for g in proposal.groups) + " or coarser" + ignored


def describe_candidate(choice: PartitioningChoice, candidate: PartitioningCandidate) -> str:
    served = [name for node, name in name_nodes(choice.plan).items() if node in candidate.cost.compatible]
    skew = describe_skew(choice.plan, candidate.partitioning)
    return f"{describe_bytes(candidate.cost.maximum)}, serves {', '.join(served) or 'none'}{f'; {skew}' if skew else ''}"


def describe_skew(plan: CostedPlan, partitioning: Partitioning) -> str:
    """How much the fullest mini-partition has, where that is more than an even share."""
    shares = [find_share(plan, stream, partitioning) for group in partitioning.groups for stream in group.streams]
    most = max(shares, default=0.0)
    return f"a mini-partition has {most:.0%} of the rows" if plan.pids and most * plan.pids > 1 else ""


def describe_bytes(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.3g} B"


def export_choice(choice: PartitioningChoice) -> dict[str, Any]:
    """The same as data, for JSON and for drawings."""
    return {
        "nodes": {
            n: {
                "kind": r.kind,
                "inputs": list(r.inputs),
                "streams": list(r.sources),
                "compatible": None if (p := choice.proposals.get(n)) is None else [g.text for g in p.groups],
                "anything": r.views is None,
                "not used": list(r.ignored),
                "cost": choice.cost.costs[n],
                "served": n in choice.cost.compatible,
            }
            for n, r in choice.plan.requirements.items()
        },
        "candidates": [
            {
                "partitioning": c.partitioning.text,
                "maximum": c.cost.maximum,
                "total": c.cost.total,
                "serves": sorted(n for n in c.cost.compatible if choice.plan.requirements[n].views is not None),
                "chosen": set(c.partitioning.groups) <= set(choice.partitioning.groups)
                and bool(c.partitioning.groups or not choice.partitioning.groups),
            }
            for c in choice.candidates
        ],
        "chosen": {s: [k.text for k in g.keys_of(s)] for g in choice.partitioning.groups for s in g.streams},
        "exhaustive": choice.exhaustive,
    }
