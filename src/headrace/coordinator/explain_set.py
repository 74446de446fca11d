"""EXPLAIN and advice of a registered set: the plan that a run would have, on its checkpoint if that can be continued."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.coordinator.continue_plan import preview_plan
from headrace.coordinator.measured_rates import find_rates
from headrace.logical.graph import Graph
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import Plan, Settings, optimize
from headrace.optimizer.explain_plan import explain_plan
from headrace.optimizer.lay_out_plan import lay_out_plan, plan_agnostic, render_layout
from headrace.partitioning.advise_partitioning import advise_graph, fix_streams
from headrace.partitioning.explain_partitioning import explain_partitioning
from headrace.physical.duck_typer import DuckTyper
from headrace.physical.explain_program import explain_program
from headrace.physical.lower import lower
from headrace.sources.source_path import check_sources, find_flat_streams
from headrace.state import Store


def explain_set(
    graph: Graph,
    user: Mapping[str, UserAggregate],
    bases: Mapping[str, Path],
    store: Store | None,
    partition_by: str | None,
    rates_from: str | None = None,
    format: str = "text",
    verbose: bool = False,
) -> str:
    """The plan as text, json, dot or html; `verbose` adds what was weighed, and the SQL of every step."""
    measured = find_rates(store, graph, rates_from)
    borrowed = measured if rates_from is not None else None
    plan, typer = _preview(graph, user, bases, store, Settings(partition_by=partition_by, measured=borrowed))
    if format == "html":
        from headrace.report.page import render_plan_page

        return render_plan_page("queries", json.loads(explain_plan(plan, "json", measured, (), plan_agnostic(plan, typer))))
    unchecked = check_sources(graph, bases, to_run=False)
    if typer.unchecked:
        calls = ", ".join(typer.unchecked)
        unchecked.append(f"only Spark knows the types of {calls}; a run refuses what does not fit before its first batch")
    agnostic = plan_agnostic(plan, typer) if verbose or format == "json" else None
    text = explain_plan(plan, format, measured, unchecked, agnostic)
    if format != "text" or agnostic is None:
        return text
    weighed = explain_partitioning(graph, measured, fix_streams(graph, plan.settings.partition_by))
    before, after = (["    " + line for line in render_layout(lay_out_plan(one))] for one in (agnostic, plan))
    weighed += ["  the plan with everything in one place:", *before, "  the plan that runs:", *after]
    return "\n".join([text, *weighed, "", explain_program(plan, lower(plan))])


def advise_set(graph: Graph, store: Store | None, by: str | None, rates_from: str | None) -> str:
    """Which partitioning to ask of the sources, by what was measured in the checkpoint, or in the one that lends its rates."""
    return "\n".join(advise_graph(graph, by, find_rates(store, graph, rates_from))) + "\n"


def _preview(
    graph: Graph,
    user: Mapping[str, UserAggregate],
    bases: Mapping[str, Path],
    store: Store | None,
    settings: Settings,
) -> tuple[Plan, DuckTyper]:
    """The plan of a run, by `settings` if it begins anew, and what typed it."""
    flat = find_flat_streams(graph, bases)
    if store is not None:
        graph, settings = preview_plan(store, graph, user, settings.partition_by) or (graph, settings)
    typer = DuckTyper(graph, dict(user))
    return optimize(graph, typer, replace(settings, user=user, flat=flat)), typer
