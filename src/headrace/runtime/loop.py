"""The micro-batch loop: plan, run, commit (DESIGN §3.1 and §5).

Spark plans a batch, writes its offsets and calls us. One job does the batch: projection, source stage,
exchange, slots, and as many more exchanges as the query graph has levels. What comes back are the tasks'
META messages; from them the next manifest is made and published in one atomic step, and only then does
Spark commit the batch. A batch Spark replays finds its id in the last manifest and does nothing; a batch
that was never published leaves files that no manifest names.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import CheckpointError, HeadraceError, InternalError, OptionError
from headrace.kernels import codec
from headrace.kernels.commit import batch_after, first_manifest, flush_bound, manifest_of, open_windows
from headrace.kernels.scan import Scan, splits
from headrace.kernels.spec import Program
from headrace.logical.plan import Graph
from headrace.physical.frame import Frame
from headrace.report.model import BatchReport, QueryReport, StreamReport
from headrace.runtime.faults import explained, quiet
from headrace.runtime.frame import files_of, layout_of, listed, projection, united
from headrace.runtime.orders import Orders, given
from headrace.runtime.plan_file import PlanFile
from headrace.runtime.results import Results, schema_of
from headrace.runtime.sinks import Delivery, told
from headrace.runtime.tasks import scan_task, slot_task, source_task
from headrace.state import CheckpointLock, Manifest, ManifestLog, Store, collect_garbage

KEPT_REPORTS = 10_000
COLLECT_EVERY = 50  # batches between two collections of garbage
GRACE = 300.0  # seconds an unnamed file is left alone


class Run:
    """A running query set. Made by `Session.start`."""

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        program: Program,
        frame: Frame,
        plan: PlanFile,
        store: Store,
        lock: CheckpointLock,
        slots: int,
        delivery: Delivery,
        log: ManifestLog,
        scans: tuple[Scan, ...] | None = None,
        on_batch: Callable[[BatchReport], object] | None = None,
        flush: bool = False,
    ) -> None:
        self.spark, self.graph, self.program, self.frame, self.plan = spark, graph, program, frame, plan
        self.store, self.lock, self.slots, self.delivery, self.log = store, lock, slots, delivery, log
        self.layout, self.scans = layout_of(graph, frame), scans
        self.manifest: Manifest = log.latest() or first_manifest(program, slots)
        self.reports: deque[BatchReport] = deque(maxlen=KEPT_REPORTS)
        self._born = {n: b for n, b in plan.born.items() if b is not None}
        self._on_batch, self._flush = on_batch, flush
        self._unneeded: set[str] = set()  # segments the version before the last still names
        self._error: BaseException | None = None
        self._query: Any = None
        self._prepared: Any = None
        self._ended = False
        self._stopping = self._interrupted = False
        self._in_batch = threading.Lock()
        self._ending = threading.Lock()

    # -- life --------------------
    def start(self, frames: dict[str, DataFrame], trigger: dict[str, Any]) -> None:
        try:
            with quiet():
                self._prepared = self._prepare(self.scans or ())
                source = united(self.graph, frames) if self.scans is None else listed(frames)
                writer = source.writeStream.foreachBatch(self._foreach)
                writer = writer.option("checkpointLocation", f"{self.store.uri.rstrip('/')}/spark")
                self._query = (writer.trigger(**trigger) if trigger else writer).start()
        except Exception as e:
            raise explained(e, None, outside=True) from e

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
                raise self._explained(e) from (self._error or e)
        self._end(flush=self._flush)
        return True

    def stop(self) -> None:
        """Stop after the batch under way."""
        if self._ended:
            return
        try:
            with self._in_batch:
                self._stopping = True
            with quiet():
                self._query.stop()
            failed = self._query.exception() is not None and not self._interrupted
        except Exception as e:
            self._end(flush=False)
            raise self._explained(e) from e
        self._end(flush=self._flush and not failed)

    def _explained(self, error: Exception) -> HeadraceError:
        """An error of the batch under way: ours, or Spark's own before it called us."""
        return explained(self._error or error, self.manifest.version + 1, outside=self._error is None)

    @property
    def active(self) -> bool:
        return not self._ended and bool(self._query.isActive)

    def _end(self, flush: bool) -> None:
        with self._ending:
            if self._ended:
                return
            try:
                if flush:
                    self._run_flush()
            finally:
                self._ended = True
                self.lock.release()

    # -- one batch --------------------
    def _foreach(self, frame: DataFrame, batch_id: int) -> None:
        with self._in_batch:
            if batch_id <= self.manifest.batch_id:
                return  # committed before a crash; Spark is only catching up with its own log
            if self._stopping:
                self._interrupted = True
                raise InterruptedError("the run was stopped before this batch")
            try:
                self._no_gap(batch_id)
                batch = batch_after(self.manifest, self.program, self.store, self.slots, self._born)
                if self.scans is None:
                    rows = frame.selectExpr(*projection(self.graph, self.frame, self.program, batch))
                    sent = rows.mapInArrow(source_task(self.program, self.layout), codec.EXCHANGE)
                    self._finish(self._stages(sent), Orders(batch), batch_id)
                else:
                    mine = splits(files_of(frame, len(self.scans)), self._tasks)
                    self._finish(self._prepared.select("*"), Orders(batch, mine), batch_id)
            except BaseException as e:
                self._error = e
                raise

    def _prepare(self, scans: tuple[Scan, ...]) -> DataFrame:
        """The plan of every batch of files, and of a flush. It is run through `select`: that makes a new physical
        plan, and new shuffles, of the same logical one.
        """
        self._tasks = max(1, self.spark.sparkContext.defaultParallelism)
        numbers = self.spark.range(0, self._tasks, 1, self._tasks)
        return self._stages(numbers.mapInArrow(scan_task(self.program, scans), codec.EXCHANGE))

    def _stages(self, sent: DataFrame) -> DataFrame:
        """What the source stage sends, through as many exchanges and slots as there are levels."""
        for level in range(len(self.program.levels)):
            sent = sent.repartitionById(self.slots, F.col("slot"))
            sent = sent.mapInArrow(slot_task(self.program, level), codec.EXCHANGE)
        return sent

    def _no_gap(self, batch_id: int) -> None:
        last = self.manifest.batch_id
        if batch_id > last + 1:
            raise CheckpointError(
                f"checkpoint {self.store.uri}: Spark's log says that batch {batch_id - 1} is done, but the last batch "
                f"committed here is {last}; going on would lose the rows between. Restore the manifests, or delete the "
                f"files after {last} in {self.store.uri}/spark/commits and in spark/offsets those after {last + 1}, and "
                "start again"
            )

    def _run_flush(self) -> None:
        """A batch without rows that closes every window."""
        if flush_bound(self.program, self.manifest.streams) is None:
            return
        batch = batch_after(self.manifest, self.program, self.store, self.slots, self._born, flush=True)
        try:
            self._finish(self._prepared.select("*"), Orders(batch), self.manifest.batch_id)
        except Exception as e:
            raise explained(e, None) from e

    def _finish(self, job: DataFrame, orders: Orders, batch_id: int) -> None:
        """Run, commit, deliver."""
        started, batch = time.time(), orders.batch
        with given(self.spark, orders):
            metas = [codec.read_message(_Buffer(r["payload"])) for r in job.collect()]
        ran = time.time()
        answered = len({(m["level"], m["slot"]) for m in metas if m["version"] == batch.version})
        if answered not in (0, batch.slots * len(self.program.levels)):  # no row, no answer
            raise InternalError(f"batch {batch.version}: {answered} slots of {batch.slots} answered")
        manifest = manifest_of(self.manifest, self.program, batch, metas, batch_id)
        report = self._report(manifest, metas, started, ran - started)
        manifest = replace(manifest, report=report.to_json())
        self.lock.check()
        self.log.publish(manifest)
        before, self.manifest = self.manifest, manifest
        self.reports.append(report)
        self.delivery.deliver(manifest)
        for gone in self._unneeded:
            self.store.delete(gone)
        self._unneeded = {m.path for m in before.segments} - {m.path for m in manifest.segments}
        if manifest.version % COLLECT_EVERY == 0:
            collect_garbage(self.store, self.log, GRACE)
        if self._on_batch is not None:
            with told("on_batch", manifest.version):
                self._on_batch(report)

    def _report(
        self, manifest: Manifest, metas: list[dict[str, Any]], started: float, ran: float
    ) -> BatchReport:
        streams = {}
        for name, state in manifest.streams.items():
            before = self.manifest.streams.get(name)
            streams[name] = StreamReport(
                rows=state.rows - (before.rows if before else 0),
                max_value=state.max_seen,
                low_watermark=state.low_watermark,
                late=state.late - (before.late if before else 0),
                rejected=state.rejected - (before.rejected if before else 0),
                unit=self.graph.streams[name].unit,  # type: ignore[arg-type]
            )
        phases = {"job": ran}
        for key in ("load", "close", "keep"):
            phases[key] = max((m["timings"].get(key, 0.0) for m in metas), default=0.0)
        return BatchReport(
            batch_id=manifest.version,
            rows=sum(s.rows for s in streams.values()),
            seconds=time.time() - started,
            started_at=started,
            streams=streams,
            queries={
                q: QueryReport(sum(f.rows for f in manifest.results.get(q, ()))) for q in self.program.schemas
            },
            open_windows=open_windows(self.program, manifest),
            state_bytes=sum(m.bytes for m in manifest.segments),
            state_rows=sum(m.rows for m in manifest.segments),
            segments=len(manifest.segments),
            slots=manifest.slots,
            phases=phases,
        )

    # -- reading --------------------
    def progress(self) -> BatchReport | None:
        """The report of the last committed batch of this run."""
        return self.reports[-1] if self.reports else None

    def results(self, name: str) -> Results:
        """The committed results of a query."""
        if name not in self.plan.schemas:
            from headrace.sql.source import suggest

            raise OptionError(f"there is no query {name!r}." + suggest(name, self.plan.schemas))
        return Results(
            self.store, lambda: self.log.results(name), schema_of(self.plan.schemas[name]), lambda: self.spark
        )

    def late(self, stream: str) -> Results:
        """The late and unusable rows of a stream, with the reason."""
        if stream not in self.plan.late_schemas:
            raise OptionError(f"there is no stream {stream!r}")
        return Results(
            self.store,
            lambda: self.log.late(stream),
            schema_of(self.plan.late_schemas[stream]),
            lambda: self.spark,
        )


class _Buffer:
    """Bytes with the one method the codec needs."""

    def __init__(self, data: bytes) -> None:
        self._data = bytes(data)

    def to_pybytes(self) -> bytes:
        return self._data


__all__ = ["Run"]
