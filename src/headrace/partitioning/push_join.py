"""A compatible join runs partition by partition (document 000 §5.3, figure 7).

Partitions without a partner on the other side are ignored by an inner join; for an outer join that keeps their rows, they
pass through a projection that adds the NULLs.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.partitioning.distributed_plan import SPLIT, DistributedNode, DistributedPlan


def can_push_join(plan: DistributedPlan, node: DistributedNode) -> bool:
    """Both children merge single partitions, compatible, and no other parent of those merges."""
    if node.kind != "join" or len(node.inputs) != 2 or node.query not in plan.compatible:
        return False
    return all(plan.is_partitioned_merge(m) and plan.count_readers(m) == 1 for m in node.inputs)


def push_join(plan: DistributedPlan, node: DistributedNode) -> DistributedPlan:
    sides = [{n.partition: n.name for n in plan.inputs_of(plan.nodes[m])} for m in node.inputs]
    made = []
    for number in sorted({p for side in sides for p in side if p is not None}):
        inputs = [side.get(number) for side in sides]
        name = f"{node.name}{SPLIT}{number}"
        present = tuple(i for i in inputs if i is not None)
        if len(present) == 2:
            made.append(replace(node, name=name, inputs=present, partition=number))
        else:
            missing = inputs.index(None)
            if missing in node.padded:  # the side that is there keeps its rows
                made.append(DistributedNode(name, "pad", node.query, present, number, frozenset({missing})))
    merged = DistributedNode(node.name, "merge", node.query, tuple(n.name for n in made))
    return plan.replace_node(node.name, [*made, merged], without=node.inputs)
