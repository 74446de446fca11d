"""The controller: from what a committed batch reported to the route of the next (document 002, section 5.1).

A pure step: `(state, statistics, route) → (state, route)`. It sees only what is committed, and its answer
becomes part of the next manifest, so a kill before or after it loses nothing: the state below is estimates, and
may start from nothing at any time.

    model: seconds of each mini-partition ─▶ rescale, if asked ─▶ split, deal or join ─▶ policy ─▶ heaviest slot first

A round that changes the tree of splits moves nothing else: what the new leaves cost has to be seen first.
Statistics of batches are added up until the policy's collection time is over, as Flux-Cons does for δ.

A site of the paper is a machine; a slot is a task that Spark gives to any executor that is free. Unless every slot had an
executor of its own and kept it for a few batches, the pace of a slot says nothing about the next batch, and the default policy
is shown slots that differ by their work only. A slow executor takes fewer slots by itself, the heaviest first (`number_slots`);
what is learnt of its pace (`executor_pace`) is taken out of the seconds the model learns from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headrace.balance.deal_hot import Copied, deal_hot
from headrace.balance.executor_pace import learn_pace, remove_pace
from headrace.balance.find_policy import find_policy
from headrace.balance.number_slots import number_slots, rescale_slots
from headrace.balance.policies.headrace import HeadraceMemory, forget_slots
from headrace.balance.seconds_model import SecondsModel, learn_seconds, price_pids, start_model
from headrace.balance.split_hot import COOL, split_hot
from headrace.balance.statistics import (
    Activity,
    Floats,
    Owners,
    Statistics,
    measure_imbalance,
    spread_seconds,
)
from headrace.errors import OptionError
from headrace.state.split_route import Leaf, SplitRoute, list_leaves, replace_slots

AT_HOME = 4  # batches in the same places after which slots are taken to have executors of their own
LEARNT = 0.3  # error below which a model's seconds are taken for work, instead of rows


@dataclass(frozen=True, eq=False)
class ControllerState:
    """What the controller knows between batches."""

    policy: str = "headrace"
    splits: bool = False  # whether the runtime can split mini-partitions
    model: SecondsModel | None = None
    memory: Any = None  # of the policy
    gathered: Statistics | None = None  # of batches since the last round
    collect: float = 0.0  # seconds until the next round
    places: tuple[str, ...] = ()  # the executor of each slot in the batch before
    stayed: int = 0  # batches in which all slots kept their places
    paces: Mapping[str, float] = field(default_factory=dict)  # of executors, where there are several
    copied: Copied = field(default_factory=dict)  # by table that may be dealt
    recent: tuple[Floats, ...] = ()  # share of the work of each leaf, in the last batches with this tree of splits


@dataclass(frozen=True, eq=False)
class ControllerStep:
    """The next state and route, and what to tell about them."""

    state: ControllerState
    route: SplitRoute
    slots: int
    moved: int = 0  # leaves whose slot changes, renumbering aside
    moved_bytes: float = 0.0
    imbalance: float = 1.0  # the slowest slot over the mean, as measured
    split: tuple[Leaf, ...] = ()
    joined: tuple[Leaf, ...] = ()
    hot_groups: tuple[Leaf, ...] = field(default=())
    dealt: tuple[Leaf, ...] = ()


def control(
    state: ControllerState,
    seen: Statistics,
    activity: Mapping[str, Activity],
    route: SplitRoute,
    slots: int | None = None,
) -> ControllerStep:
    """One batch further. `seen` runs over the leaves of the route; `slots` asks for another number of them."""
    leaves, owners = list_leaves(route)
    if seen.pids.count != len(leaves):
        raise OptionError(f"statistics of {seen.pids.count} mini-partitions for a route of {len(leaves)}")
    count = seen.slots.count
    imbalance = measure_imbalance(seen.slots.busy)
    model = _model_for(state.model, activity)
    expected = price_pids(model, activity) if _is_learnt(model) else seen.pids.work
    paces = learn_pace(state.paces, seen, expected, owners)
    model = learn_seconds(model, activity, remove_pace(seen, paces), owners)
    priced = price_pids(model, activity) if _is_learnt(model) else seen.pids.work
    work = priced if priced.any() else seen.pids.work
    if work.any() and seen.slots.busy.any():  # always in seconds of slots: a policy's estimates outlive a change of what is known
        seen = seen.with_work(work * (seen.slots.busy.sum() / work.sum()))
    places = seen.slots.executor
    stayed = state.stayed + 1 if places == state.places else 0
    if state.policy == "headrace" and any(places) and (stayed < AT_HOME or len(set(places)) < count):
        seen = spread_seconds(seen, owners)
    state = replace(state, model=model, places=places, stayed=stayed, paces=paces)
    work, size = seen.pids.work, seen.pids.state_bytes
    if slots is not None and slots != count:
        after = rescale_slots(owners, work, size, slots)
        moved = after != owners
        after = number_slots(after, work, slots)
        fresh = replace(state, memory=None, gathered=None, collect=0.0, recent=())
        route = replace_slots(route, after)
        return ControllerStep(fresh, route, slots, int(moved.sum()), float(size[moved].sum()), imbalance)
    hot: tuple[Leaf, ...] = ()
    if state.splits and work.any():
        same = state.recent if state.recent and len(state.recent[0]) == len(work) else ()
        state = replace(state, recent=(*same, work / work.sum())[-COOL:])
        outcome = split_hot(route, state.recent, count)
        hot = outcome.hot_groups
        loads = [(leaf, float(state.recent[-1][leaves.index(leaf)]) * count) for leaf in hot]
        after_dealing, dealt = deal_hot(outcome.route, loads, activity, state.copied, count, route)
        if outcome.split or outcome.joined or dealt:
            fresh = replace(state, memory=None, gathered=None, collect=0.0, recent=())
            return ControllerStep(
                fresh, after_dealing, count, 0, 0.0, imbalance, outcome.split, outcome.joined, hot, dealt
            )
    gathered = add_statistics(state.gathered, seen)
    if gathered.seconds < state.collect:
        return ControllerStep(
            replace(state, gathered=gathered), route, count, 0, 0.0, imbalance, hot_groups=hot
        )
    decision = find_policy(state.policy)(gathered, owners, state.memory)
    moved = decision.owners != owners
    state = replace(
        state, memory=decision.memory, gathered=None, collect=decision.next_collection(gathered.move_seconds)
    )
    after = decision.owners
    if moved.any():  # numbers change only together with owners: a route that stays, stays
        after, state = _renumber(after, work, count, state)
    return ControllerStep(
        state,
        replace_slots(route, after),
        count,
        int(moved.sum()),
        float(size[moved].sum()),
        imbalance,
        hot_groups=hot,
    )


def _renumber(
    owners: Owners, work: Floats, slots: int, state: ControllerState
) -> tuple[Owners, ControllerState]:
    """Heaviest first. A policy's estimates of slots by number are then void, unless no number changed."""
    after = number_slots(owners, work, slots)
    same = np.array_equal(after, owners)
    return after, state if same else replace(state, memory=_forget_slots(state.memory))


def _forget_slots(memory: Any) -> Any:
    """Slots of a batch have no fixed executor: their pace starts anew, shares of mini-partitions stay."""
    return forget_slots(memory) if isinstance(memory, HeadraceMemory) else memory


def _is_learnt(model: SecondsModel) -> bool:
    return model.level > 0 and model.error <= LEARNT


def _model_for(model: SecondsModel | None, activity: Mapping[str, Activity]) -> SecondsModel:
    """The model, or a new one if the set has other nodes now."""
    names = tuple(sorted(activity))
    return model if model is not None and set(names) <= set(model.nodes) else start_model(names)


def add_statistics(one: Statistics | None, two: Statistics) -> Statistics:
    """Two collections as one: what is counted adds up, what is state is the later."""
    if one is None or one.pids.count != two.pids.count or one.slots.count != two.slots.count:
        return two
    a, b = one.pids, two.pids
    pids = replace(
        b,
        rows=a.rows + b.rows,
        processed=a.processed + b.processed,
        results=a.results + b.results,
        work=a.work + b.work,
        last_touch=np.maximum(a.last_touch, b.last_touch),
    )
    c, d = one.slots, two.slots
    sums = {name: getattr(c, name) + getattr(d, name) for name in ("load", "close", "keep", "busy", "wait")}
    slots = replace(d, peak_memory=np.maximum(c.peak_memory, d.peak_memory), **sums)
    return Statistics(one.seconds + two.seconds, pids, slots, two.moved_bytes, two.move_seconds)
