"""The controller's seat in the driver (document 002, sections 5.1 and 5.2).

The batch boundary is Flux' quiesce point: no row is in flight, and a mini-partition moves by being named with another
slot in the next route. What is decided is a function of what is committed: the last manifest's route, the statistics of
its batch, and estimates from batches before. It becomes true with the manifest of the next batch. A kill before that
loses a decision and the estimates, both of which come again; after it, the route is read from the manifest. Until a
batch is committed it may be asked for its route any number of times, with any number of slots: only the answer that was
carried out moves the estimates on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from headrace.balance import ControllerState, ControllerStep, Statistics, control, read_reports
from headrace.balance.controller import LEARNT
from headrace.balance.find_policy import find_policy
from headrace.balance.seconds_model import price_pids
from headrace.balance.split_hot import SPLIT_ABOVE
from headrace.balance.statistics import Activity, Floats, measure_imbalance
from headrace.program.dealt_tables import DealtTable
from headrace.program.limits import SHIPPED
from headrace.program.messages import NodeActivity, Orders, SlotReport
from headrace.state import Manifest, rescale
from headrace.state.dealt_route import list_dealt
from headrace.state.leaf_numbers import describe_leaf, list_numbers
from headrace.state.split_route import Leaf, SplitRoute, list_leaves

NAMED_FROM, MOST_NAMED = 0.2, 3  # of a hot mini-partition's rows; keys in one batch's notes
SPLITTING = ("headrace",)  # policies that split what is too hot to move; the paper's are as written


class Balancer:
    """Chooses the route of every batch, by a policy."""

    def __init__(
        self,
        policy: str,
        splits: bool = True,
        tables: Mapping[str, DealtTable] = MappingProxyType({}),
        named_rows: int = SHIPPED.named_rows,
    ) -> None:
        """`splits`: whether the mini-partitions of all rows follow from their keys; `tables`: which may be dealt; `named_rows`:
        how many a batch has whose hot keys are named.
        """
        find_policy(policy)
        self.policy, self._tables, self._named_rows = policy, tables, named_rows
        copied = {name: table.copied for name, table in tables.items() if table.obstacle is None}
        self._state = ControllerState(policy, splits=splits and policy in SPLITTING, copied=copied)
        self._left: tuple[Leaf, ...] = ()  # hot groups that were told to stay in one slot
        self._seen: Statistics | None = None
        self._leaves: Sequence[Leaf] = ()  # of these statistics
        self._activity: dict[str, Activity] = {}
        self._step: ControllerStep | None = None
        self._asked: tuple[SplitRoute, int] | None = None  # what the step answers
        self.hot: frozenset[int] = frozenset()  # mini-partitions near a slot's share in the last batch

    def stop_dealing(self) -> None:
        """Keep every key in one slot from now on."""
        self._state = replace(self._state, copied={})

    def choose_route(self, manifest: Manifest, slots: int) -> SplitRoute:
        """The route of the batch after `manifest`, over so many slots."""
        if self._asked == (manifest.route, slots) and self._step is not None:
            return self._step.route
        self._step, self._asked = None, (manifest.route, slots)
        seen = self._seen
        if seen is None or seen.slots.count != manifest.slots:  # nothing is known yet
            return manifest.route if slots == manifest.slots else rescale(manifest.route, slots)
        if self.policy == "static" and slots == manifest.slots:
            return manifest.route
        self._step = control(self._state, seen, self._activity, manifest.route, slots)
        return self._step.route

    def read(self, reports: Sequence[SlotReport], orders: Orders) -> BatchLoad:
        """What the slots of a batch did, by slot and by mini-partition."""
        leaves = list_leaves(orders.route)[0]
        if len(leaves) > len(orders.route):  # reports are by number, statistics by leaf
            index = {number: at for at, number in enumerate(list_numbers(orders.route))}
            reports = [replace(report, activity=_place(report.activity, index)) for report in reports]
        before = self._seen and _touch_parts(self._seen, self._leaves, leaves)
        seen, activity = read_reports(reports, len(leaves), orders.slots, before, orders.turn_bytes)
        model = self._state.model
        seconds = (
            price_pids(model, activity) if model is not None and model.error <= LEARNT and activity else None
        )
        error = model.error if model is not None and model.level > 0 else None
        return BatchLoad(seen, activity, seconds, error, reports, leaves)

    def observe(self, load: BatchLoad) -> None:
        """That batch is committed."""
        if self._step is not None:
            self._state = self._step.state
        self._step = self._asked = None
        self._seen, self._activity = (load.seen, load.activity) if load.reports else (None, {})
        self._leaves, self.hot = load.leaves, load.find_hot(self._named_rows)

    def describe(self, orders: Orders, reports: Sequence[SlotReport], labels: Mapping[str, str]) -> list[str]:
        """What is split or made whole before the batch, and its hot keys, in words."""
        notes = []
        if self._step is not None and self._step.route == orders.route:
            leaves = list_leaves(orders.route)[0]
            for leaf in self._step.split:
                parts = sum(leaf.covers(part) for part in leaves)
                notes.append(f"mini-partition {describe_leaf(leaf)} is split into {parts} parts")
            notes += [f"mini-partition {describe_leaf(leaf)} is whole again" for leaf in self._step.joined]
            notes += self._describe_hot_groups(orders.route, labels)
        return notes + describe_hot_keys(reports, labels, len(orders.route))

    def _describe_hot_groups(self, route: SplitRoute, labels: Mapping[str, str]) -> list[str]:
        """What becomes of leaves with one hot key; of those that stay in one slot once only."""
        assert self._step is not None
        notes, dealt = [], dict(list_dealt(route))
        for leaf in self._step.dealt:
            one = dealt[leaf]
            others = " and ".join(labels[node] for node in one.copied)
            notes.append(
                f"mini-partition {describe_leaf(leaf)} has a hot key: {labels[one.dealt]} are dealt over "
                f"{len(one.slots)} parts, {others} copied to each"
            )
        left = tuple(leaf for leaf in self._step.hot_groups if leaf not in dealt)
        for leaf in left:
            if leaf not in self._left and leaf in self._leaves:
                why = self._tell_why(leaf, labels)
                notes.append(
                    f"mini-partition {describe_leaf(leaf)} has a hot key and stays in one slot: {why}"
                )
        self._left = left
        return notes

    def _tell_why(self, leaf: Leaf, labels: Mapping[str, str]) -> str:
        """Why rows of a leaf are not dealt, by the table that most of them are of."""
        at = self._leaves.index(leaf)
        most = max(self._activity, key=lambda node: float(self._activity[node].rows[at]))
        if most not in self._tables:
            return f"most of what comes is for {labels[most]}, no input of a join"
        return f"{labels[most]} are not dealt, because {self._tables[most].obstacle or 'copying the other input would cost more'}"


class BatchLoad:
    """The statistics of one batch, as a report tells them."""

    def __init__(
        self,
        seen: Statistics,
        activity: dict[str, Activity],
        seconds: Floats | None,
        error: float | None,
        reports: Sequence[SlotReport],
        leaves: Sequence[Leaf],
    ) -> None:
        self.leaves = leaves
        self.seen, self.activity, self.reports, self.error = seen, activity, reports, error
        self._seconds = seconds

    @property
    def imbalance(self) -> float:
        """The slowest slot over the mean."""
        return measure_imbalance(self.seen.slots.busy)

    @property
    def work(self) -> Floats:
        """What each mini-partition cost: its fitted seconds, or its rows as long as the fit is not good."""
        fitted = self._seconds
        return fitted if fitted is not None and fitted.any() else self.seen.pids.rows

    def find_hot(self, least: int) -> frozenset[int]:
        """Mini-partitions, or some of their parts, that are near a slot's share, if a batch has `least` rows."""
        work, slots = self.work, self.seen.slots.count
        if slots < 2 or not work.any() or self.seen.pids.rows.sum() < least:
            return frozenset()
        hot = np.flatnonzero(work * slots > SPLIT_ABOVE * work.sum())
        return frozenset(self.leaves[int(at)].pid for at in hot)

    @property
    def heat(self) -> Floats:
        """The work of each mini-partition; of one that is split, of its largest part."""
        hottest = np.zeros(self.leaves[-1].pid + 1)
        np.maximum.at(hottest, [leaf.pid for leaf in self.leaves], self.work)
        return hottest

    def to_json(self) -> dict[str, Any]:
        """By slot and by mini-partition, for the manifest."""
        slots, pids = self.seen.slots, self.seen.pids
        waits = np.zeros(slots.count)
        for report in self.reports:
            waits[report.slot] += report.timings.wait
        by_slot = {
            **{
                name: np.round(getattr(slots, name), 6).tolist() for name in ("busy", "load", "close", "keep")
            },
            "waited_for_input": np.round(waits, 6).tolist(),
            "executor": list(slots.executor),
            "peak_memory": slots.peak_memory.astype(int).tolist(),
        }
        by_pid = {
            name: getattr(pids, name).astype(int).tolist()
            for name in ("rows", "state_rows", "state_bytes", "results", "last_touch")
        }
        if any(leaf.depth for leaf in self.leaves):
            by_pid = {"part": [describe_leaf(leaf) for leaf in self.leaves]} | by_pid
        fitted = {} if self._seconds is None else {"seconds": np.round(self._seconds, 6).tolist()}
        model = {} if self.error is None else {"model": {"error": round(self.error, 4)}}
        return {"by_slot": by_slot, "by_pid": by_pid | fitted} | model


def _place(activity: Sequence[NodeActivity], index: Mapping[int, int]) -> tuple[NodeActivity, ...]:
    """The same by position among the leaves."""
    return tuple(replace(one, pids=tuple(index[number] for number in one.pids)) for one in activity)


def _touch_parts(seen: Statistics, before: Sequence[Leaf], after: Sequence[Leaf]) -> Statistics:
    """With the last touch of each leaf; of one that is new, that of its mini-partition."""
    if list(before) == list(after):
        return seen
    last: dict[int, int] = {}
    for leaf, version in zip(before, seen.pids.last_touch.tolist(), strict=True):
        last[leaf.pid] = max(version, last.get(leaf.pid, -1))
    touched = np.array([last.get(leaf.pid, -1) for leaf in after])
    return replace(seen, pids=replace(seen.pids, last_touch=touched))


def describe_hot_keys(reports: Sequence[SlotReport], labels: Mapping[str, str], pids: int) -> list[str]:
    """The keys that have a fifth or more of the new rows of a hot mini-partition."""
    keys, rows = Counter[tuple[str, int, tuple[str | None, ...]]](), Counter[tuple[str, int]]()
    for report in reports:
        for one in report.hot_keys:
            keys[one.node, one.pid, one.key] += one.rows
        for activity in report.activity:
            for number, count in zip(activity.pids, activity.rows, strict=True):
                rows[activity.node, number % pids] += count
    found: list[str] = []
    for (node, pid, key), count in keys.most_common():
        share = count / max(rows[node, pid], 1)
        if share >= NAMED_FROM and len(found) < MOST_NAMED:
            shown = ", ".join("NULL" if value is None else value for value in key)
            found.append(
                f"hot: mini-partition {pid}, key ({shown}) has {share:.0%} of its rows for {labels[node]}"
            )
    return found
