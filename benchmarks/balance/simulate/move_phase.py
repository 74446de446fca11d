"""State movement of the paper's cluster (document 002, section 5.2), all moves of a round at once.

    ordered ─ donor listens ─▶ paused ─ rows in flight are processed ─▶ extracted ─▶ travelling ─▶ installed ─▶ done

A donor or receiver in the middle of disk I/O does not listen. From pause to done the input of the
mini-partition waits in the producers' buffers. Extraction and installation cost CPU of the donor and of the
receiver. Transfers share the bandwidth set aside for moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.balance.simulate.paper_cluster import PaperCluster
from headrace.balance.statistics import Flags, Floats, Owners

ORDERED, PAUSED, TRAVELS, ARRIVED, INSTALLED, DONE = range(6)


class MovePhase:
    """The moves of one round; `advance` takes them one step further."""

    def __init__(self, cluster: PaperCluster, pids: Owners, sources: Owners, targets: Owners) -> None:
        self.cluster, self.pids, self.sources, self.targets = cluster, pids, sources, targets
        self.stage: NDArray[np.int64] = np.zeros(len(pids), dtype=np.int64)
        self.until = np.zeros(len(pids))
        self.left = np.full(len(pids), cluster.state_bytes)

    @property
    def finished(self) -> bool:
        return bool((self.stage == DONE).all())

    def advance(
        self,
        now: float,
        step: float,
        listens: Flags,
        drain: Floats,
        share: Floats,
        debt: Floats,
        on_disk: Flags,
    ) -> tuple[Owners, Owners, Owners]:
        """One step; gives the mini-partitions that pause now, those extracted now, and those installed now (by
        number of the move).

        `drain` has the seconds each node takes for what is in flight to it; `debt` gets the CPU seconds that
        moves cost.
        """
        c, work = self.cluster, self.cluster.state_rows * self.cluster.handling_seconds
        pausing = (self.stage == ORDERED) & listens[self.sources] & ~on_disk[self.pids]
        self.stage[pausing] = PAUSED
        self.until[pausing] = now + 2 * c.latency + drain[self.sources[pausing]]
        extracting = (self.stage == PAUSED) & (self.until <= now) & listens[self.sources]
        self.stage[extracting] = TRAVELS
        np.add.at(debt, self.sources[extracting], work)
        self.until[extracting] = now + work / share[self.sources[extracting]] + c.latency
        travelling = (self.stage == TRAVELS) & (self.until <= now)
        if travelling.any():
            whole = c.cross_section * max(1.0, c.nodes / 32)
            self.left[travelling] -= step * min(c.point_to_point, whole / int(travelling.sum()))
        self.stage[travelling & (self.left <= 0)] = ARRIVED
        installing = (self.stage == ARRIVED) & listens[self.targets]
        self.stage[installing] = INSTALLED
        np.add.at(debt, self.targets[installing], work)
        self.until[installing] = now + work / share[self.targets[installing]] + c.latency
        done = (self.stage == INSTALLED) & (self.until <= now)
        self.stage[done] = DONE
        return np.flatnonzero(pausing), np.flatnonzero(extracting), np.flatnonzero(done)

    def waiting_on_disk(self, on_disk: Flags) -> Owners:
        """Numbers of moves whose mini-partition has to be read from disk first."""
        return np.flatnonzero((self.stage == ORDERED) & on_disk[self.pids])
