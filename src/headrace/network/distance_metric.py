"""Distances: what it costs to bring one unit of data from a node to another along the cheapest path.

Two ways to the same numbers. On small networks all pairs are computed once and a minimum over a matrix is the
fastest thing NumPy does; on large ones the matrix would not fit, and everything is a Dijkstra run over the
sparse graph. The one operation of the exact planner is `spread`: given what a stream costs at each node where
it can be made, what does it cost at every node when it travels at `rate`? That is a shortest path from one
virtual node, which has an edge to every place the stream can be made at, of the weight of making it there (a
multi-source Dijkstra).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from headrace.network.topology import CostModel, Network

Vector = NDArray[np.float64]
OriginOf = Callable[[int], int]
DENSE = 256  # measured: up to here the minimum over a matrix beats a Dijkstra per subset
_KEPT_ROWS = 1024


def travel_cost(flow: float, distances: Vector) -> Vector:
    """What a flow costs over some distances: nothing carried costs nothing, but no path stays no path."""
    if flow > 0:
        return flow * distances
    return np.where(np.isfinite(distances), 0.0, np.inf)


class DistanceMetric:
    """Shortest-path costs of one network under one cost model. Immutable but for its caches."""

    def __init__(self, network: Network, costs: CostModel, dense: bool | None = None) -> None:
        self.size = len(network.nodes)
        self.dense = self.size <= DENSE if dense is None else dense
        self._graph = _graph(network, costs)
        self._rows: OrderedDict[int, Vector] = OrderedDict()
        self._matrix: Vector | None = None

    def row(self, node: int) -> Vector:
        """Costs from one node to all."""
        if self.dense:
            found: Vector = self.matrix[node]
            return found
        if node in self._rows:
            self._rows.move_to_end(node)
            return self._rows[node]
        row: Vector = dijkstra(self._graph, directed=True, indices=node)
        self._rows[node] = row
        if len(self._rows) > _KEPT_ROWS:
            self._rows.popitem(last=False)
        return row

    @property
    def matrix(self) -> Vector:
        if self._matrix is None:
            self._matrix = dijkstra(self._graph, directed=True)
        return self._matrix

    def block(self, nodes: NDArray[np.int64]) -> Vector:
        """Costs between the nodes given."""
        if self.dense:
            return self.matrix[np.ix_(nodes, nodes)]
        rows: Vector = dijkstra(self._graph, directed=True, indices=nodes)
        return rows[:, nodes]

    def between(self, a: int, b: int) -> float:
        return float(self.row(a)[b])

    def travel(self, flow: float, a: int, b: int) -> float:
        """What a flow costs from one node to another; infinite where there is no path, whatever the flow."""
        distance = self.between(a, b)
        return flow * distance if distance < np.inf else distance

    def reachable(self, node: int) -> NDArray[np.int64]:
        """The nodes a path of live links leads to, the node itself included."""
        return np.flatnonzero(np.isfinite(self.row(node)))

    def path(self, a: int, b: int) -> list[int]:
        """The nodes of a cheapest path, both ends included."""
        _, before = dijkstra(self._graph, directed=True, indices=a, return_predecessors=True)
        nodes = [b]
        while nodes[-1] != a:
            nodes.append(int(before[nodes[-1]]))
        return nodes[::-1]

    def spread(self, made: Vector, rate: float) -> tuple[Vector, OriginOf]:
        """The cost everywhere of a stream made at cost `made[u]` at u and moved at `rate`; and where it came
        from.
        """
        if self.dense:
            through = made[:, None] + travel_cost(rate, self.matrix)
            origin = np.argmin(through, axis=0)
            return through[origin, np.arange(self.size)], lambda v: int(origin[v])
        return self._spread_sparse(made, rate)

    def _spread_sparse(self, made: Vector, rate: float) -> tuple[Vector, OriginOf]:
        graph, n = self._graph, self.size
        starts = np.flatnonzero(np.isfinite(made))
        augmented = csr_array(
            (
                np.concatenate([graph.data * rate, made[starts]]),
                np.concatenate([graph.indices, starts.astype(graph.indices.dtype)]),
                np.concatenate([graph.indptr, [graph.indptr[-1] + len(starts)]]).astype(graph.indptr.dtype),
            ),
            shape=(n + 1, n + 1),
        )
        cost, before = dijkstra(augmented, directed=True, indices=n, return_predecessors=True)

        def origin(v: int) -> int:
            while before[v] != n:
                v = int(before[v])
            return v

        return cost[:n], origin


def _graph(network: Network, costs: CostModel) -> csr_array:
    """Both directions of every live link, the cheapest where links are parallel."""
    best: dict[tuple[int, int], float] = {}
    for link in network.live_links:
        a, b, weight = network.index[link.a], network.index[link.b], costs.weight(link)
        if a != b:
            for pair in ((a, b), (b, a)):
                best[pair] = min(weight, best.get(pair, weight))
    pairs = sorted(best)
    n = len(network.nodes)
    rows = np.array([p[0] for p in pairs], dtype=np.int32)
    columns = np.array([p[1] for p in pairs], dtype=np.int32)
    weights = np.array([best[p] for p in pairs], dtype=np.float64)
    return csr_array((weights, (rows, columns)), shape=(n, n))
