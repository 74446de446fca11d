"""The rule of progress of every relation: what each of its columns that carry progress waits for in the
relations it reads.

`progress_columns.py` says it of streams, composed; here it is one step long, from a relation to its inputs,
so that what holds one of them back holds back what stands on it (`progress/advance_program.py`). Beside it
stands where a column's values come from: a join is complete on a column when all its inputs are, but holds
the values of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.progress_columns import find_progress_columns
from headrace.progress.advance_program import ProgressRule
from headrace.progress.monotone_steps import Shift
from headrace.progress.waits import Wait, Waits

if TYPE_CHECKING:
    from headrace.logical.graph import Graph

AT_END = Shift(1)  # rows of windows are at the tick before their end, which is what their column says


def name_column(relation: str, column: str) -> str:
    """How the rule of a column is called."""
    return f"{relation}.{column}"


def wait_for(relation: str, column: str) -> Waits:
    """For a column of a relation, as it is."""
    return (Wait(name_column(relation, column)),)


def find_rules(graph: Graph, names: Iterable[str], levels: Mapping[str, int]) -> Iterator[ProgressRule]:
    """The rules of relations, inputs first; `levels` are those of the slots that give them."""
    known: dict[str, dict[str, ProgressColumn]] = {}
    for name in names:
        relation = graph.relations[name]
        own = find_progress_columns(graph, name, known.__getitem__)
        for column, one in own.items():
            values = relation.find_values(graph, column, one.waits, known.__getitem__)
            by_group, level = relation.is_over_streams, levels.get(name)
            yield ProgressRule(name_column(name, column), one.waits, values, relation.closes, level, by_group)
        known[name] = {c: ProgressColumn(wait_for(name, c), one.type, one.applied) for c, one in own.items()}


def find_own_value(graph: Graph, relation: str, column: str) -> Waits:
    """Where the values of a column come from that copies one of these."""
    waits = wait_for(relation, column)
    return tuple(w.then(AT_END) for w in waits) if graph.is_windowed(relation) else waits
