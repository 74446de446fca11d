"""Hierarchical network clusters (004, section 3.1).

Level 1 holds all nodes, in clusters of at most max_cs. Each cluster has a coordinator, one of its members,
and the coordinators are the members of the next level, until one cluster is left. A node is represented at
level l by the coordinator of its coordinator …; what a coordinator believes two nodes to be apart is the
distance of their representatives. With dᵢ the largest distance within a cluster of level i, belief and truth
differ by at most Σ_{i<l} 2dᵢ (Theorem 1; by the triangle inequality, in both directions).

A hierarchy is data, by node names, so that it survives changes of the network. Distances are not part of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headrace.errors import NetworkError
from headrace.network.distance_metric import DistanceMetric, Vector
from headrace.network.kmeans import group_by_size
from headrace.network.topology import Network

LANDMARKS = 64


@dataclass(frozen=True)
class Cluster:
    """Members of one level; for level 2 and up each member stands for the cluster below it coordinates."""

    coordinator: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Hierarchy:
    """`levels[0]` is Level 1. The last level is a single cluster."""

    max_cs: int
    levels: tuple[tuple[Cluster, ...], ...]

    @property
    def height(self) -> int:
        return len(self.levels)

    @property
    def root(self) -> Cluster:
        return self.levels[-1][0]

    @cached_property
    def _of_member(self) -> tuple[dict[str, Cluster], ...]:
        return tuple({m: c for c in level for m in c.members} for level in self.levels)

    @cached_property
    def _of_coordinator(self) -> tuple[dict[str, Cluster], ...]:
        return tuple({c.coordinator: c for c in level} for level in self.levels)

    def cluster(self, level: int, member: str) -> Cluster:
        """The cluster a member of a level (1 …) belongs to."""
        return self._of_member[level - 1][member]

    def below(self, level: int, member: str) -> Cluster:
        """The cluster of the level below which a member stands for."""
        return self._of_coordinator[level - 2][member]

    def representative(self, node: str, level: int) -> str:
        """The node that stands for a node at a level; at level 1 it is itself."""
        for lower in range(1, level):
            node = self.cluster(lower, node).coordinator
        return node

    def ancestor(self, node: str, level: int) -> Cluster:
        """The cluster of a level under which a node is."""
        return self.cluster(level, self.representative(node, level))

    def under(self, level: int, cluster: Cluster) -> frozenset[str]:
        """All nodes under a cluster of a level."""
        return self._under[level - 1][cluster.coordinator]

    @cached_property
    def _under(self) -> tuple[dict[str, frozenset[str]], ...]:
        found: list[dict[str, frozenset[str]]] = []
        for i, level in enumerate(self.levels):
            if i == 0:
                found.append({c.coordinator: frozenset(c.members) for c in level})
            else:
                low = found[i - 1]
                found.append({c.coordinator: frozenset().union(*(low[m] for m in c.members)) for c in level})
        return tuple(found)

    def seen_from(self, level: int, cluster: Cluster, node: str) -> str:
        """Where a cluster's coordinator believes a node to be: at a member of it, or of the first cluster
        above which has the node under it.
        """
        while node not in self.under(level, cluster):
            cluster = self.cluster(level + 1, cluster.coordinator)
            level += 1
        return self.representative(node, level)


def measure_diameters(hierarchy: Hierarchy, network: Network, metric: DistanceMetric) -> tuple[float, ...]:
    """d₁ … d_h: the largest distance between two members of one cluster, per level."""
    found = []
    for level in hierarchy.levels:
        widest = 0.0
        for cluster in level:
            if len(cluster.members) > 1:
                block = metric.block(indexes(network, cluster.members))
                widest = max(widest, float(block.max()))
        found.append(widest)
    return tuple(found)


def build_hierarchy(
    network: Network,
    metric: DistanceMetric,
    max_cs: int,
    seed: int = 0,
    members: Iterable[str] | None = None,
) -> Hierarchy:
    """Cluster by K-means, promote the coordinators, repeat until one cluster is left.

    `members` are the nodes to take in, all by default; a network in several parts has a hierarchy for each.
    """
    if max_cs < 2:
        raise NetworkError(f"max_cs is {max_cs}; a cluster needs room for at least 2 nodes")
    levels: list[tuple[Cluster, ...]] = []
    nodes = list(network.names if members is None else members)
    if not nodes:
        raise NetworkError(f"network {network.name!r} has no nodes; there is nothing to cluster")
    while True:
        level = partition_members(network, metric, nodes, max_cs, seed)
        levels.append(level)
        if len(level) == 1:
            return Hierarchy(max_cs, tuple(levels))
        nodes = [c.coordinator for c in level]


def partition_members(
    network: Network, metric: DistanceMetric, members: list[str], max_cs: int, seed: int
) -> tuple[Cluster, ...]:
    """Clusters of at most max_cs of the members, each with its medoid as coordinator."""
    nodes = indexes(network, members)
    points = coordinates(metric, nodes)
    groups = group_by_size(points, max_cs, seed)
    return tuple(elect_coordinator(network, metric, [members[i] for i in group]) for group in groups)


def elect_coordinator(network: Network, metric: DistanceMetric, members: list[str]) -> Cluster:
    """The member coordinates that reaches the most others, among those the one nearest to all it reaches."""
    block = metric.block(indexes(network, members))
    there = np.isfinite(block)
    near = np.where(there, block, 0.0).sum(axis=1)
    coordinator = members[int(np.lexsort((near, -there.sum(axis=1)))[0])]
    return Cluster(coordinator, tuple(members))


def coordinates(metric: DistanceMetric, nodes: NDArray[np.int64]) -> Vector:
    """Points for K-means: distances to landmarks, which are chosen one after the other far from those before.

    Near nodes have near points (each coordinate differs by at most their distance); unreachable is far away.
    """
    chosen = [int(nodes[0])]
    columns = [metric.row(chosen[0])[nodes]]
    nearest = columns[0].copy()
    while len(chosen) < min(LANDMARKS, len(nodes)):
        following = int(np.argmax(nearest))
        if nearest[following] <= 0:
            break
        chosen.append(int(nodes[following]))
        columns.append(metric.row(chosen[-1])[nodes])
        nearest = np.minimum(nearest, columns[-1])
    points = np.column_stack(columns)
    finite = points[np.isfinite(points)]
    far = 10.0 * float(finite.max()) + 1.0 if finite.size else 1.0
    scaled: Vector = np.where(np.isfinite(points), points, far) / np.sqrt(points.shape[1])
    return scaled


def indexes(network: Network, names: tuple[str, ...] | list[str]) -> NDArray[np.int64]:
    return np.array([network.index[n] for n in names], dtype=np.int64)
