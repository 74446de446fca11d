"""Which derived streams can serve a query, and at what price (004, sections 3.1.3 and 4.4).

Every operator and every sink offers a view. It can serve a set of a query's streams if it joins the same
streams, with the same slide: what it carries is relaxed to what both need (`join_view.combine_views`: the
looser filter, the larger window, the predicates they have in common, the columns to apply the rest after the
join), and everything upstream of it with it. Two conditions: windows on both or on neither, and the common
predicates still connect the streams; relaxing does not make a cross product of a join.

A stream used twice in a query is `S` and `S#2`, and which is which is a matter of spelling: all assignments
of the one query's uses to the other's are tried, and the cheapest is kept with the entry as `aliases`.

"Operators are reused only when the resulting cost is less than that of deploying a new operator" (section
4.1.1): a relaxation is not offered that costs more than having the set at that very node without it, made of
base streams and of what serves as it is. That limit also ends most pricing early, which is where the time
goes when hundreds of queries share joins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations, product
from typing import NamedTuple

from headrace.network.deployment import Deployment, FeedOrigin
from headrace.network.distance_metric import Vector
from headrace.network.join_view import Aliases, View, combine_views, is_connected, rename_view
from headrace.network.plan_search import WholeField, fill_table
from headrace.network.subsets import Entry, Subsets
from headrace.network.world import Relaxations

MOST_ASSIGNMENTS = 120


def find_reusable(problem: Subsets, deployment: Deployment) -> list[Entry]:
    """The derived streams that can serve a set of a query's streams, with what their relaxation costs."""
    pricing = _Pricing(problem, deployment)
    offers = [(FeedOrigin("operator", o.id), o.node, o.view) for o in deployment.operators]
    offers += [(FeedOrigin("sink", d.query), d.node, d.feed.view) for d in deployment.deliveries]
    wanted: dict[object, list[int]] = {}
    for mask in sorted(problem.sensible):
        if mask.bit_count() > 1:
            wanted.setdefault(problem.view_of(mask).reuse_key, []).append(mask)
    matches = [
        _Match(mask, origin, node, offered, aliases)
        for origin, node, offered in offers
        for mask in wanted.get(offered.reuse_key, ())
        for aliases in _assignments(problem.view_of(mask), offered)
    ]
    return _settle_twice_used(pricing.price(matches))


def _settle_twice_used(entries: list[Entry]) -> list[Entry]:
    """One entry per stream and set, the cheapest; and where one stream could serve two sets of one query, only
    one of them at a price: two relaxations of one stream do not simply add up.
    """
    best: dict[tuple[FeedOrigin, int], Entry] = {}
    for entry in sorted(entries, key=lambda e: e.cost):
        best.setdefault((entry.origin, entry.mask), entry)
    if len({origin for origin, _ in best}) == len(best):
        return list(best.values())
    kept, priced = [], set()
    for entry in best.values():
        if entry.cost == 0 or entry.origin not in priced:
            kept.append(entry)
        if entry.cost:
            priced.add(entry.origin)
    return [e for e in kept if e.cost == 0 or not any(f.origin == e.origin and f.cost == 0 for f in kept)]


class _Match(NamedTuple):
    mask: int
    origin: FeedOrigin
    node: str
    offered: View
    aliases: Aliases


def _assignments(asked: View, offered: View) -> Iterator[Aliases]:
    """Ways to read the offered inputs as those asked for; one, with nothing renamed, if no stream is there
    twice.
    """
    if asked.names == offered.names and len({i.stream for i in asked.inputs}) == len(asked.inputs):
        yield ()
        return
    ours: dict[str, list[str]] = {}
    theirs: dict[str, list[str]] = {}
    for view, uses in ((asked, ours), (offered, theirs)):
        for one in view.inputs:
            uses.setdefault(one.stream, []).append(one.name)
    ways = [[tuple(zip(ours[s], p, strict=True)) for p in permutations(theirs[s])] for s in sorted(ours)]
    for number, way in enumerate(product(*ways)):
        if number == MOST_ASSIGNMENTS:
            return
        renamed = tuple(pair for part in way for pair in part)
        yield () if all(a == b for a, b in renamed) else renamed


class _Pricing:
    """Relaxations of one deployment for one query."""

    def __init__(self, problem: Subsets, deployment: Deployment) -> None:
        self.problem, self.deployment = problem, deployment
        world = problem.world
        self.spare = world.spare(deployment)
        self.known: Relaxations = {}
        self.limited = not world.costs.processing and not any(
            not n.hosts or math.isfinite(n.capacity) for n in world.network.nodes
        )
        self.made: dict[int, Vector] = {}

    def price(self, matches: list[_Match]) -> list[Entry]:
        """What serves as it is first: it limits what relaxing the others may cost."""
        free: list[Entry] = []
        dear = []
        self.know(free if matches else None)
        for match in matches:
            if self.limit(match) < 0:
                continue
            asked = rename_view(self.problem.view_of(match.mask), match.aliases)
            widened = combine_views((match.offered, asked))
            if widened == match.offered:
                free.append(self.entry(match, 0.0, {}))
            elif is_connected(widened) or not is_connected(asked):
                dear.append((match, widened))
        self.know(free if dear and free else None)
        found = list(free)
        for match, widened in dear:
            limit = self.limit(match)
            if limit >= 0:
                cost, loads = self.problem.world.widening(
                    self.deployment, match.origin, widened, limit, self.known
                )
                if math.isfinite(cost) and cost <= limit and all(more <= self.room(name) for name, more in loads.items()):
                    found.append(self.entry(match, max(0.0, cost), loads))
        return found

    def know(self, free: list[Entry] | None) -> None:
        """Work out what sets cost at nodes, of base streams and of what serves as it is."""
        if self.limited and free is not None:
            problem = self.problem
            field = WholeField(problem.world.metric)
            table = fill_table(problem, field, problem.bases() + free, problem.full, problem.splits)
            self.made = table.best

    def entry(self, match: _Match, cost: float, loads: dict[str, float]) -> Entry:
        at = self.problem.world.network.at(match.node)
        return Entry(match.mask, at, cost, match.origin, tuple(sorted(loads.items())), match.aliases)

    def limit(self, match: _Match) -> float:
        """The most a relaxation may cost: no more than the set costs at that node without it, and no more
        than the whole plan does, of which the way from there to the sink is a part. None where capacities may
        forbid the alternative.
        """
        if not self.limited:
            return math.inf
        problem = self.problem
        at = problem.world.network.at(match.node)
        whole = float(self.made[problem.full][problem.sink])
        if match.mask == problem.full:
            whole -= problem.world.metric.travel(problem.flow(match.mask), at, problem.sink)
        return min(float(self.made[match.mask][at]), whole + 1e-9 * abs(whole))

    def room(self, operator: str) -> float:
        at = self.problem.world.network.at(self.deployment.operator[operator].node)
        return float(self.spare[at]) + 1e-9
