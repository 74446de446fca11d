"""The transient skew buffer: which mini-partitions of a slot sit out a batch (document 002, section 4).

Flux lets a producer go on while one consumer has a burst, by a buffer in front of it that all mini-partitions share. Here all
slots of a batch meet at a barrier, so a burst in one holds up all. A mini-partition that sits out a batch is behind: its
rows wait as they came, and are processed later as if they had just come. The rule, for a slot and a batch:

* a slot may have `TOLERANCE` times the mean rows of a slot, and `least_rows` in any case; while it has no more, nothing waits and
  what waited is taken;
* beyond, mini-partitions with `HOT` times the mean rows of a mini-partition sit out: the smallest that is enough, or else the
  largest and then on. Others never wait: they are not what is too much;
* of rows that wait, those that fit are absorbed meanwhile, in pieces (`choose_pieces`): a burst is spread
  over the batches until its mini-partition is taken, with what is left. A piece is what fits beside usual
  rows: a slot with the mean has a sixth of its share free (`TOLERANCE`), and a piece is an eighth of the
  share that the slot has when no burst comes. A very large burst has `MOST_PIECES` larger ones, since each is
  a file, and one of these is taken wherever there is room at all;
* none for longer than the time that was given: who would be past it when the next batch comes, at the pace of the last
  one, is taken. Where these alone are too much, nobody else waits: the slot holds up the others anyway. Nor may more
  bytes wait in a slot than was given.

A batch without rows takes all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.program.messages import Deferral

TOLERANCE = 1.2
HOT = 4.0
PIECES = 8  # of the rows of a share
MOST_PIECES = 64  # that the rows of a mini-partition are written in


@dataclass(frozen=True)
class PidLoad:
    """What a mini-partition has to do: rows of this batch and those that waited, their bytes, and since when the first waits."""

    pid: int
    rows: int
    bytes: int
    since: int  # microseconds; of one that is not behind, now


def find_share(slot_mean: float, least: int) -> float:
    """The rows that a slot may have in a batch before anything waits."""
    return max(least, TOLERANCE * slot_mean)


def find_piece(busy: int, most: int, least: int) -> int:
    """How many rows of a mini-partition are written together, and taken together, where the others of a slot
    have `busy` rows and no mini-partition has more than `most` to write; `least` rows a slot may have in any case.
    """
    return max(1, int(find_share(busy, least)) // PIECES, -(-most // MOST_PIECES))


def find_room(share: float, busy: int, piece: int) -> float:
    """How many rows that wait a slot can absorb beside `busy` others: a piece, if there is room at all."""
    return max(share - busy, piece) if busy < share else 0.0


def choose_deferred(
    deferral: Deferral, now: int, loads: Iterable[PidLoad], slot_mean: float, pid_mean: float
) -> frozenset[int]:
    """The mini-partitions of a slot that sit out a batch with so many rows by slot and by mini-partition, on average."""
    every = list(loads)
    most = find_share(slot_mean, deferral.least)
    excess = sum(one.rows for one in every) - most
    if slot_mean <= 0 or excess <= 0:
        return frozenset()
    hot = [one for one in every if one.rows > HOT * pid_mean]
    may_wait = [one for one in hot if now + deferral.pace <= one.since + deferral.time]
    if sum(one.rows for one in hot) - sum(one.rows for one in may_wait) > most:
        return frozenset()
    may_wait.sort(key=lambda one: (one.rows, one.pid))
    chosen: set[int] = set()
    room = deferral.bytes
    while may_wait and excess > 0:
        enough = next((i for i, one in enumerate(may_wait) if one.rows >= excess), len(may_wait) - 1)
        one = may_wait.pop(enough)
        if one.bytes <= room:
            chosen.add(one.pid)
            room -= one.bytes
            excess -= one.rows
    return frozenset(chosen)


def choose_pieces(pieces: Iterable[tuple[str, int, int]], room: float) -> dict[str, frozenset[int]]:
    """Which pieces of rows that wait are absorbed, of mini-partitions that sit out, by segment: each piece is a segment, a
    mini-partition and how many rows it has there, the oldest first.
    """
    taken: dict[str, frozenset[int]] = {}
    for path, pid, rows in pieces:
        if rows <= room:
            taken[path] = taken.get(path, frozenset()) | {pid}
            room -= rows
    return taken
