"""How progress passes through every relation (document 003, chapters 6 to 8).

`logical/progress_columns.py` takes progress down the query graph, as waits for streams, by a rule for each kind of
relation; that of joins is `logical/time_bounds.py`. tests/progress/propagation_rules.py states the rules on frontiers,
with their laws, and a test holds the two together. A run follows the same rules one relation after the other
(`progress/advance_program.py`).
"""

from __future__ import annotations

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.progress_columns import find_progress_columns
from headrace.optimizer.plan import Passage, PassedPlan, PrunedPlan


def pass_progress(plan: PrunedPlan) -> PassedPlan:
    graph = plan.graph
    known: dict[str, dict[str, ProgressColumn]] = {}
    for name in plan.relations:  # inputs first
        known[name] = find_progress_columns(graph, name, known.__getitem__)
    waits = {name: {column: one.waits for column, one in found.items()} for name, found in known.items()}
    return plan.then(PassedPlan, passages={name: Passage(graph.streams_of(name), found) for name, found in waits.items()})
