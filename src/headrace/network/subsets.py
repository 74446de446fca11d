"""The sets of streams of one query: which can be made, how they split, what they carry, where they can be
had.

Sets are bit masks over the inputs in name order. A set is *sensible* if its join graph is connected; if the
query as a whole is not connected, also if it is a union of whole components: cross products appear only where
a plan needs them. `entries` are the places a set can be had at without joining anything for it: a base stream
at its node for nothing, a derived stream at its node for what its relaxation costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headrace.errors import NetworkError
from headrace.network.deployment import FeedOrigin
from headrace.network.join_query import JoinQuery, normalize_query
from headrace.network.join_view import Aliases, View, restrict_view
from headrace.network.world import World

MOST_INPUTS = 12


@dataclass(frozen=True)
class Entry:
    """A set of streams that is there: at which node, for how much, from where; `loads` is per operator
    relaxed, `aliases` what the inputs are called there, if otherwise.
    """

    mask: int
    node: int
    cost: float
    origin: FeedOrigin
    loads: tuple[tuple[str, float], ...] = ()
    aliases: Aliases = ()


class Subsets:
    """One query against one world, by sets of its inputs."""

    def __init__(self, world: World, query: JoinQuery, cross_products: bool = False) -> None:
        self.world = world
        self.query = query
        self.sink = world.network.at(query.sink)
        self._views = world.views_of(query)  # the same objects each time a query is planned
        full = self._views.get(0) or normalize_query(world.catalog, query)
        self.view = self._views.setdefault(0, full)
        self.names = tuple(i.name for i in self.view.inputs)
        if len(self.names) > MOST_INPUTS:
            raise NetworkError(
                f"query {query.name!r} joins {len(self.names)} streams; plans over all join orders are"
                f" computed for up to {MOST_INPUTS}. Split it into queries that read one another"
            )
        self.full = (1 << len(self.names)) - 1
        self.cross_products = cross_products
        self._flows: dict[int, float] = {}
        self._check()

    def _check(self) -> None:
        for one in self.view.inputs:
            source = self.world.catalog.stream(one.stream).node
            if not np.isfinite(self.world.distance(source, self.query.sink)):
                raise NetworkError(
                    f"query {self.query.name!r}: stream {one.stream!r} at node {source!r} cannot reach sink"
                    f" {self.query.sink!r}; no path of live links leads there. Bring a link up or move"
                    " the sink"
                )

    def view_of(self, mask: int) -> View:
        """What the query needs of a set of its streams."""
        if mask not in self._views:
            names = frozenset(n for i, n in enumerate(self.names) if mask >> i & 1)
            self._views[mask] = restrict_view(self.view, names)
        return self._views[mask]

    def flow(self, mask: int) -> float:
        if mask not in self._flows:
            self._flows[mask] = self.world.flow(self.view_of(mask))
        return self._flows[mask]

    def tuples(self, mask: int) -> float:
        return self.world.estimate.tuples(self.view_of(mask))

    def load(self, left: int, right: int) -> float:
        """Tuples per second a join of two sets takes in."""
        return self.tuples(left) + self.tuples(right)

    def mask_of(self, view: View) -> int:
        return sum(1 << i for i, n in enumerate(self.names) if n in view.names)

    @cached_property
    def neighbours(self) -> tuple[int, ...]:
        """Per input the mask of inputs it is joined with."""
        place = {n: i for i, n in enumerate(self.names)}
        found = [0] * len(self.names)
        for p in self.view.predicates:
            a, b = place[p.left[0]], place[p.right[0]]
            found[a] |= 1 << b
            found[b] |= 1 << a
        return tuple(found)

    def component(self, mask: int) -> int:
        """The part of a set reachable by predicates from its first member."""
        reached = mask & -mask
        while True:
            wider = reached
            for i, near in enumerate(self.neighbours):
                if reached >> i & 1:
                    wider |= near & mask
            if wider == reached:
                return reached
            reached = wider

    def components(self, mask: int) -> list[int]:
        parts = []
        while mask:
            parts.append(self.component(mask))
            mask &= ~parts[-1]
        return parts

    @cached_property
    def sensible(self) -> frozenset[int]:
        everything = range(1, self.full + 1)
        if self.cross_products:
            return frozenset(everything)
        whole = self.components(self.full)
        unions = {0}
        for part in whole:
            unions |= {u | part for u in unions}
        return frozenset(m for m in everything if m in unions or self.component(m) == m)

    @cached_property
    def splits(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """Per sensible set of two or more its halves, smaller sets first; the half with the first input is
        the left.
        """
        found = {}
        for mask in sorted(self.sensible, key=lambda m: (m.bit_count(), m)):
            if mask.bit_count() > 1:
                found[mask] = tuple(self._halves(mask))
        return found

    def _halves(self, mask: int) -> Iterator[tuple[int, int]]:
        lowest = mask & -mask
        rest = mask ^ lowest
        part = rest
        while part:
            part = (part - 1) & rest
            left, right = part | lowest, mask ^ (part | lowest)
            if left in self.sensible and right in self.sensible:
                yield left, right

    def bases(self) -> list[Entry]:
        """The base streams where they arise."""
        found = []
        for i, one in enumerate(self.view.inputs):
            node = self.world.network.at(self.world.catalog.stream(one.stream).node)
            found.append(Entry(1 << i, node, 0.0, FeedOrigin("stream", one.stream)))
        return found
