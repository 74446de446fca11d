"""The fewest bytes that bring the slowest slot near the mean: longest-processing-time with a bound on moves.

A slot takes `pace` seconds for a unit of work, so its load is pace · Σ work, and the level all slots would
share is Σ work / Σ 1/pace. The slowest slot gives, and the piece goes to the slot that would be done with it
first. Which piece: of those that bring the giver to the goal by themselves and fit below the goal where they
go, the one with the fewest bytes; else of those that fit, the one with the most load per byte; else the one that leaves the
slower of the two fastest. Where no single move helps, because a slot has a few large pieces and no other has room for one, room
is made: another slot gives small pieces away, all below the goal, and takes a large one.

Laws (tests/balance): the slowest slot never gets slower by a move; each piece moves at most once, and never
more pieces than the bound; nothing goes where there is no room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headrace.balance.statistics import Flags, Floats, Owners, group_by_slot, sum_by_slot

GOAL = 1.05  # of the mean, when moving: half of what is tolerated, so that noise does not ask again at once
TOLERATED = 1.10  # of the mean, before anything moves
FULL = 0.95  # of a slot's memory
TAKERS = 8  # slots that are tried as the one that makes room
Move = tuple[int, int, int]  # piece, from, to


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


@dataclass(eq=False)
class _Board:
    """What every slot has while a plan is made."""

    work: Floats
    pace: Floats
    size: Floats
    loads: Floats  # by slot
    free: Floats
    owned: list[Owners]  # pieces that may still go, by slot

    def move(self, pid: int, giver: int, taker: int) -> None:
        """Where a piece goes it is not a candidate: it moves once."""
        self.loads[giver] -= self.pace[giver] * self.work[pid]
        self.loads[taker] += self.pace[taker] * self.work[pid]
        self.free[giver] += self.size[pid]
        self.free[taker] -= self.size[pid]
        self.owned[giver] = self.owned[giver][self.owned[giver] != pid]

    def copy(self) -> _Board:
        return replace(self, loads=self.loads.copy(), free=self.free.copy(), owned=[*self.owned])


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
    goal = find_bound(work, pace, times)
    free = np.full(slots, np.inf) if room is None else room.copy()
    board = _Board(work, pace, size, pace * sum_by_slot(work, owners, slots), free, group_by_slot(owners, slots))
    gives = np.ones(slots, dtype=bool)
    made: list[Move] = []
    slowest = [float(board.loads.max())]
    while len(made) < most:
        donor = int(np.argmax(np.where(gives, board.loads, -1.0)))
        if board.loads[donor] <= goal or not gives[donor]:
            break
        moves = _give_one(board, donor, goal) or _make_room(board, donor, goal)
        if not moves or len(made) + len(moves) > most:
            gives[donor] = False
            continue
        for move in moves:
            board.move(*move)
            made.append(move)
            slowest.append(float(board.loads.max()))
    pids, targets = ([move[at] for move in made] for at in (0, 2))
    return MovePlan(np.array(pids, dtype=np.int64), np.array(targets, dtype=np.int64), np.array(slowest))


def _give_one(board: _Board, donor: int, goal: float) -> list[Move]:
    """A piece that goes to the slot that would be done with the largest first."""
    mine, loads, pace = board.owned[donor], board.loads, board.pace
    pieces, weights = board.work[mine], board.size[mine]
    done = loads + pace * float(pieces.max(initial=0.0))
    done[donor] = np.inf
    receiver = int(np.argmin(done))
    left, came = loads[donor] - pace[donor] * pieces, loads[receiver] + pace[receiver] * pieces
    slower = np.maximum(left, came)
    better = (slower < loads[donor] * (1 - 1e-9)) & (weights <= board.free[receiver])
    if (better & (pace[donor] * pieces > goal)).any():  # while it is here, here it is too slow
        better &= pace[donor] * pieces > goal
    at = _choose_piece(pieces, weights, slower, better, better & (came <= goal), left <= goal)
    return [] if at is None else [(int(mine[at]), donor, receiver)]


def _choose_piece(
    pieces: Floats, weights: Floats, slower: Floats, better: Flags, fits: Flags, relieves: Flags
) -> int | None:
    if (fits & relieves).any():
        return int(np.argmin(np.where(fits & relieves, weights, np.inf)))
    if fits.any():
        return int(np.argmax(np.where(fits, pieces / (weights + 1.0), -1.0)))
    return int(np.argmin(np.where(better, slower, np.inf))) if better.any() else None


def _make_room(board: _Board, donor: int, goal: float) -> list[Move]:
    """Moves that end with a piece of the donor's in a slot that gave others away for it: those of the fewest bytes."""
    mine = board.owned[donor]
    left = board.loads[donor] - board.pace[donor] * board.work[mine]
    enough = mine[left <= goal]
    if len(mine) < 2:
        return []
    piece = int(enough[np.argmin(board.work[enough])] if len(enough) else mine[np.argmin(left)])
    needs = board.loads + board.pace * board.work[piece] - goal
    plans = []
    for taker in np.argsort(needs, kind="stable")[:TAKERS].tolist():
        if taker != donor and board.pace[taker] * board.work[piece] <= goal:
            moves = _give_away(board, taker, donor, float(needs[taker]), goal)
            bytes_moved = float(sum(board.size[pid] for pid, _, _ in moves))
            if moves and board.free[taker] + bytes_moved >= board.size[piece]:
                plans.append((bytes_moved, [*moves, (piece, donor, taker)]))
    return min(plans)[1] if plans else []


def _give_away(board: _Board, giver: int, donor: int, need: float, goal: float) -> list[Move]:
    """Pieces of a slot, the largest first, that go where they fit below the goal, until it is relieved of `need` seconds;
    nothing if that is not enough.
    """
    board = board.copy()
    pieces = board.owned[giver]
    moves: list[Move] = []
    for pid in pieces[np.argsort(-board.work[pieces], kind="stable")].tolist():
        came = board.loads + board.pace * board.work[pid]
        came[board.free < board.size[pid]] = np.inf
        came[[giver, donor]] = np.inf
        taker = int(np.argmin(came))
        if board.work[pid] > 0 and came[taker] <= goal:
            moves.append((pid, giver, taker))
            board.move(*moves[-1])
            need -= float(board.pace[giver] * board.work[pid])
            if need <= 0:
                return moves
    return []


def plan_room(size: Floats, on_disk: Floats, owners: Owners, memory: Floats, most: int) -> Owners:
    """New owners such that state fits into memory, with few bytes moved. Where it does not, the slots it overflows all the same
    are those it overflows now, all alike: one more slot that waits for its disk holds up all producers once more.

    What is in memory goes first: what is on disk would have to be read before it can go.
    """
    slots, after = len(memory), owners.copy()
    held = sum_by_slot(size, owners, slots)
    if (held <= memory).all():
        return after
    limit = _find_limits(held, memory)
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


def _find_limits(held: Floats, memory: Floats) -> Floats:
    """The bytes each slot may have in the end."""
    part = float(held.sum() / memory.sum())
    if part <= 1:
        return memory * max(FULL, part)
    over = held > memory
    rest = float(held.sum() - memory[~over].sum())
    return memory * np.where(over, rest / float(memory[over].sum()), 1.0)
