"""Flux' policy under memory pressure (document 002, section 6.1).

Rounds, pairs and δ are those of `flux_load`; what is made equal is the excess capacity, the memory a site has
beside its state, negative where state does not fit. The donor's mini-partitions are tried largest first, those
in memory before those on disk, which would need I/O and the processing of their spilled input before they can
go. A receiver is not refused for being busy. The imbalance of a pair, which the paper leaves open, is the ratio
of their shares of memory in use; a donor whose state does not fit gives to a receiver with room at any ratio,
so that nothing is on disk while there is memory for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.balance.decision import Decision
from headrace.balance.policies.flux_load import (
    PAPER,
    FluxSettings,
    free_memory,
    move_first,
    pair_ends,
    time_next_round,
)
from headrace.balance.statistics import Owners, Statistics, group_by_slot


def flux_memory(
    seen: Statistics, owners: Owners, memory: Any = None, settings: FluxSettings = PAPER
) -> Decision:
    """One round."""
    after = owners.copy()
    excess = free_memory(seen, owners)
    if np.isinf(excess).any():  # memory has no limit: there is nothing to make equal
        return time_next_round(seen, owners, after, settings.delta_min)
    owned = group_by_slot(owners, seen.slots.count)
    share = (seen.slots.memory - excess) / seen.slots.memory
    for donor, receiver in pair_ends(np.argsort(excess, kind="stable")):
        spills = excess[donor] < 0 < excess[receiver]  # needlessly, however alike their shares are
        if excess[donor] > excess.mean() or (not spills and share[donor] < settings.th_imb * share[receiver]):
            break
        mine = owned[donor]
        size = seen.pids.state_bytes[mine]
        order = np.lexsort((-size, seen.pids.on_disk[mine]))
        size = size[order]
        gap = excess[receiver] - excess[donor]
        move_first(after, mine[order], np.abs(gap - 2 * size) < gap * (1 - 1e-9), receiver)
    return time_next_round(seen, owners, after, settings.delta_min)
