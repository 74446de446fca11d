"""The paper's cluster and workloads as numbers (document 002, sections 3, 4, 5.4, 6.2).

What the paper says is taken as it stands. What it leaves to its technical report, and what is assumed here
instead, is marked *assumed*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.balance.statistics import Floats


@dataclass(frozen=True)
class PaperCluster:
    """Nodes, their resources, and the stage that runs on them. Seconds, bytes, rows."""

    nodes: int = 32
    pids_per_node: int = 64
    groups: int = 16_384
    row_bytes: int = 80
    row_seconds: float = 45e-6  # of the windowed group-by
    row_deviation: float = 3e-6
    produce_seconds: float = 0.5e-6  # on the same CPU
    state_rows: int = 10_000  # history of a mini-partition
    handling_seconds: float = 0.2e-6  # per row, to extract a mini-partition, and to install it
    buffer_rows: int = 2048  # of each producer
    packet_rows: int = 1024 // 80
    connection_rows: int = 2 * (1024 // 80)  # of each pair: two packets
    latency: float = 70e-6
    memory: float = 1e9
    disk: float = 20e6  # per second, reading and writing
    seek: float = 5e-3
    point_to_point: float = 250e6 / 8  # for moves
    cross_section: float = 500e6 / 8  # for moves, of 32 nodes; grows with the nodes (assumed)
    loaded_share: float = (
        0.43  # of the CPU that is left beside the external load: throughput degrades by 57 %
    )
    rotation_rows: int = 4096  # assumed: rows between two exchanges of a mini-partition with the disk
    exchange: bool = False  # the buffer is divided among destinations beforehand

    @property
    def pids(self) -> int:
        return self.nodes * self.pids_per_node

    @property
    def state_bytes(self) -> float:
        return float(self.state_rows * self.row_bytes)


@dataclass(frozen=True)
class CpuLoad:
    """The external process on some nodes from one time to another."""

    nodes: tuple[int, ...]
    start: float
    end: float = float("inf")


@dataclass(frozen=True)
class MemoryLoss:
    """Some nodes have only so much memory from a time on."""

    nodes: tuple[int, ...]
    start: float
    memory: float


Disturbance = CpuLoad | MemoryLoss


def rotate_load(nodes: int, each: float) -> tuple[CpuLoad, ...]:
    """A load that goes round the machines (section 4)."""
    return tuple(CpuLoad((node,), node * each, (node + 1) * each) for node in range(nodes))


def spread_evenly(cluster: PaperCluster) -> Floats:
    """The same share for every mini-partition."""
    return np.full(cluster.pids, 1.0 / cluster.pids)


def spread_80_20(cluster: PaperCluster, seed: int) -> Floats:
    """Shares of mini-partitions when 20 % of the groups have 80 % of the rows, 20 % of these 80 % of those, and
    so on.

    This self-similar reading is assumed: it is the one in which "a few partitions receive most of the work"
    (section 5.4). The first group has 26 % of all rows. Groups are dealt out to mini-partitions in random
    order, the same number to each.
    """
    exponent = np.log(0.8) / np.log(0.2)
    ends = (np.arange(cluster.groups + 1) / cluster.groups) ** exponent
    shares = np.random.default_rng(seed).permutation(np.diff(ends))
    return np.asarray(shares.reshape(cluster.pids, -1).sum(axis=1), dtype=np.float64)
