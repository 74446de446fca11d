"""Planning within a cluster and handing the parts down, common to Top-Down, Bottom-Up and NPC.

A coordinator knows the members of its cluster, the distances between them, and where the inputs seem to be:
at a member if they are under the cluster, else at the representative of the first cluster above which has
them. It searches all trees and assignments to members (by the shared dynamic programme; the count is that of
the document's exhaustive search). At level 1 members are nodes and the plan is done. Above, joins next to
each other on the same member form a view; each view is handed to the cluster that member stands for and
planned there, from the inputs up, with the base streams, views and derived streams that are then known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from headrace.network import plan_search
from headrace.network.deployment import Deployment, FeedOrigin
from headrace.network.distance_metric import travel_cost
from headrace.network.exact import ENTRY, build_tree, choose_barred, find_overload, mask_of
from headrace.network.hierarchy import Cluster, Hierarchy
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.plan_search import Found, FoundEntry, FoundJoin, unplaceable_error
from headrace.network.reusable_streams import find_reusable
from headrace.network.search_space import count_examined
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

PLANNED = "planned"
MOST_ATTEMPTS = 200


@dataclass
class Descent:
    """One query on its way through a hierarchy: what is known about it, and what has been counted."""

    problem: Subsets
    hierarchy: Hierarchy
    derived: list[Entry]
    spare: np.ndarray
    forbidden: plan_search.Forbidden = frozenset()
    examined: int = 0
    states: int = 0
    built: dict[FeedOrigin, Found] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.world.network.names

    def knows(self, level: int, cluster: Cluster, entry: Entry) -> bool:
        return self.names[entry.node] in self.hierarchy.under(level, cluster)

    def find_derived(self, level: int, cluster: Cluster, goal: int) -> list[Entry]:
        """Derived streams advertised under a cluster that can help make a set."""
        return [e for e in self.derived if e.mask & ~goal == 0 and self.knows(level, cluster, e)]

    def as_entry(self, found: Found, cost: float) -> Entry:
        """A view planned earlier, as an input to what is planned next."""
        if isinstance(found, FoundEntry):
            return found.entry
        origin = FeedOrigin("operator", f"{PLANNED} {len(self.built)}")
        self.built[origin] = found
        return Entry(found.mask, found.node, cost, origin)

    def expand(self, found: Found) -> Found:
        """A plan with the views planned earlier written out."""
        if isinstance(found, FoundEntry):
            inner = self.built.get(found.entry.origin)
            return found if inner is None else self.expand(inner)
        return FoundJoin(found.mask, found.node, self.expand(found.left), self.expand(found.right))

    def table(self, level: int, cluster: Cluster, goal: int, inputs: list[Entry]) -> plan_search.CostTable:
        """All a coordinator can work out about a set from its inputs."""
        network = self.problem.world.network

        def seen(node: int) -> int:
            return network.index[self.hierarchy.seen_from(level, cluster, self.names[node])]

        members = [network.index[m] for m in cluster.members]
        cluster_field = plan_search.ClusterField(self.problem.world.metric, members, seen)
        room = np.array([self.room(level, m) for m in cluster.members])
        barred = self.forbidden if level == 1 else frozenset()
        places = {n: i for i, n in enumerate(members)}
        local = frozenset((m, a, b, places[n]) for m, a, b, n in barred if n in places)
        table = plan_search.fill_table(
            self.problem, cluster_field, inputs, goal, self.problem.splits, room, local
        )
        self.states += table.states
        return table

    def room(self, level: int, member: str) -> float:
        """The most capacity left on one node a member stands for."""
        network = self.problem.world.network
        if level == 1:
            return float(self.spare[network.index[member]])
        nodes = self.hierarchy.under(level - 1, self.hierarchy.below(level, member))
        return max(float(self.spare[network.index[n]]) for n in nodes)

    def choose_way(
        self, table: plan_search.CostTable, level: int, cluster: Cluster, goal: int, to: int
    ) -> tuple[Found, float]:
        """The best way to a set for a consumer who seems to be at node `to`, and what it is believed to
        cost.
        """
        network = self.problem.world.network
        seen = network.index[self.hierarchy.seen_from(level, cluster, self.names[to])]
        towards = travel_cost(self.problem.flow(goal), self.problem.world.metric.row(seen))
        options: list[tuple[float, int, Found | None]] = []
        for entry in table.entries.get(goal, ()):
            at = network.index[self.hierarchy.seen_from(level, cluster, self.names[entry.node])]
            options.append((entry.cost + float(towards[at]), 0, FoundEntry(entry)))
        place = 0
        if goal in table.made:
            total = table.made[goal] + towards[table.field.nodes]
            place = int(np.argmin(total))
            if np.isfinite(total[place]):
                options.append((float(total[place]), 1, None))
        if not options:
            raise unplaceable_error(self.problem)
        cost, _, found = min(options, key=lambda o: (o[0], o[1]))
        return (table.read_made(goal, place) if found is None else found), cost

    def plan(self, level: int, cluster: Cluster, goal: int, inputs: list[Entry], to: int) -> Found:
        """Plan a set within a cluster, all the way down to nodes."""
        offered = inputs + [e for e in self.find_derived(level, cluster, goal) if e not in inputs]
        self.count(goal, offered, cluster)
        table = self.table(level, cluster, goal, offered)
        found, _ = self.choose_way(table, level, cluster, goal, to)
        return self.finish(level, found, to)

    def count(self, goal: int, offered: list[Entry], cluster: Cluster, remote: int = 0) -> None:
        """Count the plans a coordinator looks at; what is `remote` is one more stream to it (Theorem 4)."""
        self.examined += count_examined(goal, offered, len(cluster.members), remote)

    def finish(self, level: int, found: Found, to: int) -> Found:
        """A coordinator's choice, all the way down to nodes."""
        return found if level == 1 else self.hand_down(level, found, to)

    def hand_down(self, level: int, found: Found, to: int) -> Found:
        """Give each member the joins put on it, inputs first."""
        if isinstance(found, FoundEntry):
            return found
        inputs = []
        for child in self._fringe(found, found.node):
            entry = self.as_entry(self.hand_down(level, child, found.node), 0.0)
            inputs.append(entry)
        below = self.hierarchy.below(level, self.names[found.node])
        return self.plan(level - 1, below, found.mask, inputs, to)

    def _fringe(self, found: Found, node: int) -> list[Found]:
        """The inputs of the view around a join: where other members or streams come in."""
        if isinstance(found, FoundEntry) or found.node != node:
            return [found]
        return self._fringe(found.left, node) + self._fringe(found.right, node)


def cost_of(problem: Subsets, found: Found, to: int) -> float:
    """What a plan really costs up to a node."""
    metric, flow = problem.world.metric, problem.flow(mask_of(found))
    if isinstance(found, FoundEntry):
        return found.entry.cost + metric.travel(flow, found.entry.node, to)
    work = problem.world.costs.processing * problem.load(mask_of(found.left), mask_of(found.right))
    inner = cost_of(problem, found.left, found.node) + cost_of(problem, found.right, found.node)
    return inner + work + metric.travel(flow, found.node, to)


def plan_by_hierarchy(
    algorithm: str,
    world: World,
    query: JoinQuery,
    deployed: Deployment,
    hierarchy: Hierarchy,
    reuse: bool,
    route: Callable[[Descent], Found],
) -> QueryPlan:
    """Run a route through the hierarchy; while a node is overloaded by several joins, bar the heaviest from
    it.
    """
    started = time.perf_counter()
    problem = Subsets(world, query)
    spare = world.spare(deployed)
    entries = problem.bases() + (find_reusable(problem, deployed) if reuse else [])
    barred: plan_search.Forbidden = frozenset()
    plans = states = 0
    for _ in range(MOST_ATTEMPTS):
        usable = [e for i, e in enumerate(entries) if (e.mask, ENTRY, ENTRY, i) not in barred]
        descent = Descent(problem, hierarchy, [e for e in usable if e.mask.bit_count() > 1], spare, barred)
        found = descent.expand(route(descent))
        plans, states = plans + descent.examined, states + descent.states
        clash = find_overload(problem, found, entries, deployed, spare)
        if not clash:
            cost = cost_of(problem, found, problem.sink)
            seconds = time.perf_counter() - started
            return QueryPlan(
                query.name, query.sink, build_tree(problem, found), cost, algorithm, plans, states, seconds
            )
        barred |= {choose_barred(problem, clash)}
    raise unplaceable_error(problem)
