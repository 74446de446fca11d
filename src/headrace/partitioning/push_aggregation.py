"""A compatible aggregation runs on every partition, below the merge (document 000 §5.2.1, figure 4)."""

from __future__ import annotations

from dataclasses import replace

from headrace.partitioning.distributed_plan import SPLIT, DistributedNode, DistributedPlan


def can_push_aggregation(plan: DistributedPlan, node: DistributedNode) -> bool:
    """A single child that merges single partitions, compatible, and no other parent of that merge."""
    if node.kind not in ("aggregation", "distinct") or len(node.inputs) != 1 or node.query not in plan.compatible:
        return False
    (merge,) = node.inputs
    return plan.is_partitioned_merge(merge) and plan.count_readers(merge) == 1


def push_aggregation(plan: DistributedPlan, node: DistributedNode) -> DistributedPlan:
    return push_below_merge(plan, node)


def push_below_merge(plan: DistributedPlan, node: DistributedNode) -> DistributedPlan:
    """A copy of the node over each input of its merge, and a merge of the copies in its place."""
    (name,) = node.inputs
    copies = [
        replace(node, name=f"{node.name}{SPLIT}{below.partition}", inputs=(below.name,), partition=below.partition)
        for below in plan.inputs_of(plan.nodes[name])
    ]
    merged = DistributedNode(node.name, "merge", node.query, tuple(c.name for c in copies))
    return plan.replace_node(node.name, [*copies, merged], without=[name])
