"""From the query graph to a plan, by rules, one to a file.

The order, and why: pruning first, since nothing is decided for what nobody reads; then progress and the check
that asks for it, which say what is wrong with a set before anybody asks for types of what cannot be, and are
all that registering needs; types before sharing and placing, which compare expressions as cast; tables before
placement, which partitions them; tables of removed queries go when all are placed, since what they share with
others stays; who closes groups early when all readers are known; source columns when the tables are; who
reads a source when its expressions are. The last rule only reads and refuses what no rule before should have
done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.logical.graph import Graph
from headrace.optimizer.check_placement import check_placement
from headrace.optimizer.check_plan import check_plan
from headrace.optimizer.choose_reader import choose_reader
from headrace.optimizer.close_groups import close_groups
from headrace.optimizer.collect_columns import collect_columns
from headrace.optimizer.keep_folders import find_folder_streams
from headrace.optimizer.pass_progress import pass_progress
from headrace.optimizer.place_relations import place_relations
from headrace.optimizer.plan import PassedPlan, Plan, PlanRequest, Settings, Typer
from headrace.optimizer.prune_relations import prune_relations
from headrace.optimizer.release_tables import release_tables
from headrace.optimizer.share_panes import share_panes
from headrace.optimizer.type_columns import type_columns

CHECKS: tuple[Callable[..., Any], ...] = (prune_relations, pass_progress, check_plan)
RULES: tuple[Callable[..., Any], ...] = (
    *CHECKS,
    type_columns,
    share_panes,
    place_relations,
    release_tables,
    close_groups,
    collect_columns,
    choose_reader,
    check_placement,
)
_ASK_TYPES = (type_columns, collect_columns)

__all__ = ["RULES", "Plan", "Settings", "check_graph", "optimize"]


def optimize(graph: Graph, typer: Typer, settings: Settings | None = None) -> Plan:
    """The plan of a query set."""
    settings = settings or Settings()
    if settings.by_folder is not None:
        return _apply_rules(graph, typer, settings)
    hoped = find_folder_streams(graph, settings)
    plan = _apply_rules(graph, typer, replace(settings, by_folder=hoped))
    if hoped and not all(reading.in_tasks for reading in plan.readings.values()):  # only tasks know the folder of a row
        plan = _apply_rules(graph, typer, replace(settings, by_folder=frozenset()))
    return plan


def _apply_rules(graph: Graph, typer: Typer, settings: Settings) -> Plan:
    plan: Any = PlanRequest(graph, settings)
    for rule in RULES:
        plan = rule(plan, typer) if rule in _ASK_TYPES else rule(plan)
    assert isinstance(plan, Plan)
    return plan


def check_graph(graph: Graph) -> PassedPlan:
    """Refuse a set that can never emit or never purge: when it is registered."""
    plan: Any = PlanRequest(graph, Settings())
    for rule in CHECKS:
        plan = rule(plan)
    assert isinstance(plan, PassedPlan)
    return plan
