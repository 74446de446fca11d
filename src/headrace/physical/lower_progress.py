"""Progress of a plan as rules, and what results wait for: of its relations, its tables and its joins.

Everything that is known of a program's progress follows from these (`progress/advance_program.py`, `complete_program.py`).
Rules of tables have the table's name, those that are about two inputs are named after both; names of relations are
identifiers, so none of these is that of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace.logical.graph import Aggregate, Join
from headrace.logical.progress_rules import AT_END, find_rules, name_column, wait_for
from headrace.optimizer.plan import Plan, RowTable, TransitTable
from headrace.program.aggregations import PaneNode
from headrace.program.node import Node
from headrace.program.program import Ways
from headrace.program.row_joins import JoinRows, RowNode
from headrace.program.step import Step
from headrace.progress.advance_program import ProgressRule
from headrace.progress.complete_program import PendingResults
from headrace.progress.waits import Wait, Waits, unite_waits


def lower_rules(plan: Plan, nodes: Mapping[str, Node], steps: Iterable[Step]) -> tuple[ProgressRule, ...]:
    """The rules of a program, each after those it reads; `nodes` by table."""
    levels = {name: min(p.level for p in parts) for name, parts in plan.parts.items() if parts}
    rules = list(find_rules(plan.graph, plan.relations, levels))
    for id_, node in nodes.items():
        rules += _list_table_rules(plan, id_, node)
    joins = [step for step in steps if isinstance(step, JoinRows)]
    return (*rules, *(rule for step in joins for rule in _list_side_rules(plan, step)))


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


def name_side(join: str, number: int) -> str:
    """The rule that says up to where rows of an input of a join have met all they can."""
    return f"{join} {number}"


def _list_table_rules(plan: Plan, id_: str, node: Node) -> Iterator[ProgressRule]:
    graph, table = plan.graph, plan.tables[id_]
    if isinstance(table, TransitTable):
        waits: Waits = tuple(Wait(stream) for stream in plan.passages[table.input].streams)
        yield ProgressRule(node.name, waits, waits, level=node.level)
    elif isinstance(table, RowTable):
        readers = table.list_joins(graph)
        waits = values = wait_for(table.input, table.find_time(graph))
        if readers[0][0].at_window_end and graph.is_windowed(table.input):
            values = tuple(w.then(AT_END) for w in waits)
        yield ProgressRule(node.name, waits, values, level=node.level)
        assert isinstance(node, RowNode)
        needed = unite_waits(*(join.find_needed(number) for join, number in readers))
        yield ProgressRule(node.needed, needed, ())
    else:
        aggregate = graph.relations[table.members[0]]
        assert isinstance(aggregate, Aggregate)
        waits = wait_for(aggregate.input, aggregate.find_window_column(graph))
        by_group = isinstance(node, PaneNode) and bool(node.groups)
        yield ProgressRule(node.name, waits, waits, level=node.level, by_group=by_group)


def _list_side_rules(plan: Plan, step: JoinRows) -> Iterator[ProgressRule]:
    join = plan.graph.relations[step.join]
    assert isinstance(join, Join)
    for number, side in enumerate(step.inputs):
        yield ProgressRule(side.complete, join.bounds.needed(number, join.wait_for_inputs()), ())

