"""Progress of a plan as rules, and what results wait for: of its relations, its tables and its joins.

Everything that is known of a program's progress follows from these (`progress/advance_program.py`, `complete_program.py`).
Rules of tables have the table's name, those that are about two inputs are named after both; names of relations are
identifiers, so none of these is that of a column.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.logical.progress_rules import find_rules, name_column
from headrace.optimizer.plan import Plan
from headrace.program.node import Node
from headrace.program.program import Ways
from headrace.program.step import Step
from headrace.progress.advance_program import ProgressRule
from headrace.progress.complete_program import PendingResults
from headrace.progress.waits import Waits


def lower_rules(plan: Plan, more: Iterable[ProgressRule]) -> tuple[ProgressRule, ...]:
    """The rules of relations, and those of tables and joins, each after those it reads."""
    levels = {name: min(p.level for p in parts) for name, parts in plan.parts.items() if parts}
    return (*find_rules(plan.graph, plan.relations, levels), *more)


def lower_pending(nodes: Iterable[Node], steps: Iterable[Step]) -> tuple[PendingResults, ...]:
    """What results of a program wait for."""
    return (*(one for node in nodes for one in node.list_pending()), *(one for step in steps for one in step.list_pending()))


def list_promised(plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """Of every query the columns that carry progress, and their rules."""
    shown = [name for name in plan.relations if name in plan.schemas]
    return tuple((name, c, name_column(name, c)) for name in shown for c in plan.passages[name].columns)


def find_ways(stream: str, waits: Waits) -> Ways:
    """The ways from a stream's progressing value to the one that windows or joins go by."""
    return tuple(dict.fromkeys(w.functions for w in waits if w.stream == stream))
