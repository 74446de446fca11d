"""Flux' load-balancing policy as written (document 002, section 5.3).

Sites are sorted by utilisation and paired from the ends: the most utilised gives to the least. A pair is left
alone, and with it all pairs after it, if the donor is below the average, if the two differ by less than the
factor `th_imb`, or if the receiver is above `th_util`. Otherwise the first mini-partition in the donor's list,
largest first, that makes the two more equal moves, unless the receiver would be overutilised. Number of rows
and processing rate are taken to stay: U'd = Ud(1 - Np/Td), U'r = Ur(1 + Np/Tr). A receiver that processed
nothing has no rate of its own and gets the mean rate.

δ: as long as the last move phase, halved if nothing moved, never below δ_min. At most half of the time is so
spent on moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.balance.decision import Decision
from headrace.balance.statistics import Flags, Floats, Owners, Statistics, group_by_slot, sum_by_slot


@dataclass(frozen=True)
class FluxSettings:
    """The paper's parameters, with the values of its section 5.4."""

    delta_min: float = 0.010
    th_imb: float = 1.2
    th_util: float = 0.9


PAPER = FluxSettings()


def flux_load(
    seen: Statistics, owners: Owners, memory: Any = None, settings: FluxSettings = PAPER, fit: bool = False
) -> Decision:
    """One round. With `fit`, only what the receiver has memory for moves (section 6.3)."""
    used = seen.slots.utilisation
    done = seen.pids.processed
    rows, owned = sum_by_slot(done, owners, seen.slots.count), group_by_slot(owners, seen.slots.count)
    free = free_memory(seen, owners)
    pace = used.sum() / max(rows.sum(), 1.0)  # utilisation per row, of all
    after = owners.copy()
    for donor, receiver in pair_ends(np.argsort(-used, kind="stable")):
        out, into = used[donor], used[receiver]
        if out < used.mean() or out < settings.th_imb * into or into > settings.th_util:
            break
        mine = owned[donor]
        mine = mine[np.argsort(-done[mine], kind="stable")]
        moved = done[mine]
        new_out = out * (1 - moved / max(rows[donor], 1.0))
        new_into = into + moved * (into / rows[receiver] if rows[receiver] > 0 else pace)
        good: Flags = (np.abs(new_out - new_into) < (out - into) * (1 - 1e-9)) & (new_into <= 1.0)
        if fit:
            good &= seen.pids.state_bytes[mine] <= free[receiver]
        move_first(after, mine, good, receiver)
    return time_next_round(seen, owners, after, settings.delta_min)


def pair_ends(order: Owners) -> Iterator[tuple[int, int]]:
    """First with last, second with last but one, and so on to the middle."""
    for at in range(len(order) // 2):
        yield int(order[at]), int(order[-1 - at])


def move_first(owners: Owners, candidates: Owners, good: Flags, receiver: int) -> None:
    """Give the first good candidate to the receiver, if there is one."""
    if good.any():
        owners[candidates[int(np.argmax(good))]] = receiver


def time_next_round(seen: Statistics, before: Owners, after: Owners, delta_min: float) -> Decision:
    """δ from the length of the move phase, halved when idle."""
    if (before != after).any():
        return Decision(after, collect=delta_min, follow_moves=True)
    return Decision(after, collect=max(delta_min, seen.seconds / 2))


def free_memory(seen: Statistics, owners: Owners) -> Floats:
    """Bytes each slot has left beside the state it owns; negative where state does not fit."""
    return seen.slots.memory - sum_by_slot(seen.pids.state_bytes, owners, seen.slots.count)
