"""The dynamic programme all planners share: best[S][v], over sets of streams S and nodes v of a field.

made[S][u] = min over S = A ∪ B of best[A][u] + best[B][u]        a join of A and B at u best[S][v] = min over
u of made[S][u] + flow(S) · d(u, v),  and over entries e of S: cost(e) + flow(S) · d(e, v)

Optimal substructure holds, against the document's remark in section 3: a set of streams at a node costs the
same to carry on however it came about, since what it carries depends only on the set (`join_view.restrict_view`). Hence
the programme finds what enumerating all trees and all placements finds (tests/network/test_exact.py),
including reuse: a derived stream is one more entry of its set, and the sets a plan reuses are disjoint, so
their relaxations add up.

A *field* is the nodes a coordinator may use: the whole network (`Whole`), or the members of a cluster with
the distances between them and to the places its inputs are seen at (`Cluster`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.errors import UnplaceableError
from headrace.network.distance_metric import DistanceMetric, Vector, travel_cost
from headrace.network.subsets import Entry, Subsets

Splits = Mapping[int, Sequence[tuple[int, int]]]
# where the set at a node came from: ("entry", index of entry) or ("made", node)
Trace = Callable[[int], tuple[str, int]]


@dataclass(frozen=True)
class FoundEntry:
    """A leaf found: the entry taken."""

    entry: Entry


@dataclass(frozen=True)
class FoundJoin:
    """A join found: which halves, at which node of the field (an index of the network)."""

    mask: int
    node: int
    left: Found
    right: Found


Found = FoundEntry | FoundJoin


class SearchField(Protocol):
    nodes: np.ndarray

    def arrive(self, flow: float, made: Vector | None, entries: Sequence[Entry]) -> tuple[Vector, Trace]: ...


class WholeField:
    """All nodes of the network."""

    def __init__(self, metric: DistanceMetric) -> None:
        self.metric = metric
        self.nodes = np.arange(metric.size)

    def arrive(self, flow: float, made: Vector | None, entries: Sequence[Entry]) -> tuple[Vector, Trace]:
        if made is None and len(entries) == 1:
            only = entries[0]
            return only.cost + travel_cost(flow, self.metric.row(only.node)), lambda v: ("entry", 0)
        start = np.full(self.metric.size, np.inf) if made is None else made.copy()
        taken: dict[int, int] = {}
        for i, entry in enumerate(entries):
            if entry.cost < start[entry.node] or (
                entry.cost == start[entry.node] and entry.node not in taken
            ):
                start[entry.node] = entry.cost
                taken[entry.node] = i
        best, origin = self.metric.spread(start, flow)

        def trace(v: int) -> tuple[str, int]:
            u = origin(v)
            return ("entry", taken[u]) if u in taken else ("made", u)

        return best, trace


class ClusterField:
    """The members of a cluster; entries are seen at `seen(node)`, a member or a coordinator elsewhere."""

    def __init__(self, metric: DistanceMetric, members: Sequence[int], seen: Callable[[int], int]) -> None:
        self.metric = metric
        self.nodes = np.array(members)
        self.seen = seen
        self.between = metric.block(self.nodes)

    def arrive(self, flow: float, made: Vector | None, entries: Sequence[Entry]) -> tuple[Vector, Trace]:
        n = len(self.nodes)
        rows = [] if made is None else list(made[:, None] + travel_cost(flow, self.between))
        rows += [e.cost + travel_cost(flow, self.metric.row(self.seen(e.node))[self.nodes]) for e in entries]
        table = np.vstack(rows)
        source = np.argmin(table, axis=0)
        offset = 0 if made is None else n

        def trace(v: int) -> tuple[str, int]:
            row = int(source[v])
            return ("entry", row - offset) if row >= offset else ("made", row)

        return table[source, np.arange(n)], trace


@dataclass
class CostTable:
    """The filled table: cost vectors per set, and what is needed to read a plan out of it."""

    field: SearchField
    best: dict[int, Vector]
    made: dict[int, Vector]
    traces: dict[int, Trace]
    halves: dict[int, tuple[np.ndarray, Sequence[tuple[int, int]]]]
    entries: dict[int, list[Entry]]
    states: int

    def read(self, mask: int, place: int) -> Found:
        """The plan that brings a set to a place of the field."""
        kind, at = self.traces[mask](place)
        return FoundEntry(self.entries[mask][at]) if kind == "entry" else self.read_made(mask, at)

    def read_made(self, mask: int, place: int) -> Found:
        choice, splits = self.halves[mask]
        left, right = splits[int(choice[place])]
        return FoundJoin(mask, int(self.field.nodes[place]), self.read(left, place), self.read(right, place))


Forbidden = frozenset[tuple[int, int, int, int]]  # (set, left half, right half, node)


def fill_table(
    problem: Subsets,
    field: SearchField,
    entries: Iterable[Entry],
    goal: int,
    splits: Splits,
    spare: Vector | None = None,
    forbidden: Forbidden = frozenset(),
) -> CostTable:
    """Fill the table for the subsets of `goal`. `spare` is the capacity left per place of the field."""
    at: dict[int, list[Entry]] = {}
    for entry in entries:
        if entry.mask & ~goal == 0:
            at.setdefault(entry.mask, []).append(entry)
    wanted = sorted({m for m in splits if m & ~goal == 0} | set(at), key=lambda m: (m.bit_count(), m))
    table = CostTable(field, {}, {}, {}, {}, at, 0)
    limited = spare is not None and bool(np.isfinite(spare).any())
    processing = problem.world.costs.processing
    for mask in wanted:
        options = [(a, b) for a, b in splits.get(mask, ()) if a in table.best and b in table.best]
        made = None
        if options:
            stacked = np.empty((len(options), len(field.nodes)))
            for i, (a, b) in enumerate(options):
                np.add(table.best[a], table.best[b], out=stacked[i])
                if processing or limited:
                    load = problem.load(a, b)
                    stacked[i] += processing * load
                    if limited and spare is not None:
                        stacked[i][load > spare + 1e-9] = np.inf
            for m, a, b, place in forbidden:
                if m == mask and (a, b) in options:
                    stacked[options.index((a, b)), place] = np.inf
            choice = np.argmin(stacked, axis=0)
            made = stacked[choice, np.arange(stacked.shape[1])]
            table.halves[mask] = (choice, options)
            table.made[mask] = made
            table.states += stacked.size
        if made is not None or mask in at:
            if made is not None and mask not in at and not np.isfinite(made).any():
                continue
            table.best[mask], table.traces[mask] = field.arrive(problem.flow(mask), made, at.get(mask, []))
    return table


def unplaceable_error(problem: Subsets) -> UnplaceableError:
    """No plan exists: say why, as far as it can be advertised."""
    heaviest = max(problem.tuples(m) for m in problem.splits) if problem.splits else 0.0
    roomy = max((n.capacity for n in problem.world.network.nodes if n.hosts), default=0.0)
    return UnplaceableError(
        f"query {problem.query.name!r} cannot be placed: no choice of nodes meets the capacities. The"
        " largest node"
        f" takes {roomy:g} tuples/s, and the joins of this query give up to {heaviest:g} tuples/s on the way."
        " Raise a capacity, loosen `hosts`, or withdraw other queries"
    )
