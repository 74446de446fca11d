"""Selections, projections and unions run on every partition, below the merge (document 000 §5.4).

By themselves they gain little there; but only so can what stands on them follow.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.partitioning.distributed_plan import SPLIT, DistributedNode, DistributedPlan


def can_push_selection(plan: DistributedPlan, node: DistributedNode) -> bool:
    """Children that merge single partitions of one numbering, and no other parent of those merges."""
    if node.kind not in ("selection", "union") or not node.inputs:
        return False
    if len(set(node.inputs)) < len(node.inputs):
        return False
    return all(plan.is_partitioned_merge(m) and plan.count_readers(m) == 1 for m in node.inputs)


def push_selection(plan: DistributedPlan, node: DistributedNode) -> DistributedPlan:
    below = [plan.inputs_of(plan.nodes[m]) for m in node.inputs]
    copies = []
    for number in sorted({n.partition for side in below for n in side if n.partition is not None}):
        inputs = tuple(n.name for side in below for n in side if n.partition == number)
        copies.append(replace(node, name=f"{node.name}{SPLIT}{number}", inputs=inputs, partition=number))
    merged = DistributedNode(node.name, "merge", node.query, tuple(c.name for c in copies))
    return plan.replace_node(node.name, [*copies, merged], without=node.inputs)
