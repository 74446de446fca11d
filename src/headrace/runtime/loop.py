"""The micro-batch loop on Spark: plan, run, commit (DESIGN §3.1 and §5).

Spark plans a batch, writes its offsets and calls us. One job does the batch: projection, source stage,
exchange, slots, and as many more exchanges as the query graph has levels. What comes back are the tasks'
reports; the driver publishes them as the next manifest, and only then does Spark commit the batch. A batch Spark
replays finds its id in the last manifest and does nothing; a batch that was never published leaves files that no
manifest names.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.arguments import checked
from headrace.coordinator.committed_results import Results
from headrace.coordinator.delivery import blame
from headrace.coordinator.driver import Driver
from headrace.coordinator.epoch import Epoch
from headrace.coordinator.slot_follower import files_reach_limit, is_behind
from headrace.errors import CheckpointError, HeadraceError, OptionError
from headrace.kernels import payloads
from headrace.kernels.scan import Scan, name_folder, split_by_folder, split_files
from headrace.optimizer import Plan
from headrace.program.messages import Orders, Split
from headrace.report.model import BatchReport
from headrace.runtime.file_schemas import FileSchemas
from headrace.runtime.idle_gate import IdleGate
from headrace.runtime.orders import send_orders
from headrace.runtime.result_frame import read_by
from headrace.runtime.source_frame import Projection, files_of, layout_of, list_files, unite_streams
from headrace.runtime.spark_faults import explain_error, quiet
from headrace.runtime.tasks import scan_task, slot_task, source_task
from headrace.sources.offset_log import flush_offset_log
from headrace.state import Manifest
from headrace.state.set_requests import SetChange, request_change

KEPT_REPORTS = 10_000


class Scans(NamedTuple):
    """How tasks read the files of all streams (None: Spark reads), and how slots those of folders they own."""

    shared: tuple[Scan, ...] | None
    own: tuple[Scan, ...] | None


class Run:
    """A running query set. Made by `Session.start`."""

    def __init__(
        self,
        spark: SparkSession,
        driver: Driver,
        make_scans: Callable[[Plan], Scans],
        schemas: FileSchemas,
        on_batch: Callable[[BatchReport], object] | None = None,
    ) -> None:
        self.spark, self.driver, self._make_scans, self._schemas = spark, driver, make_scans, schemas
        self._trigger = driver.options.trigger
        self.reports: deque[BatchReport] = deque(maxlen=KEPT_REPORTS)
        self._on_batch, self._flush = on_batch, self._trigger.flush
        self._error: BaseException | None = None
        self._query: Any = None
        self._prepared: dict[tuple[int, int], DataFrame] = {}  # by number of slots and of tasks, the last one only
        self._ended = False
        self._stopping = self._interrupted = False
        self._in_batch = threading.Lock()
        self._beats: threading.Thread | None = None
        self._gate: IdleGate | None = None
        self._silenced = threading.Event()  # no more heartbeats
        self._idle_since = time.monotonic()
        self._ending = threading.Lock()
        self._enter(driver.epoch)

    def _enter(self, epoch: Epoch) -> None:
        """What Spark computes and tasks read for the set of an epoch. Its source is the same in all of them."""
        self._epoch, self._prepared = epoch, {}
        scans = self._make_scans(epoch.plan)
        self.scans, self.own = scans.shared, scans.own
        self._projection = Projection(epoch.plan, epoch.program)

    @property
    def manifest(self) -> Manifest:
        """What is committed."""
        return self.driver.manifest

    def __repr__(self) -> str:
        batches = f"batch {self.reports[-1].batch_id} committed" if self.reports else "no batch yet"
        state = "running" if self.active else "ended"
        return f"<headrace Run: {state}, {batches}; queries {', '.join(self.driver.graph.queries)}; {self.driver.store.uri}>"

    def __dir__(self) -> list[str]:
        """What a user's program calls; the rest is of the machine."""
        return ["active", "change", "late", "progress", "reports", "rescale", "results", "stop", "wait"]

    # -- life --------------------
    def start(self, frames: dict[str, DataFrame], folders: Sequence[str] = ()) -> None:
        """Start the query; `folders` are those that hold all its files, if that is where rows come from."""
        try:
            with quiet():
                self._tasks = max(1, self.spark.sparkContext.defaultParallelism)
                self._prepare(self.driver.slots)
                source = unite_streams(self.driver.graph, frames) if self.scans is None else list_files(frames)
                writer = source.writeStream.foreachBatch(self._foreach)
                writer = writer.option("checkpointLocation", f"{self.driver.store.uri.rstrip('/')}/spark")
                self._query = self._set_trigger(writer).start()
                self._start_heartbeats()
                if self._beats is None and not self._trigger.available_now and not self._trigger.interval:
                    self._gate = IdleGate(self._query, folders, lambda: self._idle_since, self.driver.options.limits)
        except Exception as e:
            raise explain_error(e, None, outside=True) from e

    def _set_trigger(self, writer: Any) -> Any:
        if self._trigger.available_now:
            return writer.trigger(availableNow=True)
        return writer.trigger(processingTime=f"{self._trigger.interval} milliseconds") if self._trigger.interval else writer

    @checked
    def wait(self, timeout: float | None = None) -> bool:
        """Until the run ends by itself (all input drained, or a failure); True if it has ended."""
        try:
            with quiet():
                if timeout is None:
                    self._query.awaitTermination()
                elif not self._query.awaitTermination(timeout):
                    return False
        except Exception as e:
            if not self._interrupted:
                self._end(flush=False)
                raise self._explain(e) from (self._error or e)
        if self._error is not None and not self._interrupted:  # a heartbeat's; a batch's comes as an exception
            self._end(flush=False)
            raise self._explain(RuntimeError()) from self._error
        self._end(flush=self._flush, drain=True)
        return True

    def stop(self) -> None:
        """Stop after the batch under way."""
        if self._ended:
            return
        try:
            with self._in_batch:
                self._stopping = True
            self._open_gate()
            with quiet():
                self._query.stop()
            failed = self._query.exception() is not None and not self._interrupted
        except Exception as e:
            self._end(flush=False)
            raise self._explain(e) from e
        self._end(flush=self._flush and not failed, drain=not failed)

    def _explain(self, error: Exception) -> HeadraceError:
        """An error of the batch under way: ours, or Spark's own before it called us."""
        return explain_error(self._error or error, self.manifest.version + 1, outside=self._error is None)

    @checked
    def rescale(self, slots: int) -> None:
        """Go on with another number of slots from the next batch on; nothing is stopped, copied or lost."""
        if self._ended:
            raise OptionError("the run has ended; give the number of slots to the next one")
        self.driver.rescale(slots)

    @checked
    def change(self, add: str = "", drop: str | Sequence[str] = ()) -> None:
        """Go on with another set from the next batch on: `add` are CREATE QUERY and CREATE TABLE statements, `drop` names of
        queries. What does not fit is refused here, and nothing changes. Whoever starts the set again says what it is then.
        """
        if self._ended:
            raise OptionError("the run has ended; start the set as it is to be")
        change = SetChange(add, (drop,) if isinstance(drop, str) else tuple(drop))
        with self._in_batch:
            self.driver.plan_change(change)
        request_change(self.driver.store, change)

    @property
    def active(self) -> bool:
        return not self._ended and bool(self._query.isActive)

    def _end(self, flush: bool, drain: bool = False) -> None:
        with self._ending:
            if self._ended:
                return
            self._silenced.set()
            self._open_gate()
            if self._beats is not None:
                self._beats.join()
            try:
                if flush or (drain and self.manifest.waiting):
                    self._run_last(flush)
            finally:
                self._ended = True
                self.driver.close()

    def _open_gate(self) -> None:
        """Hold Spark no more."""
        if self._gate is not None:
            self._gate.close()

    # -- one batch --------------------
    def _foreach(self, frame: DataFrame, batch_id: int) -> None:
        with self._in_batch:
            if batch_id <= self.manifest.batch_id:
                return  # committed before a crash; Spark is only catching up with its own log
            if self._stopping:
                self._interrupted = True
                raise InterruptedError("the run was stopped before this batch")
            try:
                self._refuse_gap(batch_id)
                self.driver.input_watch.look_for_files(batch_id)
                orders = self._make_orders()
                follower = self.driver.follower
                if follower is not None:
                    self._tasks = follower.cores
                    follower.backlog = is_behind(self._query.lastProgress) if self._query is not None else False
                if self.scans is None:
                    frame = self._schemas.arrange(frame, f"batch {self.manifest.version + 1}: ")
                    rows = frame.selectExpr(*self._projection.select_list(orders))
                    task = source_task(self.driver.program, layout_of(self.driver.plan))
                    sent = rows.mapInArrow(task, payloads.EXCHANGE)
                    self._finish(self._stages(sent, orders.slots), orders, batch_id)
                else:
                    files = files_of(frame, [scan.folder for scan in self.scans])
                    if follower is not None:
                        follower.backlog |= files_reach_limit(self.driver.graph, files)
                    orders = replace(orders, splits=split_files(files, self._tasks), own_splits=self._split_own(files, orders))
                    self._finish(self._prepare(orders.slots), orders, batch_id)
            except BaseException as e:
                self._error = e
                raise

    def _make_orders(self, flush: bool = False) -> Orders:
        orders = self.driver.make_orders(flush)
        self._follow_epoch()
        return orders

    def _follow_epoch(self) -> None:
        if self.driver.epoch is not self._epoch:
            self._enter(self.driver.epoch)

    def _split_own(self, files: list[tuple[int, str, int]], orders: Orders) -> tuple[tuple[Split, ...], ...]:
        """The files that slots read by themselves."""
        if self.own is None:
            return ()
        names = [name_folder(self.own[scan], path) for scan, path, _ in files if self.own[scan].by is not None]
        return split_by_folder(files, self.own, self.driver.number_folders(names), orders.route, orders.slots)

    def _prepare(self, slots: int) -> DataFrame:
        """The plan of every batch of files, and of a flush, made once for a number of slots. It is run through `select`: that
        makes a new physical plan, and new shuffles, of the same logical one.
        """
        key = slots, self._tasks
        if key not in self._prepared:
            numbers = self.spark.range(0, self._tasks, 1, self._tasks)
            task = scan_task(self.driver.program, self.scans or ())
            self._prepared = {key: self._stages(numbers.mapInArrow(task, payloads.EXCHANGE), slots)}
        return self._prepared[key].select("*")

    def _stages(self, sent: DataFrame, slots: int) -> DataFrame:
        """What the source stage sends, through as many exchanges and slots as there are levels."""
        for level in range(len(self.driver.program.levels)):
            sent = sent.repartitionById(slots, F.col("slot"))
            own = self.own if level == 0 else None
            sent = sent.mapInArrow(slot_task(self.driver.program, level, own), payloads.EXCHANGE)
        return sent

    def _refuse_gap(self, batch_id: int) -> None:
        last, uri = self.manifest.batch_id, self.driver.store.uri
        if batch_id > last + 1:
            raise CheckpointError(
                f"checkpoint {uri}: Spark's log says that batch {batch_id - 1} is done, but the last batch "
                f"committed here is {last}; going on would lose the rows between. Restore the manifests, or delete the "
                f"files after {last} in {uri}/spark/commits and in spark/offsets those after {last + 1}, and "
                "start again"
            )

    # -- heartbeats --------------------
    def _start_heartbeats(self) -> None:
        """Spark does not call us while nothing comes; then a thread of ours looks at the clock (document 003 §8.1), and after
        rows that wait.
        """
        idle = [s.idle for s in self.driver.program.streams if s.idle is not None]
        defer = self.driver.options.defer
        if (not idle and defer is None) or self._trigger.available_now:
            return
        silence = min(idle) / 1e6 + self._trigger.seconds if idle else math.inf  # Spark looks no sooner
        pause = min(silence, math.inf if defer is None else defer / 1e6) / 4
        self._beats = InheritableThread(target=self._beat, args=(silence, min(max(pause, 0.05), 5.0)), daemon=True)
        self._beats.start()

    def _beat(self, silence: float, pause: float) -> None:
        while not self._silenced.wait(pause):
            quiet_for = time.monotonic() - self._idle_since
            if (quiet_for < silence and not self.driver.is_overdue()) or not self._in_batch.acquire(blocking=False):
                continue
            try:
                if self._stopping or self._query.lastProgress is None:  # Spark has not looked for rows yet
                    continue
                told = self.driver.told
                orders = self.driver.make_heartbeat()
                self._follow_epoch()
                if orders is not None:
                    self._finish(self._prepare(orders.slots), orders, self.manifest.batch_id)
                elif told != self.driver.told:  # Spark must have looked for rows after that was told
                    self._idle_since = time.monotonic()
            except Exception as e:
                if not self._silenced.is_set() and not self._stopping:
                    self._error = e
                    with suppress(Exception):
                        self._query.stop()
                return
            finally:
                self._in_batch.release()

    def _run_last(self, flush: bool) -> None:
        """A batch without rows, that takes those that wait and, in a flush, closes every window."""
        if flush and not self.driver.can_flush():
            return
        try:
            orders = self._make_orders(flush)
            self._finish(self._prepare(orders.slots), orders, self.manifest.batch_id)
        except Exception as e:
            raise explain_error(e, None) from e

    def _finish(self, job: DataFrame, orders: Orders, batch_id: int) -> None:
        """Run and commit."""
        started = time.time()
        with send_orders(self.spark, self.driver.program, orders):
            reports = [payloads.read_message(bytes(r["payload"])) for r in job.collect()]
        flush_offset_log(self.driver.store, batch_id)
        report = self.driver.commit(orders, reports, batch_id, started, time.time() - started)
        self._idle_since = time.monotonic()
        self.reports.append(report)
        if self._on_batch is not None:
            with blame("on_batch", report.batch_id, "on_batch is called for the batches after it"):
                self._on_batch(report)

    # -- reading --------------------
    def progress(self) -> BatchReport | None:
        """The report of the last committed batch of this run."""
        return self.reports[-1] if self.reports else None

    @checked
    def results(self, name: str) -> Results:
        """The committed results of a query."""
        return self.driver.results(name, read_by(lambda: self.spark))

    @checked
    def late(self, stream: str) -> Results:
        """The late and unusable rows of a stream, with the reason."""
        return self.driver.late(stream, read_by(lambda: self.spark))
