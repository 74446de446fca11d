"""EXPLAIN, verbose: the SQL of the source stage and of the slots."""

from __future__ import annotations

from headrace.optimizer.plan import Plan
from headrace.program.dealt_tables import DealtTable, find_dealt_tables
from headrace.program.program import Program


def explain_program(plan: Plan, program: Program) -> str:
    lines = []
    for stream in plan.graph.streams:
        lines += [f"source columns of {stream}:"]
        lines += [f"  {c.name} = {c.expression.sql(dialect='spark')} ({c.type})" for c in plan.columns[stream]]
    tables = find_dealt_tables(program)
    for node in program.nodes:
        lines += ["", f"node {node.name} ({node.label})"]
        lines += [f"  {line}" for line in node.describe()]
        lines += _describe_dealing(program, tables[node.name]) if node.name in tables else []
    for number, level in enumerate(program.levels):
        lines += ["", f"in a slot, level {number}:"]
        lines += [f"  {type(s).__name__.lower()} {s.describe()}" for s in level.steps]
    return "\n".join(lines) + "\n"


def _describe_dealing(program: Program, table: DealtTable) -> list[str]:
    if table.obstacle is not None:
        return [f"  a hot key stays in one slot: {table.obstacle}"]
    others = " and ".join(program.node(name).label for name in table.copied)
    return [f"  rows of a hot key may be dealt over slots, with a copy of {others} in each"]

