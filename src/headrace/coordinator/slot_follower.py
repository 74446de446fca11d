"""The number of slots, where a run is asked to choose it (`--slots auto`): the seat of `balance.choose_slots` in the driver.

Like a route, a number is chosen from what is committed, as often as it is asked for, and is true with the manifest of the
batch that has it; only then does what was counted move on. What Spark has is looked at before each batch, so an executor
that was lost or has joined counts at once.

How many cores: those Spark itself counts of its registered executors. What the source holds back is told by few: Kafka says
how many offsets it is behind, and files read in tasks are taken to have more if a batch got as many as it may
(`maxFilesPerTrigger`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.balance.choose_slots import BatchPressure, SlotChoice, SlotTrend, choose_slots
from headrace.balance.statistics import Statistics
from headrace.state.slot_requests import MOST_SLOTS

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class Capacity:
    """Cores of Spark's executors: those that are there, and those that may be."""

    cores: int
    reach: int


class SlotFollower:
    """Chooses the number of slots of every batch."""

    def __init__(self, read_capacity: Callable[[], Capacity], pids: int, trigger: float = 0.0) -> None:
        self.trigger = trigger
        self.backlog = False  # of the batch under way
        self._read, self._most = read_capacity, min(pids, MOST_SLOTS)
        self._seen: BatchPressure | None = None
        self._trend = SlotTrend()
        self._choice: SlotChoice | None = None
        self.cores = 1

    def choose(self, slots: int) -> int:
        """How many slots the batch after one with `slots` gets."""
        capacity = self._read()
        self.cores = min(max(1, capacity.cores), self._most)
        reach = min(max(self.cores, capacity.reach), self._most)
        seen = self._seen or BatchPressure(0.0, 0.0, self.trigger, False, 1, 1)
        choice = choose_slots(slots, replace(seen, cores=self.cores, reach=reach), self._trend)
        self._choice = choice if self._seen is not None else replace(choice, trend=SlotTrend())
        return choice.slots

    def describe(self, before: int) -> tuple[str, ...]:
        """Why the batch under way has another number of slots than the one before it."""
        choice = self._choice
        return (
            ()
            if choice is None or not choice.reason
            else (f"slots {before} to {choice.slots}: {choice.reason}",)
        )

    def observe(self, seen: Statistics, rows: int, seconds: float) -> None:
        """That batch is committed. One without rows says nothing, but may have been given other slots."""
        choice, self._choice = self._choice, None
        changed = choice is not None and bool(choice.reason)
        if choice is not None and (rows or changed):
            self._trend = choice.trend
        if not rows:
            self._seen = None if changed else self._seen
        else:
            width = min(self.cores, seen.slots.count)
            in_slots = min(seconds, max(seen.seconds, float(seen.slots.busy.sum()) / width))
            self._seen = BatchPressure(seconds, in_slots, self.trigger, self.backlog, self.cores, self.cores)


def files_reach_limit(graph: Graph, files: Iterable[tuple[int, str, int]]) -> bool:
    """Whether a batch of files has as many of some stream as it may."""
    counts = Counter(stream for stream, _, _ in files)
    for number, stream in enumerate(graph.streams.values()):
        limit = {k.lower(): v for k, v in stream.options}.get("maxfilespertrigger")
        if limit is not None and str(limit).isdigit() and counts[number] >= int(limit):
            return True
    return False


def is_behind(progress: Mapping[str, Any] | None) -> bool:
    """Whether a source says, in Spark's report of the last batch, that it has more."""
    for source in (progress or {}).get("sources", ()):
        told = (source.get("metrics") or {}).get("maxOffsetsBehindLatest")
        try:
            if told is not None and float(told) > 0:
                return True
        except ValueError:
            continue
    return False
