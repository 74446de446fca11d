"""The controller's seat in the driver (document 002, sections 5.1 and 5.2).

The batch boundary is Flux' quiesce point: no row is in flight, and a mini-partition moves by being named with another
slot in the next route. What is decided is a function of what is committed: the last manifest's route, the statistics of
its batch, and estimates from batches before. It becomes true with the manifest of the next batch. A kill before that
loses a decision and the estimates, both of which come again; after it, the route is read from the manifest. Until a
batch is committed it may be asked for its route any number of times, with any number of slots: only the answer that was
carried out moves the estimates on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.balance import ControllerState, ControllerStep, Statistics, control, read_reports
from headrace.balance.controller import LEARNT, find_policy
from headrace.balance.seconds_model import price_pids
from headrace.balance.statistics import Activity, Floats, measure_imbalance
from headrace.program.messages import Orders, SlotReport
from headrace.state import Manifest, rescale

Route = tuple[int, ...]


class Balancer:
    """Chooses the route of every batch, by a policy."""

    def __init__(self, policy: str, pids: int) -> None:
        find_policy(policy)
        self.policy, self._pids = policy, pids
        self._state = ControllerState(policy)
        self._seen: Statistics | None = None
        self._activity: dict[str, Activity] = {}
        self._step: ControllerStep | None = None
        self._asked: tuple[Route, int] | None = None  # what the step answers

    def choose_route(self, manifest: Manifest, slots: int) -> Route:
        """The route of the batch after `manifest`, over so many slots."""
        if self._asked == (manifest.route, slots) and self._step is not None:
            return _flat(self._step)
        self._step, self._asked = None, (manifest.route, slots)
        seen = self._seen
        if seen is None or seen.slots.count != manifest.slots:  # nothing is known yet
            return manifest.route if slots == manifest.slots else rescale(manifest.route, slots)
        if self.policy == "static" and slots == manifest.slots:
            return manifest.route
        self._step = control(self._state, seen, self._activity, manifest.route, slots)
        return _flat(self._step)

    def read(self, reports: Sequence[SlotReport], orders: Orders) -> BatchLoad:
        """What the slots of a batch did, by slot and by mini-partition."""
        seen, activity = read_reports(reports, self._pids, orders.slots, self._seen, orders.memory)
        model = self._state.model
        seconds = (
            price_pids(model, activity) if model is not None and model.error <= LEARNT and activity else None
        )
        error = model.error if model is not None and model.level > 0 else None
        return BatchLoad(seen, activity, seconds, error, reports)

    def observe(self, load: BatchLoad) -> None:
        """That batch is committed."""
        if self._step is not None:
            self._state = self._step.state
        self._step = self._asked = None
        self._seen, self._activity = (load.seen, load.activity) if load.reports else (None, {})


class BatchLoad:
    """The statistics of one batch, as a report tells them."""

    def __init__(
        self,
        seen: Statistics,
        activity: dict[str, Activity],
        seconds: Floats | None,
        error: float | None,
        reports: Sequence[SlotReport],
    ) -> None:
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
        fitted = {} if self._seconds is None else {"seconds": np.round(self._seconds, 6).tolist()}
        model = {} if self.error is None else {"model": {"error": round(self.error, 4)}}
        return {"by_slot": by_slot, "by_pid": by_pid | fitted} | model


def _flat(step: ControllerStep) -> Route:
    """Without splits, which segments do not know, a route is a slot for each mini-partition."""
    return tuple(slot for slot in step.route if isinstance(slot, int))
