"""EXPLAIN, verbose: the SQL of the source stage and of the slots."""

from __future__ import annotations

from headrace.optimizer.plan import Plan
from headrace.program.dealt_tables import DealtTable, find_dealt_tables
from headrace.program.program import (
    Advance,
    Emit,
    FindVersions,
    JoinRows,
    PaneNode,
    Program,
    RowNode,
    Send,
    Step,
    TransitNode,
)


def explain_program(plan: Plan, program: Program) -> str:
    lines = []
    for stream in plan.graph.streams:
        lines += [f"source columns of {stream}:"]
        lines += [f"  {c.name} = {c.expression.sql(dialect='spark')} ({c.type})" for c in plan.columns[stream]]
    tables = find_dealt_tables(program)
    for node in program.nodes:
        lines += ["", f"node {node.name} ({node.label})"]
        if isinstance(node, (RowNode, TransitNode)):
            for given in node.feeds:
                listed = [f"k{i} = {k}" for i, k in enumerate(given.keys)]
                listed += [f"v{i} = {v}" for i, v in enumerate(given.values)]
                lines.append(f"  from {given.stream}{f' where {given.where}' if given.where else ''}: {', '.join(listed)}")
            lines += _describe_dealing(program, tables[node.name]) if node.name in tables else []
            continue
        feeds = node.feeds if isinstance(node, PaneNode) else ()
        for feed in feeds:
            where = f" where {feed.where}" if feed.where else ""
            keys = ", ".join(f"k{i} = {k}" for i, k in enumerate(feed.keys))
            lines.append(f"  from {feed.stream}{where}: {keys or 'no keys'}")
        for i, merge in enumerate(node.merges):
            sub = f"{feeds[0].subs[i]} then " if feeds else ""
            lines.append(f"  p{i} = {sub}{merge}")
    for number, level in enumerate(program.levels):
        lines += ["", f"in a slot, level {number}:"]
        lines += [f"  {type(s).__name__.lower()} {_describe_step(s)}" for s in level.steps]
    return "\n".join(lines) + "\n"


def _describe_dealing(program: Program, table: DealtTable) -> list[str]:
    if table.obstacle is not None:
        return [f"  a hot key stays in one slot: {table.obstacle}"]
    others = " and ".join(program.node(name).label for name in table.copied)
    return [f"  rows of a hot key may be dealt over slots, with a copy of {others} in each"]


def _describe_step(step: Step) -> str:
    if isinstance(step, Advance):
        return step.node
    if isinstance(step, JoinRows):
        sides = " ⋈ ".join(side.node for side in step.inputs)
        return f"{step.view}: {step.kind} {sides} giving {step.outputs}" + (f" where {step.condition}" if step.condition else "")
    if isinstance(step, FindVersions):
        return f"{step.view}: {step.kind} {step.rows} as of {step.versions} giving {step.outputs}"
    if isinstance(step, Emit):
        return f"{step.query} from {step.source}"
    return f"{step.node if isinstance(step, Send) else step.view}: {step.sql}"
