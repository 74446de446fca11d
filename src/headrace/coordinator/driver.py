"""The driver: what happens before the first batch and between two batches, whoever runs the tasks.

`open_driver` takes the checkpoint's lock, reconciles the query set with the one the checkpoint holds, plans it and
makes the program. A `Driver` then gives the orders of the next batch and, when its tasks have reported, publishes
the next manifest in one atomic step, hands results to sinks and removes what nobody needs. A batch exists when its
manifest does; files of attempts that were never published are named by no manifest.

Spark's loop (`loop.py`) and the in-process runner of `headrace.testing` differ only in how tasks are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.coordinator.balancer import Balancer
from headrace.coordinator.batch_report import make_report
from headrace.coordinator.change_set import plan_change
from headrace.coordinator.commit import (
    BatchInput,
    TaskTerms,
    brings_results,
    can_flush,
    make_first_manifest,
    make_manifest,
    make_orders,
)
from headrace.coordinator.committed_results import Results, schema_of
from headrace.coordinator.delivery import Delivery
from headrace.coordinator.epoch import Epoch, plan_epoch
from headrace.coordinator.epoch_record import load_record
from headrace.coordinator.folder_watch import FolderWatch
from headrace.coordinator.housekeeping import Housekeeping
from headrace.coordinator.input_watch import InputWatch
from headrace.coordinator.measured_rates import check_new
from headrace.coordinator.reconcile_set import take_over
from headrace.coordinator.run_options import Engine, RunOptions
from headrace.coordinator.slot_follower import SlotFollower
from headrace.coordinator.table_versions import TableVersions
from headrace.errors import HeadraceError, InternalError, OptionError
from headrace.logical.graph import Graph
from headrace.optimizer import Plan
from headrace.program.dealt_tables import find_dealt_tables
from headrace.program.fold_progress import fold_progress
from headrace.program.messages import Deferral, Orders, SlotReport
from headrace.program.program import Program
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.progress import Observation
from headrace.report.model import BatchReport
from headrace.sql.error_places import suggest
from headrace.state import CheckpointLock, Manifest, ManifestLog, Store, protect_checkpoint
from headrace.state.folder_numbers import spread_number
from headrace.state.set_requests import SetChange, read_changes
from headrace.state.slot_requests import AUTO, SlotRequests, forget_requests, read_requests, request_slots

_ONE_FOLDER = (
    "partitioned by: all files came in one folder, so one slot reads them all. Put each part of the stream into "
    "a folder of its own, or begin a new checkpoint: a run that finds the files so exchanges their rows"
)


class Driver:
    """A query set on its checkpoint. Made by `open_driver`; `close` gives the checkpoint back."""

    def __init__(
        self,
        store: Store,
        lock: CheckpointLock,
        log: ManifestLog,
        epoch: Epoch,
        slots: int,
        options: RunOptions,
        engine: Engine,
    ) -> None:
        self.store, self.lock, self.log = store, lock, log
        self.slots, self.options, self.engine = slots, options, engine
        self.manifest: Manifest = log.latest() or make_first_manifest(epoch.program, slots)
        self.delivery = Delivery(store, log, list(engine.sinks), engine.clock)
        self.housekeeping = Housekeeping(store, lock.check, engine.clock)
        self._retention = replace(options.limits.compaction, retain=options.retain)
        self._unneeded: set[str] = set()  # state that only the version before the last still names
        self._since = engine.clock.now()
        self.told: Mapping[str, Observation] = {}  # since before the next batch was planned
        self.follower: SlotFollower | None = None  # chooses the number of slots, until somebody asks for one
        if options.slots == AUTO and engine.read_capacity is not None:
            self.follower = SlotFollower(engine.read_capacity, epoch.program.pids, options.trigger.seconds)
        self._requests = SlotRequests()
        self._taken: tuple[str, ...] = ()  # requests for another set
        self._notes: tuple[str, ...] = ()  # for the report of the next batch
        self._warned = False  # of files in one folder
        self._new_folders: tuple[str, ...] = ()  # of the batch under way
        self._enter(epoch)

    def _enter(self, epoch: Epoch) -> None:
        """Go on with another set, or with the first: what is known of rates, tables and folders by set begins anew."""
        self.epoch, program, options = epoch, epoch.program, self.options
        self._born = {n: b for n, b in epoch.record.born.items() if b is not None}
        dealt = find_dealt_tables(program)
        self.balancer = Balancer(options.balance, not program.keeps_folders(), dealt, options.limits.named_rows)
        self.folder_watch = FolderWatch(program)
        self.input_watch = InputWatch(self.store, epoch.graph)
        self.tables: TableVersions | None = None  # None: the set reads no static table
        deferral = None
        if options.defer is not None:
            deferral = Deferral(options.defer, options.limits.waiting_bytes, least=options.limits.least_rows)
            self.balancer.stop_dealing()
            obstacle = find_waiting_obstacle(program)
            if obstacle is not None:
                self._notes += (f"defer: no row waits in this set, because {obstacle}",)
        engine = self.engine
        self._terms = TaskTerms(engine.memory, engine.scratch, options.preaggregate, deferral, options.limits)

    @property
    def plan(self) -> Plan:
        return self.epoch.plan

    @property
    def program(self) -> Program:
        return self.epoch.program

    @property
    def graph(self) -> Graph:
        return self.epoch.graph

    def plan_change(self, change: SetChange) -> Epoch:
        """The epoch after a change of the set; refuses what does not fit, and changes nothing."""
        if not self.manifest.version:
            raise OptionError("the set can be changed when its first batch is committed; until then start with another set")
        return plan_change(self.store, self.epoch, self.manifest, change, self.engine, self.options)

    def change_to(self, epoch: Epoch) -> None:
        """From the next batch on the set is another. It is true with the manifest of that batch: who dies before it leaves
        the set as it was.
        """
        added = [name for name in epoch.queries if name not in self.epoch.queries]
        dropped = [name for name in self.epoch.queries if name not in epoch.queries]
        if not added and not dropped:
            return
        before = self.epoch
        try:
            self._enter(epoch)
            self._read_tables()
        except BaseException:
            self._enter(before)
            self._read_tables()
            raise
        said = [f"{verb} {', '.join(names)}" for verb, names in (("adds", added), ("drops", dropped)) if names]
        self._notes += (f"the set changes with this batch: it {' and '.join(said)}",)

    def _take_changes(self) -> None:
        """Change the set as was requested; what does not fit is refused in the report of the batch."""
        for path, change in read_changes(self.store):
            if path not in self._taken:
                self._taken += (path,)
                try:
                    if isinstance(change, str):
                        raise OptionError(change)
                    self.change_to(self.plan_change(change))
                except HeadraceError as error:
                    self._notes += (f"{path} was refused: {error}",)

    def make_orders(self, flush: bool = False) -> Orders:
        """The orders of the next batch."""
        self._take_changes()
        self._requests = read_requests(self.store)
        if self._requests.slots is not None:
            self.slots, self.follower = self._requests.slots, None
        elif self.follower is not None:
            self.slots = self.follower.choose(self.manifest.slots)
        now = self.engine.clock.now()
        tables = self.tables.choose(self.manifest.version + 1, now) if self.tables is not None else {}
        route = self.balancer.choose_route(self.manifest, self.slots)
        seen = BatchInput(route, self.slots, now, self._since, flush, self.told, tables, self.balancer.hot)
        return make_orders(self.manifest, self.program, self.store, self._born, seen, self._terms)

    def number_folders(self, names: Iterable[str]) -> dict[str, int]:
        """The mini-partition of every folder of sources; new ones get the next numbers, for good with the next manifest."""
        known = (*self.manifest.folders, *self._new_folders)
        self._new_folders += tuple(sorted(set(names) - set(known)))
        known = (*self.manifest.folders, *self._new_folders)
        return {name: spread_number(number, self.program.pids) for number, name in enumerate(known)}

    def is_overdue(self) -> bool:
        """Whether rows have waited as long as they may, and no batch came that took them."""
        limit = self.options.defer or 0
        return any(self.engine.clock.now() >= one.since + limit for one in self.manifest.waiting.values())

    def rescale(self, slots: int) -> None:
        """Go on with another number of slots from the next batch on."""
        request_slots(self.store, slots)

    def begin(self) -> None:
        """The run begins: sinks are given what they have missed, tables are read for the first time."""
        self.epoch.save(self.store)
        self.delivery.catch_up()
        self._read_tables()
        self._listen()

    def _read_tables(self) -> None:
        """Read the static tables of the set for the first time."""
        looked_up = [self.graph.tables[use.table] for use in self.program.static_tables()]
        if looked_up:
            reader, limits = self.engine.tables, self.options.limits
            assert reader is not None
            self.tables = TableVersions(
                self.store, looked_up, self.program, reader, self.manifest.tables, limits, self.engine.memory
            )
            self.tables.choose(self.manifest.version + 1, self.engine.clock.now())

    def _listen(self) -> None:
        """Silence counts from now on, and what is told beside the streams is read. A batch that Spark has planned already must
        not be bound by what was told after.
        """
        self._since = self.engine.clock.now()
        if not self.store.exists(f"spark/offsets/{self.manifest.batch_id + 1}"):
            self._read_bounds()

    def _read_bounds(self) -> None:
        self.told = self.engine.read_bounds()

    def make_heartbeat(self) -> Orders | None:
        """The orders of a batch without rows, if rows wait, or if the clock or what was told completes a window. Otherwise what
        is told is read again, for the next time.
        """
        orders = self.make_orders()
        if orders.waiting or brings_results(self.program, orders, fold_progress(self.program, orders, ())):
            return orders
        self._read_bounds()
        return None

    def can_flush(self) -> bool:
        """Whether anything came that a flush could close."""
        return can_flush(self.manifest)

    def commit(
        self, orders: Orders, reports: Sequence[SlotReport], batch_id: int, started: float, ran: float
    ) -> BatchReport:
        """Publish what the tasks of a batch did; then it has happened."""
        answers = len({(r.level, r.slot) for r in reports if r.version == orders.version})
        if answers not in (0, orders.slots * len(self.program.levels)):  # no row, no answer
            raise InternalError(f"batch {orders.version}: {answers} slots of {orders.slots} answered")
        self.folder_watch.check(reports, self.number_folders(()))
        manifest = self.input_watch.count_files(
            make_manifest(self.manifest, self.program, orders, reports, batch_id)
        )
        load = self.balancer.read(reports, orders)
        labels = {node.name: node.label for node in self.program.nodes}
        notes = (*self._requests.refused, *self._notes, *self.balancer.describe(orders, reports, labels))
        manifest = replace(manifest, epoch=self.epoch.path, folders=(*manifest.folders, *self._new_folders))
        if self.slots > 1 and manifest.folders == ("",) and not self._warned:
            self._warned = True
            notes += (_ONE_FOLDER,)
        notes += tuple(self.input_watch.explain_rejected(self.manifest, manifest))
        if self.tables is not None:
            notes += tuple(self.tables.notes())
        if self.follower is not None:
            notes += self.follower.describe(self.manifest.slots)
        report = make_report(
            self.graph, self.program, self.manifest, manifest, reports, started, ran, load, notes
        )
        manifest = replace(
            manifest, report=report.to_json(), load=load.to_json(), created_at=self.engine.clock.seconds
        )
        self.lock.check()
        self.epoch.save(self.store)
        self.log.publish(manifest)
        before, self.manifest, self._notes, self._new_folders = self.manifest, manifest, (), ()
        self.balancer.observe(load)
        if self.follower is not None:
            self.follower.observe(load.seen, report.rows, report.seconds)
        for path in (*self._requests.paths, *self._taken):
            self.store.delete(path)
        self._requests, self._taken = SlotRequests(), ()
        self.delivery.deliver(manifest)
        self._tidy(before)
        self._read_bounds()
        return report

    def _tidy(self, before: Manifest) -> None:
        """Segments, tables and epochs go when neither the last version nor the one before it names them."""
        for gone in sorted(self._unneeded):
            self.store.delete(gone)
        self._unneeded = _named_state(before) - _named_state(self.manifest)
        if self.housekeeping.changed.is_set():
            self.housekeeping.changed.clear()
            self.log.refresh()
        if self.manifest.version % self.options.limits.compact_every == 0:
            self.compact()

    def compact(self) -> None:
        """Keep the checkpoint small."""
        if self.engine.in_background:
            self.housekeeping.start(self._retention)
        else:
            self.housekeeping.compact(self._retention)

    def close(self) -> None:
        self.housekeeping.close()
        self.lock.release()

    # -- reading --------------------
    def results(self, name: str, make_frame: Callable[[Results], Any] | None = None) -> Results:
        """The committed results of a query."""
        if name not in self.epoch.record.schemas:
            raise OptionError(f"there is no query {name!r}." + suggest(name, self.epoch.record.schemas))
        return Results(
            self.log, lambda: self.log.results(name), schema_of(self.epoch.record.schemas[name]), make_frame, name
        )

    def late(self, stream: str, make_frame: Callable[[Results], Any] | None = None) -> Results:
        """The late and unusable rows of a stream, with the reason."""
        if stream not in self.epoch.record.late_schemas:
            raise OptionError(f"there is no stream {stream!r}")
        return Results(
            self.log, lambda: self.log.late(stream), schema_of(self.epoch.record.late_schemas[stream]), make_frame
        )


def open_driver(store: Store, graph: Graph, engine: Engine, options: RunOptions) -> Driver:
    """The driver of a set on the checkpoint in `store`, which is ours alone from here on."""
    protect_checkpoint(store, options.share)
    lock = CheckpointLock(store)
    lock.acquire()
    try:
        log = ManifestLog(store)
        latest = log.latest()
        if options.rates_from is not None:
            check_new(store, latest)
        old = load_record(store, latest)
        if latest is None:
            take_over(store, old, graph)
            old = None
        engine.check(latest)
        epoch = plan_epoch(store, old, None if latest is None else latest.epoch, latest, graph, engine, options)
        slots = options.wanted_slots
        if options.slots is not None:
            forget_requests(store)
        if slots is None:
            slots = latest.slots if latest is not None else engine.usual_slots
        return Driver(store, lock, log, epoch, slots, options, engine)
    except BaseException:
        lock.release()
        raise


def _named_state(manifest: Manifest) -> set[str]:
    named = {m.path for m in manifest.segments} | {path for t in manifest.tables.values() for path in t.paths}
    return named | ({manifest.epoch} if manifest.version else set())
