"""Top-Down (004, section 3.2): plan the whole query at the top, then each part where it was put.

The top coordinator sees every stream, coarsely: it fixes which part of the tree runs under which of its
members. Each of them does the same with its part, with finer distances, down to nodes. The search is bounded
by β times the exhaustive one (Theorem 2), and the cost by what the coarse distances can hide (Theorem 3).
"""

from __future__ import annotations

from headrace.network.deployment import EMPTY, Deployment
from headrace.network.descend import Descent, plan_by_hierarchy
from headrace.network.hierarchy import Hierarchy
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.plan_search import Found
from headrace.network.world import World


def top_down(
    world: World, query: JoinQuery, hierarchy: Hierarchy, deployed: Deployment = EMPTY, reuse: bool = True
) -> QueryPlan:
    return plan_by_hierarchy("top-down", world, query, deployed, hierarchy, reuse, route)


def route(descent: Descent) -> Found:
    problem, hierarchy = descent.problem, descent.hierarchy
    return descent.plan(hierarchy.height, hierarchy.root, problem.full, problem.bases(), problem.sink)
