"""How much a view carries: tuples per second, bytes per tuple.

For a set of inputs with rates λ (after their filters) and windows w, times the selectivities of the
predicates:

- no windows: Π λ, the document's plain product;
- windows: Σᵢ λᵢ Πⱼ≠ᵢ λⱼwⱼ, since each result appears when the last of its tuples arrives and meets the other
  windows;
- windows and a SLIDE: Π λwᵢ / slide, the join of the window contents once per slide, as a query that is
  evaluated periodically sends it.

Each is a function of the set, not of the join order. A class of equated columns with m members counts m − 1
times, not once per pair: its factor is the product over a maximum spanning tree of pair selectivities, which
with distinct counts d₁ ≤ … ≤ dₘ is the usual 1 / (d₂ … dₘ). A column restricted to k values has at most k
distinct ones, so that joining two streams filtered to the same flight is not thinned twice.
"""

from __future__ import annotations

import math

from headrace.network.join_query import distinct_count, edge_selectivity
from headrace.network.join_view import JoinPredicate, View
from headrace.network.stream_catalog import Catalog


class RateEstimator:
    """Rates of views under one catalog, remembered per view."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._tuples: dict[View, float] = {}

    def tuples(self, view: View) -> float:
        """Tuples per second."""
        found = self._tuples.get(view)
        if found is None:
            found = self._tuples[view] = _tuples(self.catalog, view)
        return found

    def width(self, view: View) -> float:
        """Bytes per tuple."""
        return sum(self.catalog.stream(i.stream).width(i.columns) for i in view.inputs)

    def bytes(self, view: View) -> float:
        """Bytes per second."""
        return self.tuples(view) * self.width(view)

    def state(self, view: View) -> float:
        """Bytes held for one input of a join: its window's worth, one second's worth without windows."""
        seconds = max((i.window or 1.0) for i in view.inputs)
        return self.bytes(view) * seconds


def _tuples(catalog: Catalog, view: View) -> float:
    rates = [catalog.stream(i.stream).rate * i.filter.selectivity for i in view.inputs]
    if len(rates) == 1:
        return rates[0]
    return math.prod(rates) * _windows(view) * _selectivity(catalog, view)


def _windows(view: View) -> float:
    windows = [i.window for i in view.inputs if i.window is not None]
    if not windows:
        return 1.0
    if view.slide:
        return math.prod(windows) / view.slide
    everything = math.prod(windows)
    return sum(everything / w for w in windows)


def _selectivity(catalog: Catalog, view: View) -> float:
    product = 1.0
    edges = []
    for p in view.predicates:
        value = _edge(catalog, view, p)
        if p.op == "=":
            edges.append((value, p))
        else:
            product *= value
    # Kruskal: the least selective pairs first, a pair already connected through others adds nothing
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    def find(x: tuple[str, str]) -> tuple[str, str]:
        while leader.setdefault(x, x) != x:
            x = leader[x]
        return x

    for value, p in sorted(edges, key=lambda e: (-e[0], e[1])):
        a, b = find(p.left), find(p.right)
        if a != b:
            leader[a] = b
            product *= value
    return product


def _edge(catalog: Catalog, view: View, p: JoinPredicate) -> float:
    value = edge_selectivity(catalog, p.left, p.right, p.op)
    assert value is not None, f"{p} was checked when its query was made normal"
    counts = [distinct_count(catalog, *p.left), distinct_count(catalog, *p.right)]
    if p.op != "=" or counts[0] is None or counts[1] is None:
        return value
    before = max(counts[0], counts[1], 1.0)
    after = max(_left_over(view, p.left, counts[0]), _left_over(view, p.right, counts[1]), 1.0)
    return min(1.0, value * before / after)


def _left_over(view: View, column: tuple[str, str], count: float) -> float:
    """Distinct values of a column after the filter on it."""
    one = next(i for i in view.inputs if i.name == column[0])
    condition = one.filter.on(column[1])
    if condition is None or condition.values is None:
        return count
    return min(count, float(condition.values))
