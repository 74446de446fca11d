"""Plays a scenario: the run, its disk, its clock, its sinks and readers, and whoever starts it again.

The loop is that of a run on Spark without Spark. A batch is planned once and given until its version is
committed; a process that dies is started again on what the disk has kept, finds how far it came, and goes on.
After every batch what was committed is compared with the meaning of the set (`judge`); in the end what
readers, sinks and a fresh reader have seen is compared with what was committed, and what lies on the disk
with what somebody may need.
"""

from __future__ import annotations

import os
import random
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.simulate import scenario as events
from benchmarks.simulate.compare_rows import rows_of
from benchmarks.simulate.judge import Judge
from benchmarks.simulate.random_routes import defer_randomly, scatter_next
from benchmarks.simulate.scenario import Event, Scenario
from benchmarks.simulate.simulated_files import FaultKind, ProcessEnded, SimulatedFiles
from benchmarks.simulate.simulated_run import SimulatedRun
from headrace.errors import CheckpointError, SinkError
from headrace.kernels import connection
from headrace.sinks.sinks import Callback, Directory
from headrace.state import Clock, Manifest, ManifestLog, Retention, Store

_STARTS = 8  # until a step succeeds


class World:
    """One play of a scenario in an empty folder."""

    def __init__(self, scenario: Scenario, folder: str) -> None:
        self.scenario, self.folder = scenario, folder
        for name in ("checkpoint", "out", "aside"):
            os.makedirs(f"{folder}/{name}")
        self.now = self.since = max(scenario.begins, 0)
        self.clock = Clock(lambda: self.now, self._sleep)
        self.files = SimulatedFiles(folder, f"{folder}/aside", lambda: self.clock.seconds)
        self.store = Store(f"{folder}/checkpoint", self.files)
        self.plain = Store(self.store.uri)  # for whoever looks on
        self.rng = random.Random(f"world {scenario.seed}")
        self.judge = Judge(scenario, self.plain, Store(f"{folder}/out"))
        self.present = frozenset(scenario.case.queries) - scenario.absent
        self.seen: Counter[str] = Counter()
        self.run: SimulatedRun | None = None
        self.slots: int | None = scenario.slots
        self.pushed = 0  # committed batches that something may be told after
        self.pushing = False
        self.sink_fails = 0
        self.disturbance: events.Disturb | None = None

    def play(self) -> Counter[str]:
        """What was seen on the way, counted. Raises where the run is wrong."""
        with _set_up(self.scenario), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                for event in self.scenario.events:
                    self.seen[f"event: {type(event).__name__}"] += 1
                    _PLAY[type(event)](self, event)
                self._finish()
            finally:
                self._drop_run()
        self.seen["disk operations"] += sum(self.files.operations.values())
        return self.seen

    # -- batches --------------------
    def _push(self, event: events.Push, counts: bool = True) -> None:
        self.now += event.clock
        version, told = self.judge.version + 1, self._told()
        rows = {s: [tuple(r.values()) for r in some] for s, some in event.rows.items()}
        self.pushing = counts
        since = self._until_done(lambda run: run.push(**rows) if run.manifest.version < version else None)
        self.pushing = False
        self.pushed += counts
        self.judge.meaning.push(event.rows, self._manifest(version).clock, since, told)
        self._observe(version)

    def _flush(self, event: events.Flush) -> None:
        version, told = self.judge.version + 1, self._told()
        since = self._until_done(lambda run: run.flush() if run.manifest.version < version else None)
        manifest = self._manifest(version)
        bounds = {s: state.low_watermark for s, state in manifest.streams.items()}
        self.judge.meaning.flush(bounds, manifest.clock, since, told)
        self._observe(version)

    def _beat(self, event: events.Beat) -> None:
        self.now += event.clock
        version, told = self.judge.version + 1, self._told()
        since = self._until_done(lambda run: run.beat() if run.manifest.version < version else None)
        if self._open().manifest.version < version:
            self._push(events.Push({}), counts=False)
            if self.scenario.waits is None:
                assert not any(r[-1] for r in self.judge.results.values()), "results that no heartbeat was made for"
            return
        self.seen["heartbeat that brings results"] += 1
        self.judge.meaning.push({}, self._manifest(version).clock, since, told)
        self._observe(version)

    def _observe(self, version: int) -> None:
        self.judge.observe(self._manifest(version), self.present)

    def _manifest(self, version: int) -> Manifest:
        manifest = ManifestLog(self.plain).latest()
        assert manifest is not None
        assert manifest.version == version, f"version {manifest.version}, not {version}"
        return manifest

    # -- between batches --------------------
    def _restart(self, event: events.Restart) -> None:
        self.present = (self.present | event.join) - event.leave
        self.judge.change(event.join, event.leave)
        self._drop_run()
        self.slots = event.slots
        self._until_done(lambda run: None)

    def _rescale(self, event: events.Rescale) -> None:
        self._until_done(lambda run: run.rescale(event.slots))

    def _move(self, event: events.Move) -> None:
        self._until_done(lambda run: scatter_next(random.Random(event.seed), run, event.splits))

    def _disturb(self, event: events.Disturb) -> None:
        self.disturbance = event
        self._until_done(lambda run: run.disturb(event, self.files, self.seen))

    def _arm(self, event: events.Arm) -> None:
        self.files.arm(event.fault)

    def _compact(self, event: events.Compact) -> None:
        policy = Retention(event.retain, event.keep, event.step, event.fanout, grace=event.grace)
        if event.retain is not None:
            self.judge.expire(self.clock.seconds - event.retain)

        def compact(run: SimulatedRun) -> None:
            self.files.stamp()
            try:
                done = run.driver.housekeeping.compact(policy)
            except CheckpointError:  # as its thread does: said, and tried again another time
                if self.files.hit is None:
                    raise
                self._note_fault()
                return
            for what in ("moved", "merged", "expired", "deleted"):
                self.seen[f"compaction: {what}"] += getattr(done, what) > 0

        self._until_done(compact)

    def _fail_sink(self, event: events.SinkFails) -> None:
        self.sink_fails = event.times

    def _read(self, event: events.Read) -> None:
        self.judge.read_on()

    def _wait(self, event: events.Wait) -> None:
        self._sleep(event.seconds)

    # -- life --------------------
    def _open(self) -> SimulatedRun:
        if self.run is None:
            self.since, scenario = self.now, self.scenario
            directory = Directory(f"{self.folder}/out", "parquet")
            directory._store = Store(f"{self.folder}/out", self.files)
            self.run = run = SimulatedRun(
                script_of(scenario, self.present),
                self.slots,
                scenario.tasks,
                self.store,
                getattr(scenario.case, "user", None),
                clock=self.clock,
                bounds={name: partial(self._tell, stream) for stream, name in scenario.beside.items()},
                tables=getattr(scenario.case, "tables", None),
                sinks=(Callback(self._take), directory),
                limits=scenario.limits,
            )
            self.slots = None
            self.judge.columns |= {q: run.graph.relations[q].columns for q in self.present}
            if self.disturbance is not None:
                run.disturb(self.disturbance, self.files, self.seen)
        return self.run

    def _until_done(self, act: Callable[[SimulatedRun], object]) -> int:
        """Do it, in as many processes as that takes; when the one began that committed, if one did."""
        since = None
        for _ in range(_STARTS):
            try:
                act(self._open())
                return self.since if since is None else since
            except ProcessEnded:
                self._note_fault()
            except (CheckpointError, SinkError) as error:
                if self.files.hit is not None:
                    self._note_fault()
                elif isinstance(error, SinkError):
                    self.seen["run that a sink ends"] += 1
                    self._drop_run()
                else:
                    raise
            if since is None and self._is_ahead():
                since = self.since
        raise AssertionError(f"not done in {_STARTS} starts")

    def _note_fault(self) -> None:
        """Something has happened; the run is over, and the disk is as it leaves it."""
        kind = self.files.hit
        assert kind is not None, "a process ended without a fault"
        self.seen[f"fault: {kind.value}"] += 1
        self.files.hit = None
        self._drop_run()
        self.files.restart()
        if kind is FaultKind.POWER:
            self.files.cut_power(self.rng)
        self.judge.look_after(kind.value)

    def _drop_run(self) -> None:
        run, self.run = self.run, None
        if run is not None:
            with suppress(ProcessEnded):
                run.close()
            connection.reset()

    def _sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)

    # -- beside the run --------------------
    def _told(self) -> dict[str, Any]:
        return {stream: each[self.pushed] for stream, each in self.scenario.told.items()}

    def _tell(self, stream: str) -> Any:
        """What is told beside a stream: from when the batch under way is committed, what comes after it."""
        return self.scenario.told[stream][self.pushed + (self.pushing and self._is_ahead())]

    def _is_ahead(self) -> bool:
        """Whether the batch under way is committed."""
        latest = ManifestLog(self.plain).latest()
        return latest is not None and latest.version > self.judge.version

    def _take(self, query: str, version: int, table: pa.Table) -> None:
        self.judge.take(query, version, rows_of(table))
        if self.sink_fails:
            self.sink_fails -= 1
            self.seen["sink that raises"] += 1
            raise ConnectionError("the other side is gone")

    def _finish(self) -> None:
        """Whoever has missed something is given it; then everything is compared."""
        self.files.arm(None)
        self.sink_fails = 0
        self._drop_run()
        run = self._open()
        self.files.stamp()
        run.driver.housekeeping.compact(Retention(keep=2, step=10**9, grace=0.0))
        self._drop_run()
        self.judge.sum_up(self.seen)


_PLAY: dict[type, Callable[[World, Any], None]] = {
    events.Push: World._push,
    events.Flush: World._flush,
    events.Beat: World._beat,
    events.Restart: World._restart,
    events.Rescale: World._rescale,
    events.Move: World._move,
    events.Disturb: World._disturb,
    events.Arm: World._arm,
    events.Compact: World._compact,
    events.SinkFails: World._fail_sink,
    events.Read: World._read,
    events.Wait: World._wait,
}


def script_of(scenario: Scenario, present: frozenset[str]) -> str:
    """The text of the set with these queries."""
    gone = scenario.case.queries.keys() - present
    lines = scenario.case.script.splitlines()
    return "\n".join(line for line in lines if not any(line.startswith(f"CREATE QUERY {q} ") for q in gone))


@contextmanager
def _set_up(scenario: Scenario) -> Iterator[None]:
    """Names that the seed decides, and rows that wait."""
    names = random.Random(f"names {scenario.seed}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=names.getrandbits(128)))
        if scenario.waits is not None:
            defer_randomly(random.Random(scenario.waits), patch)
        yield


def play(scenario: Scenario, folder: str) -> Counter[str]:
    """Play a scenario in an empty folder."""
    return World(scenario, folder).play()


__all__ = ["Event", "World", "play", "script_of"]
