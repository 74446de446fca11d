"""How progress passes through every relation (document 003, chapters 6 to 8).

The rules themselves are `progress/propagate.py` and, for joins, `logical/time_bounds.py`; `logical/progress_columns.py` takes
them down the query graph.
"""

from __future__ import annotations

from headrace.logical.progress_columns import find_progress
from headrace.optimizer.plan import Passage, Plan


def pass_progress(plan: Plan) -> Plan:
    graph = plan.graph
    return plan.with_(passages={n: Passage(graph.streams_of(n), find_progress(graph, n)) for n in plan.relations})
