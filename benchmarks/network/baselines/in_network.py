"""In-network (Ahmad and Çetintemel, the document's [5]): a given tree, placed zone by zone.

The network is divided into zones, each with a coordinator. Going up the tree, a join belongs to the zone from
which most of its input flows; neighbouring joins of one zone form a part, and the zone's coordinator looks at
all assignments of the part to nodes of its zone, with the inputs where they are and the result on its way to
the sink. A derived stream may take the place of any set of the tree. The document gives zones by number (five
in section 4.4).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.network.deployment import EMPTY, Deployment, FeedOrigin
from headrace.network.descend import cost_of
from headrace.network.distance_metric import DistanceMetric, travel_cost
from headrace.network.exact import ENTRY, build_tree, choose_barred, find_overload, mask_of
from headrace.network.hierarchy import coordinates
from headrace.network.join_order import order_by_size
from headrace.network.join_query import JoinQuery
from headrace.network.kmeans import divide_by_kmeans
from headrace.network.network_plan import QueryPlan
from headrace.network.plan_search import (
    ClusterField,
    Forbidden,
    Found,
    FoundEntry,
    FoundJoin,
    Splits,
    fill_table,
    unplaceable_error,
)
from headrace.network.reusable_streams import find_reusable
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import World

Zones = tuple[tuple[int, ...], ...]
ZONES = 5
_MOST_ATTEMPTS = 200


def make_zones(
    metric: DistanceMetric, count: int = ZONES, seed: int = 0, nodes: NDArray[np.int64] | None = None
) -> Zones:
    """The network, or some nodes of it, in a number of zones, by K-means on distances."""
    those = np.arange(metric.size) if nodes is None else nodes
    groups = divide_by_kmeans(coordinates(metric, those), np.arange(len(those)), min(count, len(those)), seed)
    return tuple(tuple(int(those[i]) for i in group) for group in sorted(sorted(g.tolist()) for g in groups))


def in_network(
    world: World, query: JoinQuery, zoning: Zones, deployed: Deployment = EMPTY, reuse: bool = True
) -> QueryPlan:
    started = time.perf_counter()
    problem = Subsets(world, query)
    splits = order_by_size(problem)
    entries = problem.bases() + (find_reusable(problem, deployed) if reuse else [])
    spare = world.spare(deployed)
    barred: Forbidden = frozenset()
    for _ in range(_MOST_ATTEMPTS):
        usable = [e for i, e in enumerate(entries) if (e.mask, ENTRY, ENTRY, i) not in barred]
        walk = _Walk(problem, splits, usable, zoning, spare, barred)
        found = walk.expand(walk.finish(problem.full))
        clash = find_overload(problem, found, entries, deployed, spare)
        if not clash:
            cost = cost_of(problem, found, problem.sink)
            seconds = time.perf_counter() - started
            chosen = build_tree(problem, found)
            return QueryPlan(
                query.name, query.sink, chosen, cost, "in-network", walk.examined, walk.states, seconds
            )
        barred |= {choose_barred(problem, clash)}
    raise unplaceable_error(problem)


@dataclass
class _Walk:
    """Up the tree: `open` holds, per set whose zone's part is still growing, the zone and the part's
    inputs.
    """

    problem: Subsets
    splits: Splits
    entries: list[Entry]
    zoning: Zones
    spare: np.ndarray
    barred: Forbidden
    examined: int = 0
    states: int = 0

    def __post_init__(self) -> None:
        self.zone_of = {node: z for z, group in enumerate(self.zoning) for node in group}
        self.built: dict[FeedOrigin, Found] = {}

    def finish(self, mask: int) -> Found:
        """A set, placed: its zone's part is closed and planned."""
        if mask not in self.splits:
            return FoundEntry(next(e for e in self.entries if e.mask == mask))
        zone, inputs = self.part(mask)
        return self.place(mask, zone, inputs)

    def part(self, mask: int) -> tuple[int, list[Entry]]:
        """The zone a join belongs to, and the inputs of its part: parts below in the same zone are taken
        in.
        """
        halves = []
        for half in self.splits[mask][0]:
            if half in self.splits:
                halves.append((half, *self.part(half)))
            else:
                entry = next(e for e in self.entries if e.mask == half)
                halves.append((half, self.zone_of[entry.node], [entry]))
        zone = max(halves, key=lambda h: (self.problem.flow(h[0]), -h[0]))[1]
        inputs: list[Entry] = []
        for half, where, below in halves:
            if where == zone or half not in self.splits:
                inputs += below
            else:
                inputs.append(self.as_entry(self.place(half, where, below)))
        return zone, inputs

    def place(self, mask: int, zone: int, inputs: list[Entry]) -> Found:
        """All assignments of a part to nodes of its zone, and the derived streams that can stand for sets of
        it.
        """
        problem, group = self.problem, self.zoning[zone]
        inside = {m for m in self.splits if m & ~mask == 0}
        derived = [e for e in self.entries if e.mask in inside and e.mask.bit_count() > 1]
        offered = inputs + derived
        self.examined += len(group) ** max(0, len(inputs) - 1)
        places = {n: i for i, n in enumerate(group)}
        barred = frozenset((m, a, b, places[n]) for m, a, b, n in self.barred if n in places)
        field = ClusterField(problem.world.metric, group, lambda node: node)
        table = fill_table(problem, field, offered, mask, self.splits, self.spare[list(group)], barred)
        self.states += table.states
        towards = travel_cost(problem.flow(mask), problem.world.metric.row(problem.sink))
        options: list[Found] = [FoundEntry(e) for e in table.entries.get(mask, ())]
        if mask in table.made:
            total = table.made[mask] + towards[table.field.nodes]
            best = int(np.argmin(total))
            if np.isfinite(total[best]):
                options.append(table.read_made(mask, best))
        if not options:
            raise unplaceable_error(problem)
        return min(options, key=lambda f: cost_of(problem, self.expand(f), problem.sink))

    def as_entry(self, found: Found) -> Entry:
        if isinstance(found, FoundEntry):
            return found.entry
        origin = FeedOrigin("operator", f"planned {len(self.built)}")
        self.built[origin] = found
        return Entry(mask_of(found), found.node, 0.0, origin)

    def expand(self, found: Found) -> Found:
        if isinstance(found, FoundEntry):
            inner = self.built.get(found.entry.origin)
            return found if inner is None else self.expand(inner)
        return FoundJoin(found.mask, found.node, self.expand(found.left), self.expand(found.right))
