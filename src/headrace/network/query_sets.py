"""Sets of queries: one after the other as they arrive, then rounds of improvement.

`deploy_in_order` is what the document does: each query is planned beside what is deployed. The result depends on
the order, since the first query cannot know what the next would have liked to share. `improve_set` takes queries
out again, one at a time and then in pairs that share something, re-plans them beside the rest, and keeps what
is cheaper, until a round changes nothing. What others use of a query that is taken out stays meanwhile
(`deployment.withdraw_query`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, Deployment, withdraw_query
from headrace.network.join_query import JoinQuery
from headrace.network.join_view import View
from headrace.network.network_plan import QueryPlan, deploy_plan
from headrace.network.planners import Planner
from headrace.network.seeding import list_groups, offer_views
from headrace.network.world import World

LEAST_GAIN = 1e-9
SMALL_SET = 8
WORTH_A_PASS = 1e-3  # of a large set, a pass that gained less is the last
MOST_USERS = 24  # of a view offered within a large set: each is planned anew for every node tried


@dataclass(frozen=True)
class SetOutcome:
    """A deployed set: the plans in the order they were made, the total cost after each."""

    deployment: Deployment
    plans: tuple[QueryPlan, ...]
    costs: tuple[float, ...]

    @property
    def cost(self) -> float:
        return self.costs[-1] if self.costs else 0.0


def deploy_in_order(
    planner: Planner, queries: Iterable[JoinQuery], deployed: Deployment = EMPTY, start: float = 0.0
) -> SetOutcome:
    """Plan and deploy in arrival order. Costs are those of the new queries, on top of `start`."""
    plans, costs, total = [], [], start
    for query in queries:
        if query.name in deployed.queries:
            raise NetworkError(f"query {query.name!r} is deployed already; withdraw it first or rename it")
        plan = planner(query, deployed)
        deployed = deploy_plan(deployed, plan)
        total += plan.cost
        plans.append(plan)
        costs.append(total)
    return SetOutcome(deployed, tuple(plans), tuple(costs))


def improve_set(
    world: World,
    planner: Planner,
    queries: Sequence[JoinQuery],
    outcome: SetOutcome,
    rounds: int = 10,
    sharing: int | None = None,
) -> SetOutcome:
    """Take out, re-plan, keep what is cheaper; at most `rounds` times through the set.

    `sharing` says how far to go in offering joins at shared places: 0 not at all, then the stages of
    `seeding.list_groups`; by default all of them for sets of up to SMALL_SET queries, the first for larger ones.
    """
    small = len(queries) <= SMALL_SET
    stages = (3 if small else 1) if sharing is None else sharing
    state = _SetState(world, planner, outcome.deployment, {p.query: p for p in outcome.plans})
    for _ in range(rounds):
        before = state.cost
        while state.replan(queries, LEAST_GAIN if small else WORTH_A_PASS):
            pass
        for stage in range(stages):
            if not state.has_gained(before):
                for views, users in list_groups(world, queries, stage):
                    if small or len(users) <= MOST_USERS:
                        state.seed(views, users)
        if not state.has_gained(before):
            break
    ordered = tuple(state.plans[q.name] for q in queries if q.name in state.plans)
    return replace(outcome, deployment=state.current, plans=ordered, costs=(*outcome.costs, state.cost))


@dataclass
class _SetState:
    """The best deployment so far."""

    world: World
    planner: Planner
    current: Deployment
    plans: dict[str, QueryPlan]

    def __post_init__(self) -> None:
        self.cost = self.world.cost(self.current)

    def has_gained(self, before: float, least: float = LEAST_GAIN) -> bool:
        return before - self.cost > least * before

    def offer(self, trial: Deployment, made: Iterable[QueryPlan]) -> None:
        after = self.world.cost(trial)
        if after < self.cost * (1 - LEAST_GAIN):
            self.current, self.cost = trial, after
            self.plans.update((p.query, p) for p in made)

    def replan(self, queries: Iterable[JoinQuery], least: float = LEAST_GAIN) -> bool:
        """Each query once, beside the others."""
        before = self.cost
        for query in queries:
            without = withdraw_query(self.current, query.name)
            plan = self.planner(query, without)
            if self.world.cost(without) + plan.cost < self.cost * (1 - LEAST_GAIN):
                self.offer(deploy_plan(without, plan), (plan,))
        return self.has_gained(before, least)

    def seed(self, views: Sequence[View], users: Sequence[JoinQuery]) -> None:
        """Offer views at shared places; after each, let its users reconsider once."""
        for trial, made in offer_views(self.world, self.planner, views, users, self.current):
            tried = _SetState(self.world, self.planner, trial, {p.query: p for p in made})
            tried.replan(users)
            self.offer(tried.current, tried.plans.values())
