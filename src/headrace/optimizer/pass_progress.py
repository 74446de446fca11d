"""How progress passes through every relation (document 003, chapters 6 to 8).

`logical/progress_columns.py` takes progress down the query graph, as waits for streams; `progress/propagate.py` states
the rule of each kind of relation on frontiers, with its law, and a test holds the two together. The rule of joins is
`logical/time_bounds.py`.
"""

from __future__ import annotations

from headrace.logical.progress_columns import find_progress
from headrace.optimizer.plan import Passage, Plan


def pass_progress(plan: Plan) -> Plan:
    graph = plan.graph
    return plan.with_(passages={n: Passage(graph.streams_of(n), find_progress(graph, n)) for n in plan.relations})
