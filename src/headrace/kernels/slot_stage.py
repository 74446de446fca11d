"""The stateful stage: one slot, one level, one batch.

What a slot is sent comes as rows of the shuffle: payloads of rows for its nodes, and messages. They are sorted here, progress is
folded, the mini-partitions take their turns (`slot_turns.py`; usually there is one), each a function of (state, delta, progress)
to (state, output, progress) (`slot.py`), and what they did is told in one `SlotReport`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa

from headrace.kernels import payloads
from headrace.kernels.folder_samples import FolderSampler
from headrace.kernels.merge_reports import list_live, merge_reports
from headrace.kernels.result_files import ResultWriter
from headrace.kernels.slot import Slot
from headrace.kernels.slot_turns import plan_turns
from headrace.kernels.source_stage import Chunk, read_own_rows
from headrace.kernels.turn_progress import FrontierMap
from headrace.kernels.worker import measure_peak, name_executor
from headrace.program.fold_progress import fold_progress
from headrace.program.messages import Frontiers, LevelProgress, Orders, SlotReport, SourceReport
from headrace.program.program import Program
from headrace.progress import meld


@dataclass
class _Inbox:
    """What a slot was sent."""

    slot: int | None = None
    rows: list[tuple[str, pa.Table]] = field(default_factory=list)  # by node
    sizes: dict[str, int] = field(default_factory=dict)
    sources: list[SourceReport] = field(default_factory=list)
    levels: list[LevelProgress] = field(default_factory=list)

    def sort(self, program: Program, level: int, received: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take what is for this level, and give what is not."""
        for at, node, payload in payloads.read_rows(received):
            self.slot = at
            if node == payloads.MESSAGE:
                message = payloads.read_message(payload)
                if isinstance(message, SlotReport):  # on its way to the driver
                    yield payloads.make_row(0, node, payload)
                elif isinstance(message, SourceReport):
                    self.sources.append(message)
                elif isinstance(message, LevelProgress):
                    self.levels.append(message)
            elif program.node(node).level > level:  # a union of rows from several levels is read above all of them
                yield payloads.make_row(at, node, payload)
            else:
                self.rows.append((node, payloads.read_table(payload)))
                self.sizes[node] = self.sizes.get(node, 0) + payload.size

    def find_progress(self, program: Program, orders: Orders) -> Frontiers:
        """Progress after this batch: the level before has folded it, or the source tasks have told what to fold."""
        return self.levels[-1].streams if self.levels else fold_progress(program, orders, self.sources)

    def find_behind(self, after: Frontiers) -> FrontierMap | None:
        """What all slots of the level before have reached; None if that is all of the batch's progress."""
        behind = [one.behind for one in self.levels if one.behind is not None]
        return {s: meld([p.frontier, *(each[s] for each in behind)]) for s, p in after.items()} if behind else None


def run_slot(
    program: Program,
    read_orders: Callable[[int], Orders],
    level: int,
    received: Iterable[pa.RecordBatch],
    read_own: Callable[[Orders], Iterable[Chunk]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The stateful stage over what one slot received, and over rows it reads by itself: those of folders it owns.
    `read_orders` gives the orders of the slot with a number, `read_own` the rows that orders name.
    """
    began, busy = time.perf_counter(), time.process_time()
    inbox = _Inbox()
    yield from inbox.sort(program, level, received)
    slot, arrived = inbox.slot, inbox.rows
    if slot is None:
        return
    orders = read_orders(slot)
    after = inbox.find_progress(program, orders)
    waited = time.perf_counter() - began
    sampler = FolderSampler(program)
    if read_own is not None:
        arrived += read_own_rows(program, orders, read_own(orders), sampler)
    sent = sum(source.sent for source in inbox.sources)
    plan = plan_turns(program, orders, level, slot, after, inbox.find_behind(after), arrived, sent)
    results = ResultWriter(orders.store, orders.version, program.schemas, orders.numbers.results, orders.limits)
    segments, reports = plan.segments, []
    run: Slot | None = None
    try:
        for turn in plan.turns:
            run = Slot(program, orders, level, slot, turn, segments, results)
            yield from run.run(turn.read_rows())
            reports.append(run.finish(after))
            run.close()
            segments = list_live(segments, reports[-1:])
        if level + 1 < len(program.levels) and (slot == 0 or plan.behind is not None):  # of all the same, one says it
            yield payloads.make_messages(range(orders.slots), LevelProgress(after, plan.behind))
        report = merge_reports(reports, orders.segments, segments)
        files, writing = results.close(), time.perf_counter()
        orders.store.sync([m.path for m in report.segments] + [file.path for file in files])
        spent, synced = report.timings, time.perf_counter() - writing
        spent = replace(spent, keep=spent.keep + synced, total=spent.total + synced)
        report = replace(
            report,
            outputs=files,
            timings=replace(spent, wait=waited, cpu=time.process_time() - busy),
            sources=tuple(inbox.sources) if slot == 0 else (),
            executor=name_executor(),
            peak_memory=measure_peak(),
            received=inbox.sizes,
            samples=sampler.give(),
            waiting=plan.waiting,
            cut=plan.cut,
        )
        yield payloads.make_message(0, report)
    except BaseException:
        with suppress(Exception):  # the first error is the one to tell
            results.close()
            if run is not None:
                run.close()
        raise
