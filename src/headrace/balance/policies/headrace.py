"""The default policy: few bytes, moved when it pays, and no parameter.

It answers what the paper leaves open (document 002, sections 5.4 and 8: its policy is sensitive to δ_min, and
at small values worse than none). Five things differ from `flux_load`:

* **What is estimated.** Each mini-partition's share of the work that *comes in*, and each slot's seconds per
  unit of work, both smoothed with their uncertainty (`smooth_rates`). A slot that is slowed down shows at once,
  not when its backlog has filled the buffers and others idle; and a short look at a mini-partition is known to
  be a short look.
* **The plan.** Not one move per pair, but those of the fewest bytes to the goal (`plan_moves`), as far as they bring
  enough per second of moving. What moves is held up meanwhile, and a full buffer then holds up everybody; so a plan that is
  decided on is carried out in rounds, each of which holds up at most a tenth of the time looked at.
* **When.** Only if the slowest slot is more than 10 % above the mean, and the gain is larger than its own standard error
  explains, also of a slot that was picked among many for being the slowest.
* **Whether it pays.** The horizon is not guessed. The time lost to the imbalance adds up, and when it has
  reached what the moves cost, they are made (ski rental: never more than twice the cost of knowing the future).
  The cost per byte is learnt from move phases.
* **Doubt.** If a move did not bring half of what it promised, the next one has to wait for twice the loss; if
  it did, for half again.

State that does not fit into a slot's memory goes first and at once, by `plan_room`; spilling costs more than
any move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.balance.decision import Decision
from headrace.balance.plan_moves import TOLERATED, MovePlan, find_bound, plan_moves, plan_room
from headrace.balance.policies.flux_load import free_memory
from headrace.balance.smooth_rates import SmoothedRates, observe_rates, start_rates
from headrace.balance.statistics import Floats, Owners, Statistics, measure_imbalance, sum_by_slot

CERTAIN = 2.0  # standard errors, beyond what the slowest of so many slots is above the others by chance
CLOCK = 0.02  # no slot's seconds are known better than this share
LOOK = 2500.0  # rows of the busiest slot in a collection: 2 % noise
PER_BYTE = 8 / 250e6  # seconds, before a move was measured: the paper's point-to-point bandwidth
MOST = 16  # moves per slot in one round, on the mean
ENOUGH = 0.25  # of the best gain per second of moving: among plans that differ by less, the largest
HOLD = 0.1  # of the time looked at: work that the moves of one round may hold up


@dataclass(frozen=True, eq=False)
class HeadraceMemory:
    """What the policy carries from round to round."""

    shares: SmoothedRates  # of the work, by mini-partition
    pace: SmoothedRates  # seconds per unit of work, by slot
    lost: float = 0.0  # seconds, to the imbalance since it was seen
    per_byte: float = PER_BYTE
    caution: float = 1.0
    promised: tuple[float, float] | None = None  # imbalance before the last moves, and after them by the plan
    settled: int = 0  # rounds since then
    due: int = 0  # moves that are paid for and not made yet


def headrace(seen: Statistics, owners: Owners, memory: Any = None) -> Decision:
    """One round."""
    known = _observe(seen, owners, memory)
    slots = seen.slots.count
    rate = float(sum_by_slot(seen.pids.processed, owners, slots).max()) / max(seen.seconds, 1e-9)
    collect = float(np.clip(LOOK / max(rate, 1e-9), 0.01, 10.0))
    if np.isfinite(seen.slots.memory).all():
        disk = seen.pids.on_disk.astype(np.float64)
        roomy = plan_room(seen.pids.state_bytes, disk, owners, seen.slots.memory, MOST * slots)
        if (roomy != owners).any():
            return Decision(roomy, replace(known, lost=0.0), collect, follow_moves=True)
    shares, pace = known.shares.mean, known.pace.mean
    loads = pace * sum_by_slot(shares, owners, slots)
    if not shares.any() or loads.max() <= find_bound(shares, pace, TOLERATED):
        return Decision(owners, replace(known, lost=0.0, due=0), collect)
    room = free_memory(seen, owners)
    plan = plan_moves(shares, pace, seen.pids.state_bytes, owners, MOST * slots, room)
    if not len(plan.pids):
        return Decision(owners, known, collect)
    gains, (first, costs) = 1 - plan.slowest[1:] / plan.slowest[0], _price_moves(known, seen, plan, collect)
    planned = pace * sum_by_slot(shares, plan.apply(owners), slots)
    error = np.hypot(_error(known, owners, loads), _error(known, plan.apply(owners), planned)) / loads.max()
    chance = float(np.sqrt(2 * np.log(slots)))  # the largest of so many normal deviates
    worth = np.where(gains > (CERTAIN + chance) * error, gains / costs, 0.0)
    if not worth.any():
        return Decision(owners, replace(known, due=0), collect)
    count = int(np.flatnonzero(worth >= ENOUGH * worth.max())[-1]) + 1
    lost = known.lost + float(gains[count - 1]) * seen.seconds
    due = min(known.due, count)
    if not due:
        if lost < float(costs[count - 1]) * known.caution:
            return Decision(owners, replace(known, lost=lost), collect)
        due = count
        promise = measure_imbalance(loads), measure_imbalance(pace * sum_by_slot(shares, plan.apply(owners, due), slots))
        known = replace(known, promised=promise)
    now = min(due, first)
    known = replace(known, lost=0.0, due=due - now, settled=0)
    return Decision(plan.apply(owners, now), known, collect, follow_moves=now == due)


def _price_moves(known: HeadraceMemory, seen: Statistics, plan: MovePlan, collect: float) -> tuple[int, Floats]:
    """How many moves one round makes, and the seconds that the first, the first two, … cost, made in such rounds: what
    a mini-partition's work waits while it is under way.
    """
    takes = np.cumsum(seen.pids.state_bytes[plan.pids]) * known.per_byte
    held = np.cumsum(known.shares.mean[plan.pids])
    looked = max(seen.seconds - seen.move_seconds, collect)
    first = max(1, int(np.searchsorted(takes * held, HOLD * looked, side="right")))
    return first, np.maximum(takes * float(held[first - 1]), 1e-9)


def _observe(seen: Statistics, owners: Owners, memory: Any) -> HeadraceMemory:
    """The estimates after this round."""
    pids, slots = seen.pids, seen.slots
    known = memory
    if not isinstance(known, HeadraceMemory) or len(known.shares.mean) != pids.count:
        known = HeadraceMemory(start_rates(pids.count), start_rates(slots.count))
    if len(known.pace.mean) != slots.count:
        known = replace(known, pace=start_rates(slots.count), promised=None)
    total, rows = float(pids.work.sum()), float(pids.rows.sum())
    if total > 0:
        each = total / max(rows, 1.0)  # work of a row
        per_row = np.divide(pids.work, pids.rows, out=np.full(pids.count, each), where=pids.rows > 0)
        least = per_row**2 * np.maximum(pids.rows, 1.0) / total**2
        shares = observe_rates(known.shares, pids.work / total, least)
        done = sum_by_slot(per_row * pids.processed, owners, slots.count)
        count = sum_by_slot(pids.processed, owners, slots.count)
        spilled = sum_by_slot(pids.on_disk.astype(np.float64), owners, slots.count) > 0
        measured = (done > 0) & (slots.busy > 0) & ~spilled
        pace = np.divide(slots.busy, done, out=np.ones(slots.count), where=measured)
        least = pace**2 * (CLOCK**2 + 1.0 / np.maximum(count, 1.0))
        paces = observe_rates(known.pace, pace, least, measured)
        usual = float(np.median(paces.mean[paces.rounds > 0])) if (paces.rounds > 0).any() else 1.0
        paces = replace(paces, mean=np.where(paces.rounds > 0, paces.mean, usual))
        known = replace(known, shares=shares, pace=paces)
    if seen.moved_bytes > 0 and seen.move_seconds > 0:
        known = replace(known, per_byte=(known.per_byte + seen.move_seconds / seen.moved_bytes) / 2)
    return _check_promise(known, owners, slots.count)


def forget_slots(known: HeadraceMemory) -> HeadraceMemory:
    """The same without what was learnt of slots, for when their numbers change."""
    return replace(known, pace=start_rates(0), promised=None, due=0)


def _check_promise(known: HeadraceMemory, owners: Owners, slots: int) -> HeadraceMemory:
    """After two rounds, what the last moves brought."""
    if known.promised is None or known.due or known.settled < 1:
        return replace(known, settled=known.settled + 1)
    before, planned = known.promised
    now = measure_imbalance(known.pace.mean * sum_by_slot(known.shares.mean, owners, slots))
    kept = now <= (before + planned) / 2
    caution = max(1.0, known.caution / 2) if kept else known.caution * 2
    return replace(known, promised=None, caution=caution, settled=0)


def _error(known: HeadraceMemory, owners: Owners, loads: Floats) -> float:
    """The standard error of the slowest slot's load."""
    slot = int(np.argmax(loads))
    mine = owners == slot
    pace, work = float(known.pace.mean[slot]), float(known.shares.mean[mine].sum())
    variance = pace**2 * float(known.shares.variance[mine].sum()) + work**2 * float(known.pace.variance[slot])
    return float(np.sqrt(variance))
