"""An incompatible aggregation is split: sub-aggregates on every partition, one super-aggregate over their merge.

WHERE is below the aggregation already and so is part of what each partition does; HAVING needs whole groups and is
evaluated by the super-aggregate (document 000 §5.2.2, figure 5). All built-in aggregates split, and those users define
as a sub/super pair.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.partitioning.distributed_plan import SPLIT, DistributedNode, DistributedPlan


def can_split_aggregation(plan: DistributedPlan, node: DistributedNode) -> bool:
    if node.kind != "aggregation" or len(node.inputs) != 1 or node.query in plan.compatible or not node.splits:
        return False
    (merge,) = node.inputs
    return plan.is_partitioned_merge(merge) and plan.count_readers(merge) == 1


def split_aggregation(plan: DistributedPlan, node: DistributedNode) -> DistributedPlan:
    (name,) = node.inputs
    subs = [
        DistributedNode(f"{node.name}{SPLIT}{below.partition}", "sub", node.query, (below.name,), below.partition)
        for below in plan.inputs_of(plan.nodes[name])
    ]
    merge = DistributedNode(f"merge{SPLIT}{node.name}", "merge", node.query, tuple(s.name for s in subs))
    whole = replace(node, kind="super", inputs=(merge.name,))
    return plan.replace_node(node.name, [*subs, merge, whole], without=[name])
