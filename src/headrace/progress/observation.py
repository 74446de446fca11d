"""What source tasks see of a stream, and how it adds up.

An `Observation` is made of each chunk of rows and folded: over chunks, tasks and batches, in any order. The largest
value, the largest mark (a punctuating row, document 003 §2.1) and the clock of the last batch that brought rows are
maxima, so that seeing them twice changes nothing. Groups have observations of their own.

`Arrivals` are for a slack in rows: how many rows a batch brought, and a staircase below its largest values. A step
(rank, value) says "the rank-th largest row of this batch is at `value` or after". Tasks read in parallel, so a batch
has no inner order; a staircase needs none, and two of them add up to one of the union. What is not kept of it only
makes it lower, which is the safe side. Arrivals of one batch add, so each task's are taken once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.progress.frontier import Group

STEPS = 64  # of a staircase


@dataclass(frozen=True)
class Arrivals:
    """What one batch brought."""

    batch: int
    rows: int
    steps: tuple[tuple[int, int], ...]  # (rank, value): ranks rise, values fall

    def find_rank(self, rank: int) -> int | None:
        """A value that the row of this rank, counted from the largest, is not behind; None if nothing is known."""
        return next((value for at, value in self.steps if at >= rank), None)


@dataclass(frozen=True)
class Observation:
    """What was seen of a stream, or of one group of it."""

    largest: int | None = None  # progressing value
    mark: int | None = None  # the largest low-watermark that punctuation has told
    heard: int | None = None  # clock of the last batch that brought rows
    arrivals: tuple[Arrivals, ...] = ()  # of the last batches, the newest first
    groups: tuple[tuple[Group, Observation], ...] = ()  # sorted


NOTHING_SEEN = Observation()


def fold(observations: Iterable[Observation]) -> Observation:
    """Several observations of one stream as one."""
    every = list(observations)
    groups: dict[Group, list[Observation]] = {}
    for observation in every:
        for group, seen in observation.groups:
            groups.setdefault(group, []).append(seen)
    return Observation(
        _largest(o.largest for o in every),
        _largest(o.mark for o in every),
        _largest(o.heard for o in every),
        _add_arrivals(a for o in every for a in o.arrivals),
        tuple(sorted(((g, fold(seen)) for g, seen in groups.items()), key=repr)),
    )


def arrive(batch: int, rows: int, largest: Sequence[int]) -> Arrivals:
    """Arrivals of which the `largest` values are known, in falling order."""
    return Arrivals(batch, rows, _thin([(i + 1, value) for i, value in enumerate(largest)]))


def _largest(values: Iterable[int | None]) -> int | None:
    return max((v for v in values if v is not None), default=None)


def _add_arrivals(arrivals: Iterable[Arrivals]) -> tuple[Arrivals, ...]:
    batches: dict[int, list[Arrivals]] = {}
    for one in arrivals:
        batches.setdefault(one.batch, []).append(one)
    return tuple(_unite(batch, batches[batch]) for batch in sorted(batches, reverse=True))


def _unite(batch: int, parts: Sequence[Arrivals]) -> Arrivals:
    if len(parts) == 1:
        return parts[0]
    values = sorted({value for part in parts for _, value in part.steps}, reverse=True)
    steps = []
    for value in values:  # as many rows are at it or after as the parts say together
        steps.append((sum(max((r for r, v in part.steps if v >= value), default=0) for part in parts), value))
    return Arrivals(batch, sum(part.rows for part in parts), _thin(steps))


def _thin(steps: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """At most STEPS of them, the first and the last among these; of equal values the furthest rank."""
    falling = [s for i, s in enumerate(steps) if i in (0, len(steps) - 1) or s[1] != steps[i + 1][1]]
    if len(falling) <= STEPS:
        return tuple(falling)
    last = len(falling) - 1
    return tuple(falling[i * last // (STEPS - 1)] for i in range(STEPS))
