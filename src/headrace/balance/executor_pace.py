"""How fast executors are, against one another, so that a slow one is not taken for a heavy slot.

A slot is a task that goes to whichever executor is free, so the same slot takes longer today because of where it ran, and not
tomorrow. An executor's pace is the seconds its slots took over what they should have taken at the pace of all, smoothed over
batches; slots' seconds divided by it are what the slots' *work* takes. What they should have taken is said by the model of
seconds as long as that is good, else by their rows.

Names of executors are good from one batch to the next only (`kernels/worker.py`), so one that was not seen is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from headrace.balance.statistics import Floats, Owners, Statistics, sum_by_slot

STEADY = 0.3  # weight of a new batch
NEAR = 0.1  # a pace this near to that of all is noise


def learn_pace(known: Mapping[str, float], seen: Statistics, work: Floats, owners: Owners) -> dict[str, float]:
    """The pace of each executor after one more batch; 1 is the mean of all rows."""
    places, busy = np.array(seen.slots.executor), seen.slots.busy
    names = sorted(set(seen.slots.executor))
    expected = sum_by_slot(work, owners, seen.slots.count)
    if len(names) < 2 or "" in names or not expected.any() or not busy.any():
        return {}
    expected = expected * busy.sum() / expected.sum()
    found = {}
    for name in names:
        mine = places == name
        if expected[mine].sum() > 0 and busy[mine].sum() > 0:
            now = float(busy[mine].sum() / expected[mine].sum())
            found[name] = known[name] + STEADY * (now - known[name]) if name in known else now
    return found


def remove_pace(seen: Statistics, pace: Mapping[str, float]) -> Statistics:
    """The same as if all executors had been as fast as the mean of them."""
    by_slot = np.array([pace.get(name, 1.0) for name in seen.slots.executor])
    if len(by_slot) == 0 or (np.abs(by_slot - 1) <= NEAR).all():
        return seen
    busy = seen.slots.busy / by_slot
    return replace(seen, slots=replace(seen.slots, busy=busy, wait=busy.max(initial=0.0) - busy))
