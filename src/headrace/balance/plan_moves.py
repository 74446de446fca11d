"""The fewest bytes that bring the slowest slot near the mean: longest-processing-time with a bound on moves.

A slot takes `pace` seconds for a unit of work, so its load is pace · Σ work, and the level all slots would
share is Σ work / Σ 1/pace. The slowest slot gives, and the piece goes to the slot that would be done with it
first. Which piece: of those that bring the giver to the goal by themselves and fit below the goal where they
go, the one with the fewest bytes; else of those that fit, the one with the most load per byte; else, where one
piece is larger than any slot's share, the one that leaves the slower of the two fastest.

Laws (tests/balance): the slowest slot never gets slower by a move; each piece moves at most once, and never
more pieces than the bound; nothing goes where there is no room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.balance.statistics import Flags, Floats, Owners, group_by_slot, sum_by_slot

GOAL = 1.05  # of the mean, when moving: half of what is tolerated, so that noise does not ask again at once
TOLERATED = 1.10  # of the mean, before anything moves
FULL = 0.95  # of a slot's memory


@dataclass(frozen=True, eq=False)
class MovePlan:
    """Moves in the order in which they help; `slowest` is the load of the slowest slot before any, and after each."""

    pids: Owners
    targets: Owners
    slowest: Floats

    def apply(self, owners: Owners, count: int | None = None) -> Owners:
        """The owners after the first `count` moves."""
        after = owners.copy()
        after[self.pids[:count]] = self.targets[:count]
        return after


def find_level(work: Floats, pace: Floats) -> float:
    """Seconds every slot would take if work could be cut at will."""
    return float(work.sum() / (1.0 / pace).sum())


def find_bound(work: Floats, pace: Floats, times: float) -> float:
    """`times` the mean, or `times` what the largest piece alone takes where it is fastest, if that is more."""
    return times * max(find_level(work, pace), float(work.max(initial=0.0)) * float(pace.min()))


def plan_moves(
    work: Floats,
    pace: Floats,
    size: Floats,
    owners: Owners,
    most: int,
    room: Floats | None = None,
    times: float = GOAL,
) -> MovePlan:
    """Moves after which the slowest slot is at most `times` the mean, where that can be had with `most` of them."""
    slots = len(pace)
    loads = pace * sum_by_slot(work, owners, slots)
    goal = find_bound(work, pace, times)
    owned = group_by_slot(owners, slots)
    free = np.full(slots, np.inf) if room is None else room.copy()
    gives = np.ones(slots, dtype=bool)
    pids: list[int] = []
    targets: list[int] = []
    slowest = [float(loads.max())]
    while len(pids) < most:
        donor = int(np.argmax(np.where(gives, loads, -1.0)))
        if loads[donor] <= goal or not gives[donor]:
            break
        mine = owned[donor]
        pieces, weights = work[mine], size[mine]
        done = loads + pace * float(pieces.max(initial=0.0))
        done[donor] = np.inf
        receiver = int(np.argmin(done))
        left, came = loads[donor] - pace[donor] * pieces, loads[receiver] + pace[receiver] * pieces
        slower = np.maximum(left, came)
        better = (slower < loads[donor] * (1 - 1e-9)) & (weights <= free[receiver])
        if (better & (pace[donor] * pieces > goal)).any():  # while it is here, here it is too slow
            better &= pace[donor] * pieces > goal
        at = _choose_piece(pieces, weights, slower, better, better & (came <= goal), left <= goal)
        if at is None:
            gives[donor] = False
            continue
        pids.append(int(mine[at]))
        targets.append(receiver)
        loads[donor], loads[receiver] = left[at], came[at]
        free[donor] += weights[at]
        free[receiver] -= weights[at]
        owned[donor] = np.delete(mine, at)  # where it goes it is not a candidate: a piece moves once
        slowest.append(float(loads.max()))
    return MovePlan(np.array(pids, dtype=np.int64), np.array(targets, dtype=np.int64), np.array(slowest))


def _choose_piece(
    pieces: Floats, weights: Floats, slower: Floats, better: Flags, fits: Flags, relieves: Flags
) -> int | None:
    if (fits & relieves).any():
        return int(np.argmin(np.where(fits & relieves, weights, np.inf)))
    if fits.any():
        return int(np.argmax(np.where(fits, pieces / (weights + 1.0), -1.0)))
    return int(np.argmin(np.where(better, slower, np.inf))) if better.any() else None


def plan_room(size: Floats, on_disk: Floats, owners: Owners, memory: Floats, most: int) -> Owners:
    """New owners such that state fits into memory, or overflows everywhere alike, with few bytes moved.

    What is in memory goes first: what is on disk would have to be read before it can go.
    """
    slots, after = len(memory), owners.copy()
    held = sum_by_slot(size, owners, slots)
    if (held <= memory).all():
        return after
    limit = memory * max(FULL, float(held.sum() / memory.sum()))
    owned = group_by_slot(owners, slots)
    moves = 0
    for donor in np.argsort(limit - held, kind="stable"):
        if held[donor] <= memory[donor]:
            break
        for pid in owned[donor][np.lexsort((-size[owned[donor]], on_disk[owned[donor]]))]:
            receiver = int(np.argmax(limit - held))
            over = held[donor] - limit[donor]
            if over <= 0 or moves >= most:
                break
            if held[receiver] + size[pid] > limit[receiver] or size[pid] > over + size[owned[donor]].min():
                continue
            after[pid] = receiver
            held[donor] -= size[pid]
            held[receiver] += size[pid]
            moves += 1
    return after
