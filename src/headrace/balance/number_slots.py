"""Numbers of slots, and their number.

Spark hands out tasks in the order of slots, and an idle core takes the next. If the heaviest slot has the
lowest number, this is Graham's longest-processing-time list scheduling: the last slot to start is a light one.
`number_slots` renumbers only if a slot would start before one that is a tenth heavier, so that a balanced route
keeps its numbers.

`rescale_slots` goes from n slots to m and moves few bytes: those of slots that go, largest work first to where
it is done first; then what `plan_moves` needs to bring the slowest slot within 10 % of the mean. Slots that go
are those with the fewest bytes.
"""

from __future__ import annotations

import numpy as np

from headrace.balance.plan_moves import TOLERATED, plan_moves
from headrace.balance.statistics import Floats, Owners, sum_by_slot
from headrace.state.route import check_slots

HEAVIER = 1.1


def number_slots(owners: Owners, work: Floats, slots: int) -> Owners:
    """The same slots with numbers by falling load, if the numbers they have are clearly out of order."""
    loads = sum_by_slot(work, owners, slots)
    lightest_before = np.minimum.accumulate(loads)
    if (loads <= HEAVIER * lightest_before).all():
        return owners
    rank = np.empty(slots, dtype=np.int64)
    rank[np.argsort(-loads, kind="stable")] = np.arange(slots)
    return rank[owners]


def rescale_slots(owners: Owners, work: Floats, size: Floats, slots: int) -> Owners:
    """Owners over another number of slots, numbered from 0 without gaps."""
    check_slots(slots)
    before = int(owners.max()) + 1
    after = owners.copy()
    if slots < before:
        held = sum_by_slot(size, owners, before)
        stay = np.sort(np.argsort(-held, kind="stable")[:slots])
        rank = np.full(before, -1, dtype=np.int64)
        rank[stay] = np.arange(slots)
        after = rank[owners]
        homeless = np.flatnonzero(after < 0)
        loads = sum_by_slot(work[after >= 0], after[after >= 0], slots)
        held = sum_by_slot(size[after >= 0], after[after >= 0], slots)
        for pid in homeless[np.argsort(-work[homeless], kind="stable")]:
            to = int(np.lexsort((held, loads))[0])
            after[pid] = to
            loads[to] += work[pid]
            held[to] += size[pid]
    weight = work if work.any() else np.ones_like(work)
    plan = plan_moves(weight, np.ones(slots), size, after, len(after), times=TOLERATED)
    return plan.apply(after)
