"""The partition-agnostic plan to one that uses the partitioning there is (document 000 §5.1).

Nodes are visited once, inputs first; each is changed by the first rule it is eligible for, so that compatible nodes move
down through a chain of compatible nodes. Before each node is asked, shared merges are separated.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.partitioning.distributed_plan import DistributedNode, DistributedPlan
from headrace.partitioning.push_aggregation import can_push_aggregation, push_aggregation
from headrace.partitioning.push_join import can_push_join, push_join
from headrace.partitioning.push_selection import can_push_selection, push_selection
from headrace.partitioning.separate_merges import separate_merges
from headrace.partitioning.split_aggregation import can_split_aggregation, split_aggregation

Eligible = Callable[[DistributedPlan, DistributedNode], bool]
Transform = Callable[[DistributedPlan, DistributedNode], DistributedPlan]

TRANSFORMATIONS: tuple[tuple[Eligible, Transform], ...] = (
    (can_push_selection, push_selection),
    (can_push_aggregation, push_aggregation),
    (can_split_aggregation, split_aggregation),
    (can_push_join, push_join),
)


def transform_plan(plan: DistributedPlan) -> DistributedPlan:
    for name in list(plan.nodes):
        plan = separate_merges(plan)
        if name not in plan.nodes:
            continue
        node = plan.nodes[name]
        for eligible, transform in TRANSFORMATIONS:
            if eligible(plan, node):
                plan = transform(plan, node)
                break
    return separate_merges(plan)
