"""What is refused when it is registered: a set that could never give an answer, or never let go of its state.

* An aggregate over rows needs a window on an attribute that makes progress: otherwise no group would ever be
  complete.
* An aggregate in the window of its input needs all rows of a window in one batch: inputs over different
  streams close their windows at different times.
* What a stream says of its partitioning is about its columns, and not about time.
"""

from __future__ import annotations

from headrace.errors import PlanError
from headrace.logical.graph import WINDOW_COLUMNS, Aggregate, Graph, Relation
from headrace.logical.progress_columns import ProgressColumns, explain_no_progress
from headrace.optimizer.describe import describe_input
from headrace.optimizer.plan import PassedPlan
from headrace.partitioning.restrictions import read_restrictions


def check_plan(plan: PassedPlan) -> PassedPlan:
    read_restrictions(plan.graph)
    for name in plan.relations:
        relation = plan.graph.relations[name]
        if not isinstance(relation, Aggregate):
            continue
        source = plan.graph.relations[relation.input]
        try:
            if not plan.graph.is_windowed(source.name):
                _check_window(plan.graph, relation, plan.passages[source.name].columns)
            else:
                _check_input(plan.graph, relation, source)
        except PlanError as e:
            raise PlanError(f"query {name.split('$')[0]}: {e}") from e
    return plan


_EXAMPLES = {"us": "RANGE 10 MINUTES SLIDE 1 MINUTE", "int": "RANGE 600 SLIDE 60"}  # by what times are


def _check_window(graph: Graph, relation: Aggregate, progress: ProgressColumns) -> None:
    name = describe_input(graph, relation.input)
    if relation.joint:
        if graph.relations[relation.input].find_leaves(graph):
            raise PlanError(f"{name} unites rows of streams with others; an aggregate over both has one window")
        return
    if relation.window is None:
        raise PlanError(
            f"no window: the aggregate over {name} would never be complete, and its state never purged. "
            f"Write FROM stream [{_EXAMPLES[relation.unit]}], or RANGE ALL for a landmark window"
        )
    why = explain_no_progress(graph, relation.input, relation.on if progress else None)
    if not progress:
        raise PlanError(
            f"{name} has no progressing attribute left ({why or 'it is not among its columns'}), so the "
            f"window could never close: keep it in the SELECT of {'the sub-select' if '$' in relation.input else name}"
        )
    if relation.find_time(graph) is None:
        known = " or ".join(progress)
        if relation.on is None:
            example = next(iter(progress))
            raise PlanError(f"{name} makes progress on {known}: say which of them the window is on, like WA {example}")
        raise PlanError(
            f"the window is on {relation.on!r}, but {name} makes progress on {known!r}, "
            f"so it could never close{f' ({why})' if why else ''}: put the window on {known}"
        )


def _check_input(graph: Graph, relation: Aggregate, source: Relation) -> None:
    name = describe_input(graph, source.name)
    if relation.on is not None and relation.on.lower() not in WINDOW_COLUMNS:
        raise PlanError(
            f"the window is on {relation.on!r}, but {name} makes progress by its own windows; leave the attribute out"
        )
    if relation.window is None and len({graph.streams_of(leaf) for leaf in source.find_windows(graph)}) > 1:
        raise PlanError(
            f"{name} unites queries over different streams, whose windows close at different times; give this "
            "query a window of its own, like [RANGE 1 HOUR], or unite the streams first"
        )
