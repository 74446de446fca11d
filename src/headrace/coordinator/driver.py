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

from headrace.coordinator import plan_file
from headrace.coordinator.balancer import Balancer
from headrace.coordinator.batch_report import make_report
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
from headrace.coordinator.continue_plan import continue_settings, restore_order
from headrace.coordinator.delivery import Delivery
from headrace.coordinator.folder_watch import FolderWatch
from headrace.coordinator.housekeeping import Housekeeping
from headrace.coordinator.input_watch import InputWatch
from headrace.coordinator.run_options import Engine, RunOptions
from headrace.coordinator.slot_follower import SlotFollower
from headrace.coordinator.table_versions import TableVersions
from headrace.errors import InternalError, OptionError
from headrace.logical.graph import Graph
from headrace.optimizer import Plan, optimize
from headrace.physical.lower import lower
from headrace.program.dealt_tables import find_dealt_tables
from headrace.program.fold_progress import fold_progress
from headrace.program.messages import Absorb, Orders, SlotReport
from headrace.program.program import Program
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.progress import Observation
from headrace.report.model import BatchReport
from headrace.sql.error_places import suggest
from headrace.state import CheckpointLock, Manifest, ManifestLog, Store, protect_checkpoint
from headrace.state.folder_numbers import spread_number
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
        plan: Plan,
        program: Program,
        file: plan_file.PlanFile,
        slots: int,
        options: RunOptions,
        engine: Engine,
    ) -> None:
        self.store, self.lock, self.log, self.file = store, lock, log, file
        self.plan, self.program, self.slots = plan, program, slots
        self.options, self.engine = options, engine
        self.manifest: Manifest = log.latest() or make_first_manifest(program, slots)
        self.delivery = Delivery(store, log, list(engine.sinks))
        self.housekeeping = Housekeeping(store, lock.check)
        self._retention = replace(options.limits.compaction, retain=options.retain)
        self._born = {n: b for n, b in file.born.items() if b is not None}
        self._unneeded: set[str] = set()  # segments the version before the last still names
        self.tables: TableVersions | None = None  # None: the set reads no static table
        self._since = engine.clock()
        self.told: Mapping[str, Observation] = {}  # since before the next batch was planned
        splits = not program.keeps_folders()
        dealt = find_dealt_tables(program)
        self.balancer = Balancer(options.balance, splits, dealt, options.limits.named_rows)
        self.follower: SlotFollower | None = None  # chooses the number of slots, until somebody asks for one
        if options.slots == AUTO and engine.read_capacity is not None:
            self.follower = SlotFollower(engine.read_capacity, program.pids, options.trigger.seconds)
        self._requests = SlotRequests()
        self.folder_watch = FolderWatch(program)
        self._notes: tuple[str, ...] = ()  # for the report of the next batch
        self._warned = False  # of files in one folder
        self.input_watch = InputWatch(store, plan.graph)
        absorb = None
        if options.absorb is not None:
            absorb = Absorb(options.absorb, options.limits.waiting_bytes, least=options.limits.least_rows)
            self.balancer.stop_dealing()
            obstacle = find_waiting_obstacle(program)
            if obstacle is not None:
                self._notes += (f"absorb: no row waits in this set, because {obstacle}",)
        self._terms = TaskTerms(engine.memory, engine.scratch, options.preaggregate, absorb, options.limits)

    @property
    def graph(self) -> Graph:
        return self.plan.graph

    def make_orders(self, flush: bool = False) -> Orders:
        """The orders of the next batch."""
        self._requests = read_requests(self.store)
        if self._requests.slots is not None:
            self.slots, self.follower = self._requests.slots, None
        elif self.follower is not None:
            self.slots = self.follower.choose(self.manifest.slots)
        now = self.engine.clock()
        tables = self.tables.choose(self.manifest.version + 1, now) if self.tables is not None else {}
        route = self.balancer.choose_route(self.manifest, self.slots)
        seen = BatchInput(route, self.slots, now, self._since, flush, self.told, tables, self.balancer.hot)
        return make_orders(self.manifest, self.program, self.store, self._born, seen, self._terms)

    def number_folders(self, names: Iterable[str]) -> dict[str, int]:
        """The mini-partition of every folder of sources; new ones get the next numbers, for good."""
        known = {name: number for number, name in enumerate(self.file.folders)}
        new = sorted(set(names) - known.keys())
        if new:
            self.file.folders = [*self.file.folders, *new]
            self.file.save(self.store)
        return {
            name: spread_number(number, self.program.pids) for number, name in enumerate(self.file.folders)
        }

    def is_overdue(self) -> bool:
        """Whether rows have waited as long as they may, and no batch came that took them."""
        limit = self.options.absorb or 0
        return any(self.engine.clock() >= one.since + limit for one in self.manifest.waiting.values())

    def rescale(self, slots: int) -> None:
        """Go on with another number of slots from the next batch on."""
        request_slots(self.store, slots)

    def begin(self) -> None:
        """The run begins: the plan is kept, sinks are given what they have missed, tables are read for the first time."""
        self.file.save(self.store)
        self.delivery.catch_up()
        looked_up = [self.graph.tables[use.table] for use in self.program.static_tables()]
        if looked_up:
            reader, limits = self.engine.tables, self.options.limits
            assert reader is not None
            self.tables = TableVersions(
                self.store, looked_up, self.program, reader, self.manifest.tables, limits, self.engine.memory
            )
            self.tables.choose(self.manifest.version + 1, self.engine.clock())
        self._listen()

    def _listen(self) -> None:
        """Silence counts from now on, and what is told beside the streams is read. A batch that Spark has planned already must
        not be bound by what was told after.
        """
        self._since = self.engine.clock()
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
        if self.slots > 1 and self.file.folders == [""] and not self._warned:
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
        manifest = replace(manifest, report=report.to_json(), load=load.to_json())
        self.lock.check()
        self.log.publish(manifest)
        before, self.manifest, self._notes = self.manifest, manifest, ()
        self.balancer.observe(load)
        if self.follower is not None:
            self.follower.observe(load.seen, report.rows, report.seconds)
        for path in self._requests.paths:
            self.store.delete(path)
        self._requests = SlotRequests()
        self.delivery.deliver(manifest)
        self._tidy(before)
        self._read_bounds()
        return report

    def _tidy(self, before: Manifest) -> None:
        """Segments and tables go when neither the last version nor the one before it names them."""
        for gone in self._unneeded:
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
        if name not in self.file.schemas:
            raise OptionError(f"there is no query {name!r}." + suggest(name, self.file.schemas))
        return Results(
            self.log, lambda: self.log.results(name), schema_of(self.file.schemas[name]), make_frame, name
        )

    def late(self, stream: str, make_frame: Callable[[Results], Any] | None = None) -> Results:
        """The late and unusable rows of a stream, with the reason."""
        if stream not in self.file.late_schemas:
            raise OptionError(f"there is no stream {stream!r}")
        return Results(
            self.log, lambda: self.log.late(stream), schema_of(self.file.late_schemas[stream]), make_frame
        )


def open_driver(store: Store, graph: Graph, engine: Engine, options: RunOptions) -> Driver:
    """The driver of a set on the checkpoint in `store`, which is ours alone from here on."""
    functions = {name.lower(): one for name, one in engine.user.items()}
    protect_checkpoint(store, options.share)
    lock = CheckpointLock(store)
    lock.acquire()
    try:
        old, log = plan_file.load(store), ManifestLog(store)
        latest = log.latest()
        if old is not None and latest is None:
            plan_file.take_over(store, old, graph)
            old = None
        engine.check(latest)
        file = plan_file.reconcile(store, old, graph, engine.time_zone, options.partition_by)
        graph = restore_order(graph, file, functions)
        settings = continue_settings(store, old, file, graph, options.limits)
        settings = replace(settings, user=functions, spark_reads=engine.spark_reads, folders=engine.folders)
        if settings.by_folder is None:
            settings = replace(settings, by_folder=engine.by_folder, flat=engine.flat)
        plan = optimize(graph, engine.make_typer(graph), settings)
        program = lower(plan)
        plan_file.settle(store, file, plan, program, latest)
        slots = options.wanted_slots
        if options.slots is not None:
            forget_requests(store)
        if slots is None:
            slots = latest.slots if latest is not None else engine.usual_slots
        return Driver(store, lock, log, plan, program, file, slots, options, engine)
    except BaseException:
        lock.release()
        raise


def _named_state(manifest: Manifest) -> set[str]:
    return {m.path for m in manifest.segments} | {path for t in manifest.tables.values() for path in t.paths}
