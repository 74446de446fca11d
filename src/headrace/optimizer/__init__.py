"""From the query graph to a plan, by rules, one to a file.

The order, and why: pruning first, since nothing is decided for what nobody reads; types before sharing and placing,
which compare expressions as cast; progress before the last check, which asks for it; tables before placement, which
partitions them; tables of removed queries go when all are placed, since what they share with others stays; who closes groups
early when all readers are known; state bounds and source columns when the tables are; who reads a source when its
expressions are. The last two rules only
read and refuse: what no user should wait for, and what no rule before should have done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.logical.graph import Graph
from headrace.optimizer.bound_state import bound_state
from headrace.optimizer.check_placement import check_placement
from headrace.optimizer.check_plan import check_plan
from headrace.optimizer.choose_reader import choose_reader
from headrace.optimizer.close_groups import close_groups
from headrace.optimizer.collect_columns import collect_columns
from headrace.optimizer.keep_folders import find_folder_streams
from headrace.optimizer.pass_progress import pass_progress
from headrace.optimizer.place_relations import place_relations
from headrace.optimizer.plan import Plan, Settings, Typer
from headrace.optimizer.prune_relations import prune_relations
from headrace.optimizer.release_tables import release_tables
from headrace.optimizer.share_panes import share_panes
from headrace.optimizer.type_columns import type_columns

RULES: tuple[Callable[..., Plan], ...] = (
    prune_relations,
    type_columns,
    pass_progress,
    share_panes,
    place_relations,
    release_tables,
    close_groups,
    bound_state,
    collect_columns,
    choose_reader,
    check_plan,
    check_placement,
)
_ASK_TYPES = (type_columns, collect_columns, choose_reader)

__all__ = ["RULES", "Plan", "Settings", "check_graph", "optimize"]


def optimize(graph: Graph, typer: Typer, settings: Settings | None = None) -> Plan:
    """The plan of a query set."""
    check_graph(graph)  # says it before anybody asks for types of what cannot be
    settings = settings or Settings()
    if settings.by_folder is not None:
        return _apply_rules(graph, typer, settings)
    hoped = find_folder_streams(graph, settings)
    plan = _apply_rules(graph, typer, replace(settings, by_folder=hoped))
    if hoped and not all(reading.in_tasks for reading in plan.readings.values()):  # only tasks know the folder of a row
        plan = _apply_rules(graph, typer, replace(settings, by_folder=frozenset()))
    return plan


def _apply_rules(graph: Graph, typer: Typer, settings: Settings) -> Plan:
    plan = Plan(graph, settings)
    for rule in RULES:
        plan = rule(plan, typer) if rule in _ASK_TYPES else rule(plan)
    return plan


def check_graph(graph: Graph) -> Plan:
    """Refuse a set that can never emit or never purge, before any type is known: when it is registered."""
    plan = Plan(graph)
    for rule in RULES:
        if rule not in _ASK_TYPES:
            plan = rule(plan)
    return plan
