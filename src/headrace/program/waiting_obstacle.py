"""Whether rows of a set may wait for a later batch (docs/balance.md): not where they would be measured by another progress than
when they came, and not where their mini-partition is that of a folder, which their keys do not tell.
"""

from __future__ import annotations

from headrace.program.program import Program


def find_waiting_obstacle(program: Program) -> str | None:
    """Why rows of a set must not wait; None if they may."""
    late = {view for node in program.nodes if node.passes_late for view in node.gives}  # relations with late rows
    for node in program.nodes:
        if node.by_folder and node.feeds:
            return "slots read rows of folders by themselves"
    for step in (step for level in program.levels for step in level.steps):
        if step.reads not in late:
            continue
        if step.gives is not None:
            late.add(step.gives)
        elif step.feeds is not None and step.leaves:
            return f"rows of {program.node(step.feeds).label} are looked up first and may be late"
    for node in program.nodes:
        if node.level and node.feeds and node.takes_late:
            return f"{node.label} has rows of streams beside results of queries, and these may be late"
    return None
