"""How many slots a run should have, when it is asked to choose (document 002, section 5.2, leaves the machines fixed).

A slot is a task, so more slots than cores only queue, and fewer leave cores idle: a slot for each core is enough, and
where batches have time to spare, fewer do. What is seen of a batch is how long it took against the trigger, how much
of that its slots took, whether the source has more than it could take, and how many cores Spark's executors have now.
From that the time with another number of slots is predicted,

    seconds(n) = rest + in slots · min(slots, cores) / min(n, cores)

and the answer is the smallest number predicted to take AIM of the trigger:

- more slots after SOON batches in a row beyond BEHIND of the trigger, at most twice as many, and only if that helps: where
  the time goes elsewhere, nothing is gained by more tasks;
- fewer after LATER batches in a row that fewer would have done, as many as the worst of them needed, at least half;
- never more than there may be cores: at once, when an executor is lost.

BEHIND and AIM are far apart, so that what was taken away is not called back: a batch that is predicted to take 0.6 of the
trigger and takes half as long again is not behind. Without a trigger there is no goal to be early for: a slot for each
core. Spark's dynamic allocation adds executors for tasks that queue, so there, when behind, slots go ahead of the cores
up to what it may add (`reach`), and then wait for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BEHIND = 0.9  # of the trigger: a batch that takes longer leaves no room
AIM = 0.6  # of the trigger: what a batch with another number of slots may take
HELPS = 0.95  # of the seconds now: what more slots must bring them below
SOON, LATER = 2, 5  # batches in a row before slots are added, taken away


@dataclass(frozen=True)
class BatchPressure:
    """What is seen of one batch, and of Spark after it."""

    seconds: float  # it took
    in_slots: float  # of these
    trigger: float  # seconds from batch to batch; 0: one after the other
    backlog: bool  # the source had more than it took
    cores: int  # of Spark's executors
    reach: int  # cores there may be: more than there are only if Spark adds executors by itself


@dataclass(frozen=True)
class SlotTrend:
    """What the batches before say together."""

    behind: int = 0  # in a row
    ahead: int = 0  # in a row
    enough: int = 1  # slots that would have done for each of those ahead


@dataclass(frozen=True)
class SlotChoice:
    """How many slots the next batch gets, and why, if not as many as the last."""

    slots: int
    trend: SlotTrend = SlotTrend()
    reason: str = ""


def choose_slots(slots: int, seen: BatchPressure, trend: SlotTrend) -> SlotChoice:
    """One batch further."""
    most = max(1, seen.cores, seen.reach)
    cores = f"Spark has {seen.cores} {'core' if seen.cores == 1 else 'cores'}"
    if slots > most:
        return SlotChoice(most, reason=cores)
    if not seen.trigger:
        return _follow_cores(slots, seen, trend, most, cores)
    share = seen.seconds / seen.trigger
    need = _find_need(slots, seen, most)
    if share > BEHIND or seen.backlog:
        behind = trend.behind + 1
        more = min(need, 2 * slots)
        waits = slots > seen.cores  # for executors that were asked for
        if behind >= SOON and more > slots and not waits and _helps(slots, more, seen):
            why = "the source has more" if share <= BEHIND else f"batches take {share:.2f} of the trigger"
            return SlotChoice(more, reason=why)
        return SlotChoice(slots, SlotTrend(behind=behind))
    if need >= slots:
        return SlotChoice(slots)
    ahead, enough = trend.ahead + 1, max(trend.enough, need)
    if ahead >= LATER:
        fewer = max(enough, math.ceil(slots / 2))
        return SlotChoice(fewer, reason=f"batches take {share:.2f} of the trigger")
    return SlotChoice(slots, SlotTrend(ahead=ahead, enough=enough))


def predict_seconds(slots: int, other: int, seen: BatchPressure) -> float:
    """What the batch would have taken with another number of slots."""
    now, then = min(slots, max(1, seen.cores)), min(other, max(1, seen.cores, seen.reach))
    return max(0.0, seen.seconds - seen.in_slots) + seen.in_slots * now / then


def _follow_cores(slots: int, seen: BatchPressure, trend: SlotTrend, most: int, why: str) -> SlotChoice:
    cores = max(1, seen.cores)
    behind = trend.behind + 1 if seen.backlog else 0
    if slots < cores or (slots > cores and not seen.backlog):
        return SlotChoice(cores, reason=why)
    if slots == cores < most and behind >= SOON:
        return SlotChoice(min(2 * slots, most), reason="the source has more")
    return SlotChoice(slots, SlotTrend(behind=behind))


def _find_need(slots: int, seen: BatchPressure, most: int) -> int:
    """The fewest slots predicted to take AIM of the trigger; the most there may be, if none do."""
    room = AIM * seen.trigger - max(0.0, seen.seconds - seen.in_slots)
    if room <= 0:
        return most
    need = math.ceil(seen.in_slots * min(slots, max(1, seen.cores)) / room - 1e-9)
    return min(max(need, 1), most)


def _helps(slots: int, more: int, seen: BatchPressure) -> bool:
    return predict_seconds(slots, more, seen) < HELPS * seen.seconds
