"""A node whose state does not fit into its memory (document 002, section 6; its local policy is in a report the
text refers to).

*Assumed*, with one number fitted: while resident state exceeds memory, mini-partitions are written to disk one
after the other and the node does nothing else ("completely stalled"). Then it goes round: after `rotation_rows`
processed rows, the mini-partition that has been in memory longest changes places with the one that has been on
disk longest, whose spilled input is processed then. If there is room, it is only read. `rotation_rows` is
chosen so that one node with a third of its state on disk gives the paper's 1.6·10⁵ rows/s; latencies follow.
Disk I/O is synchronous: meanwhile the node neither processes nor listens.
"""

from __future__ import annotations

import numpy as np

from benchmarks.balance.simulate.paper_cluster import PaperCluster
from headrace.balance.statistics import Flags, Floats, Owners, sum_by_slot


class SpillRotation:
    """What is on disk, the input spilled for it, and until when each node is in I/O."""

    def __init__(self, cluster: PaperCluster) -> None:
        self.cluster = cluster
        self.on_disk: Flags = np.zeros(cluster.pids, dtype=bool)
        self.leaving: Flags = np.zeros(cluster.pids, dtype=bool)  # extracted, on its way to another node
        self.since = np.zeros(cluster.pids)  # when it came where it is, memory or disk
        self.spilled = np.zeros(cluster.pids)  # rows
        self.spilled_at = np.zeros(cluster.pids)  # sum of their times
        self.busy_until = np.zeros(cluster.nodes)
        self.since_turn = np.zeros(cluster.nodes)  # rows processed
        self._resumed, self._latency = 0.0, 0.0

    def listens(self, now: float) -> Flags:
        """Which nodes are not in I/O."""
        return self.busy_until <= now

    def take_resumed(self) -> tuple[float, float]:
        """Spilled rows that were processed since it was last asked, and the sum of their latencies."""
        found = self._resumed, self._latency
        self._resumed, self._latency = 0.0, 0.0
        return found

    def accept(self, rows: Floats, now: float) -> Floats:
        """Rows for what is on disk are put aside; gives the rest."""
        if not self.on_disk.any():
            return rows
        aside = np.where(self.on_disk, rows, 0.0)
        self.spilled += aside
        self.spilled_at += aside * now
        return rows - aside

    def turn(self, now: float, owners: Owners, stalled: Flags, memory: Floats, debt: Floats) -> None:
        """Start the next I/O of every node that needs one and is not in one."""
        size = self.cluster.state_bytes
        here = ~self.on_disk & ~self.leaving
        resident = sum_by_slot(here.astype(np.float64) * size, owners, self.cluster.nodes)
        away = sum_by_slot(self.on_disk.astype(np.float64), owners, self.cluster.nodes)
        for node in map(int, np.flatnonzero(((resident > memory) | (away > 0)) & self.listens(now))):
            mine = owners == node
            out = np.flatnonzero(mine & here & ~stalled)
            back = np.flatnonzero(mine & self.on_disk)
            if resident[node] > memory[node] and len(out):
                self._write(now, node, out)
            elif len(back) and self.since_turn[node] >= self.cluster.rotation_rows:
                if resident[node] + size > memory[node] and len(out):
                    self._write(now, node, out)
                self.read(now, node, int(back[np.argmin(self.since[back])]), debt)

    def _write(self, now: float, node: int, candidates: Owners) -> None:
        oldest = candidates[np.argmin(self.since[candidates])]
        self.on_disk[oldest], self.since[oldest] = True, now
        self._occupy(now, node)

    def read(self, now: float, node: int, pid: int, debt: Floats) -> None:
        """Bring a mini-partition back and process its spilled input."""
        self._occupy(now, node)
        until, rows = self.busy_until[node], self.spilled[pid]
        self.on_disk[pid], self.since[pid] = False, until
        debt[node] += rows * self.cluster.row_seconds
        self._latency += rows * until - self.spilled_at[pid]
        self._resumed += rows
        self.since_turn[node] = rows
        self.spilled[pid] = self.spilled_at[pid] = 0.0

    def _occupy(self, now: float, node: int) -> None:
        c = self.cluster
        work = c.state_rows * c.handling_seconds
        self.busy_until[node] = max(now, self.busy_until[node]) + c.state_bytes / c.disk + c.seek + work
