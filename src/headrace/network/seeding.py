"""Compromises: a join placed where no single query would want it, but several together do.

Re-planning queries one at a time cannot find these: each move alone looks worse. So for a view that several
queries can use, and a node: take those queries out, run the view at the node as if someone had asked for it
there, re-plan them beside it, each free to use it or not, and withdraw the pretence; what nobody used of it
disappears.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, permutations

import numpy as np

from headrace.network.deployment import Deployment, withdraw_query
from headrace.network.distance_metric import travel_cost
from headrace.network.exact import build_tree
from headrace.network.join_query import JoinQuery
from headrace.network.join_view import View, combine_views
from headrace.network.network_plan import PlanTree, QueryPlan, deploy_plan
from headrace.network.plan_search import WholeField, fill_table
from headrace.network.planners import Planner
from headrace.network.reusable_streams import find_reusable
from headrace.network.subsets import Subsets
from headrace.network.world import World

PRETENCE = "(pretence)"
FEW_NODES = 16
NODES_TRIED = 6
NODES_OF_TWO = 4
PAIRS_TRIED = 30


def shared_views(world: World, queries: Sequence[JoinQuery]) -> list[tuple[View, list[JoinQuery]]]:
    """Views that two or more queries can use, loosened to serve all of them; the widest-used first."""
    users: dict[object, tuple[list[View], list[JoinQuery]]] = {}
    for query in queries:
        problem = Subsets(world, query)
        for mask in problem.splits:
            view = problem.view_of(mask)
            views, those = users.setdefault((view.names, view.reuse_key, view.predicates), ([], []))
            views.append(view)
            those.append(query)
    several = [(combine_views(views), those) for views, those in users.values() if len(those) > 1]
    return sorted(several, key=lambda s: (-len(s[1]), len(s[0].inputs), str(s[0])))


def list_groups(
    world: World, queries: Sequence[JoinQuery], stage: int
) -> Iterator[tuple[tuple[View, ...], list[JoinQuery]]]:
    """What to offer to whom, wider from stage to stage: a view to its users; to two of them, or to all
    queries; two views together.
    """
    views = shared_views(world, queries)
    if stage == 0:
        yield from (((view,), users) for view, users in views)
    elif stage == 1:
        for view, users in views:
            if len(users) < len(queries):
                yield (view,), list(queries)
            if len(users) > 2:
                for pair in permutations(users, 2):
                    yield (view,), list(pair)
    else:
        for (one, first), (other, second) in islice(combinations(views, 2), PAIRS_TRIED):
            yield (one, other), first + [q for q in second if q not in first]


def offer_views(
    world: World, planner: Planner, views: Sequence[View], users: Sequence[JoinQuery], current: Deployment
) -> Iterator[tuple[Deployment, list[QueryPlan]]]:
    """Deployments in which views were offered at one choice of nodes after another."""
    bare = current
    for query in users:
        bare = withdraw_query(bare, query.name)
    for offered in _offered(world, views, users, bare, 0):
        trial, made = offered, []
        for query in users:
            plan = planner(query, trial)
            trial = deploy_plan(trial, plan)
            made.append(plan)
        for i in range(len(views)):
            trial = withdraw_query(trial, f"{PRETENCE} {i}")
        yield trial, made


def _offered(
    world: World, views: Sequence[View], users: Sequence[JoinQuery], bare: Deployment, number: int
) -> Iterator[Deployment]:
    """The deployment with every view run somewhere, for all the choices tried."""
    if number == len(views):
        yield bare
        return
    for node, offer in _offers(
        world, views[number], users, bare, NODES_OF_TWO if len(views) > 1 else NODES_TRIED
    ):
        pretence = QueryPlan(f"{PRETENCE} {number}", world.network.names[node], offer, 0.0, "seed")
        yield from _offered(world, views, users, deploy_plan(bare, pretence), number + 1)


def _offers(
    world: World, view: View, users: Sequence[JoinQuery], bare: Deployment, most: int
) -> Iterator[tuple[int, PlanTree]]:
    """The view made at the nodes that look best for all users, or at all nodes of a small network."""
    asked = JoinQuery(PRETENCE, users[0].sink, view.inputs, view.predicates, view.slide)
    problem = Subsets(world, asked)
    table = fill_table(
        problem,
        WholeField(world.metric),
        problem.bases() + find_reusable(problem, bare),
        problem.full,
        problem.splits,
        world.spare(bare),
    )
    if problem.full not in table.made:
        return
    made = table.made[problem.full]
    onward = np.sum([world.metric.row(world.network.at(q.sink)) for q in users], axis=0)
    score = made + travel_cost(problem.flow(problem.full), onward)
    order = np.argsort(score, kind="stable")
    few = most == NODES_TRIED and len(order) <= FEW_NODES
    for node in order[: len(order) if few else most]:
        if np.isfinite(score[node]):
            yield int(node), build_tree(problem, table.read_made(problem.full, int(node)))
