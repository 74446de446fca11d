"""Give every reader of a merge a merge of its own.

The rules of document 000 §5.2 and §5.3 take a merge away only from its only parent, since others may still need it. A merge
costs nothing to repeat, so readers that could do without it are not held by those that cannot.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.partitioning.distributed_plan import SPLIT, DistributedPlan


def separate_merges(plan: DistributedPlan) -> DistributedPlan:
    shared = {n for n, node in plan.nodes.items() if node.kind == "merge" and plan.count_readers(n) > 1}
    nodes = {}
    for name, node in plan.nodes.items():
        if name in shared - plan.delivered:
            continue
        inputs = []
        for read in node.inputs:
            if read in shared:
                copy = replace(plan.nodes[read], name=f"{read}{SPLIT}{name}")
                nodes[copy.name] = copy
                read = copy.name
            inputs.append(read)
        nodes[name] = replace(node, inputs=tuple(inputs))
    return replace(plan, nodes=nodes)
