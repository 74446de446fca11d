"""Nodes joining and leaving a hierarchy (004, section 3.1.2), without building it anew.

A node that joins is handed from the top down, at each level to the member nearest to it, and enters a bottom
cluster. A cluster that grows past max_cs is split in two; its new half sends a coordinator up, which may
split the cluster above, up to a new top. A node that leaves is replaced, where it coordinated, by the member
nearest to the rest; an empty cluster disappears from the level above, and a top of one member is dropped.
"""

from __future__ import annotations

from headrace.errors import NetworkError
from headrace.network.distance_metric import DistanceMetric
from headrace.network.hierarchy import Cluster, Hierarchy, elect_coordinator, partition_members
from headrace.network.topology import Network


def add_member(hierarchy: Hierarchy, network: Network, metric: DistanceMetric, node: str) -> Hierarchy:
    """The hierarchy with a node of the (already changed) network in it."""
    at = network.at(node)
    if any(node in c.members for c in hierarchy.levels[0]):
        raise NetworkError(f"node {node!r} is in the hierarchy already")
    distance = metric.row(at)
    cluster = hierarchy.root
    for level in range(hierarchy.height, 1, -1):
        nearest = min(cluster.members, key=lambda m: (distance[network.index[m]], m))
        cluster = hierarchy.below(level, nearest)
    return _enter(hierarchy, network, metric, 1, cluster, node)


def remove_member(hierarchy: Hierarchy, network: Network, metric: DistanceMetric, node: str) -> Hierarchy:
    """The hierarchy without a node that is no longer in the network."""
    if not any(node in c.members for c in hierarchy.levels[0]):
        raise NetworkError(f"node {node!r} is not in the hierarchy")
    levels = [list(level) for level in hierarchy.levels]
    gone, instead = node, None  # at the next level, `gone` is replaced by `instead`, or removed
    for i, level in enumerate(levels):
        place = next(k for k, c in enumerate(level) if gone in c.members)
        cluster = level[place]
        members = [m for m in cluster.members if m != gone]
        members += [] if instead is None else [instead]
        if not members:
            del level[place]
            gone, instead = cluster.coordinator, None
            continue
        if cluster.coordinator != gone:
            level[place] = Cluster(cluster.coordinator, tuple(members))
            break
        level[place] = elect_coordinator(network, metric, members)
        gone, instead = cluster.coordinator, level[place].coordinator
        if i + 1 == len(levels):
            break
    return _trimmed(hierarchy.max_cs, levels)


def _enter(
    hierarchy: Hierarchy, network: Network, metric: DistanceMetric, level: int, cluster: Cluster, node: str
) -> Hierarchy:
    """Put a member into a cluster of a level; split what becomes too large, and go on above."""
    levels = [list(one) for one in hierarchy.levels]
    members = [*cluster.members, node]
    here = levels[level - 1]
    if len(members) <= hierarchy.max_cs:
        here[here.index(cluster)] = Cluster(cluster.coordinator, tuple(members))
        return _trimmed(hierarchy.max_cs, levels)
    halves = list(partition_members(network, metric, members, max(2, -(-len(members) // 2)), seed=0))
    kept = next((h for h in halves if cluster.coordinator in h.members), halves[0])
    others = [h for h in halves if h is not kept]
    here[here.index(cluster)] = Cluster(cluster.coordinator, kept.members)
    here += others
    if level == len(levels):
        levels.append([elect_coordinator(network, metric, [c.coordinator for c in here])])
        return _trimmed(hierarchy.max_cs, levels)
    grown = Hierarchy(hierarchy.max_cs, tuple(tuple(one) for one in levels))
    for other in others:
        above = grown.cluster(level + 1, cluster.coordinator)
        grown = _enter(grown, network, metric, level + 1, above, other.coordinator)
    return grown


def _trimmed(max_cs: int, levels: list[list[Cluster]]) -> Hierarchy:
    """Without levels above the first that is a single cluster."""
    kept = []
    for level in levels:
        kept.append(tuple(level))
        if len(level) == 1:
            break
    return Hierarchy(max_cs, tuple(kept))
