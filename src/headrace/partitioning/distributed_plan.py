"""A small algebra of plans over partitions, for the transformations of document 000 §5.

A plan is a graph of nodes. A node with a `partition` number works on the rows of that partition alone; one without works
on all rows, in one place. A `merge` is the union of its inputs, and is how rows of partitions come to one place: what
is below merges runs everywhere, what is above runs once. The partition-agnostic plan (§5.1) merges every stream before
anything else is done; the rules move nodes below merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.partitioning.requirement import Requirement

SPLIT = "/"  # between a node's name and what part of it a node is


@dataclass(frozen=True)
class DistributedNode:
    """`query` is the relation a node computes, or a part of it; `padded` are inputs (by number) that an outer join may
    fill with NULLs; `splits` says whether an aggregation has a sub- and a super-aggregate.
    """

    name: str
    kind: str  # source, merge, selection, union, aggregation, sub, super, join, pad, distinct
    query: str
    inputs: tuple[str, ...]
    partition: int | None = None
    padded: frozenset[int] = frozenset()
    splits: bool = True


@dataclass(frozen=True)
class DistributedPlan:
    """Nodes by name, inputs first."""

    nodes: Mapping[str, DistributedNode]
    compatible: frozenset[str] = frozenset()  # queries compatible with the streams' partitioning
    delivered: frozenset[str] = frozenset()  # queries whose results are wanted in one place

    def count_readers(self, name: str) -> int:
        return len(self.parents_of(name)) + (name in self.delivered)

    def parents_of(self, name: str) -> list[DistributedNode]:
        return [n for n in self.nodes.values() if name in n.inputs]

    def inputs_of(self, node: DistributedNode) -> list[DistributedNode]:
        return [self.nodes[i] for i in node.inputs]

    def is_partitioned_merge(self, name: str) -> bool:
        """Whether a node merges nodes that each work on a single partition."""
        node = self.nodes[name]
        return node.kind == "merge" and all(n.partition is not None for n in self.inputs_of(node))

    def replace_node(self, old: str, new: Iterable[DistributedNode], without: Iterable[str] = ()) -> DistributedPlan:
        """The plan with nodes in the place of one, the last of which takes its name; nodes nobody reads go too."""
        gone = {old, *without}
        nodes: dict[str, DistributedNode] = {}
        for name, node in self.nodes.items():
            if name == old:
                nodes |= {n.name: n for n in new}
            elif name not in gone:
                nodes[name] = node
        return replace(self, nodes=nodes)


def build_agnostic_plan(
    requirements: Mapping[str, Requirement],
    partitions: int | Mapping[str, int],
    compatible: Iterable[str] = (),
    padded: Mapping[str, frozenset[int]] | None = None,
    unsplit: Iterable[str] = (),
    delivered: Iterable[str] = (),
) -> DistributedPlan:
    """Every stream is merged, and every query reads merged streams (§5.1, figure 3)."""
    nodes: dict[str, DistributedNode] = {}
    for name, requirement in requirements.items():
        if requirement.inputs or requirement.views is not None:
            continue
        for stream in requirement.sources:
            count = partitions if isinstance(partitions, int) else partitions[stream]
            parts = [
                DistributedNode(f"source{SPLIT}{stream}{SPLIT}{i}", "source", stream, (), i) for i in range(count)
            ]
            nodes |= {p.name: p for p in parts}
            merged = f"merge{SPLIT}{stream}"
            nodes[merged] = DistributedNode(merged, "merge", stream, tuple(p.name for p in parts))
        read = tuple(f"merge{SPLIT}{s}" for s in requirement.sources)
        nodes[name] = DistributedNode(name, requirement.kind, name, read)
    for name, requirement in requirements.items():
        if name not in nodes:
            outer = (padded or {}).get(name, frozenset())
            split = name not in set(unsplit)
            both = requirement.kind == "join" and len(requirement.inputs) == 1  # with itself
            read = requirement.inputs * 2 if both else requirement.inputs
            nodes[name] = DistributedNode(name, requirement.kind, name, read, None, outer, split)
    return DistributedPlan(nodes, frozenset(compatible), frozenset(delivered))


# -- rendering --------------------
def render_plan(plan: DistributedPlan) -> list[str]:
    """Lines of text: what is read first comes first, partitions of one thing on one line."""
    groups: dict[tuple[str, str, bool], list[DistributedNode]] = {}
    for node in plan.nodes.values():
        groups.setdefault((node.kind, node.query, node.partition is not None), []).append(node)
    lines = []
    for (kind, query, partitioned), members in groups.items():
        reads = dict.fromkeys(_describe_node(plan.nodes[i]) for n in members for i in n.inputs)
        where = f"on {len(members)} partitions" if partitioned else "once"
        source = f" over {', '.join(reads)}" if reads else ""
        lines.append(f"{_describe_node(members[0])}: {where}{source}" if kind != "source" else f"{query}: {where}")
    return lines


def _describe_node(node: DistributedNode) -> str:
    return {"source": node.query, "merge": f"merge of {node.query}"}.get(node.kind, f"{node.kind} {node.query}")


def export_plan(plan: DistributedPlan) -> dict[str, Any]:
    """Nodes and edges, for JSON and drawings."""
    return {
        "nodes": [
            {"id": n.name, "kind": n.kind, "label": n.query, "partition": n.partition} for n in plan.nodes.values()
        ],
        "edges": [[i, n.name] for n in plan.nodes.values() for i in n.inputs],
    }
