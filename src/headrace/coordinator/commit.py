"""From one manifest to the next: what a batch is told, and what its tasks' reports become.

Pure bookkeeping, the same for Spark and for the in-process runner of `headrace.testing`: `make_orders` makes the
orders of the next batch from the last committed manifest, `make_manifest` turns the reports of its tasks into the next
manifest. Neither touches a file.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa

from headrace import __version__
from headrace.errors import InternalError
from headrace.kernels.merge_reports import list_live
from headrace.program.dealt_tables import find_dealt_tables
from headrace.program.limits import SHIPPED, Limits
from headrace.program.messages import (
    Deferral,
    Flush,
    Frontiers,
    Orders,
    SlotReport,
    SourceReport,
    StreamProgress,
)
from headrace.program.program import Program
from headrace.progress import NOTHING_KNOWN, Frontier, Observation, meld
from headrace.progress.advance_program import advance_program, hold_back, pair_up
from headrace.progress.complete_program import find_completion, find_last_reports
from headrace.state import (
    Manifest,
    Mark,
    Store,
    StreamState,
    TableVersion,
    WaitingPid,
    initial_route,
    rescale,
)
from headrace.state.dealt_route import end_dealing, list_copies, list_dealt, pass_through_whole
from headrace.state.leaf_numbers import find_stale, keep_together, list_numbers
from headrace.state.split_route import SplitRoute

ENGINE = {
    "headrace": __version__,
    "duckdb": duckdb.__version__,
    "pyarrow": pa.__version__,
}  # what has written a manifest


@dataclass(frozen=True)
class TaskTerms:
    """What tasks are told in every batch of a run."""

    memory: int | None = None
    scratch: str | None = None
    preaggregate: bool = True
    deferral: Deferral | None = None  # None: no row waits
    limits: Limits = SHIPPED


@dataclass(frozen=True)
class BatchInput:
    """What the driver has found out or decided for one batch."""

    route: SplitRoute
    slots: int
    now: int  # the clock, microseconds
    since: int = 0  # and when the run began
    flush: bool = False
    told: Mapping[str, Observation] = field(default_factory=dict)  # beside the streams
    tables: Mapping[str, TableVersion] = field(default_factory=dict)
    hot: frozenset[int] = frozenset()


def make_first_manifest(program: Program, slots: int) -> Manifest:
    """The state before anything was committed (version 0, never written)."""
    return Manifest(
        version=0,
        batch_id=-1,
        epoch="",
        streams={s.name: StreamState() for s in program.streams},
        route=initial_route(program.pids, slots),
        slots=slots,
        segments=(),
        outputs=(),
        report={},
        created_at=0.0,
        checkpoint=uuid.uuid4().hex,
    )


def make_orders(
    manifest: Manifest, program: Program, store: Store, born: Mapping[str, int], seen: BatchInput, terms: TaskTerms
) -> Orders:
    """The orders for the batch that follows `manifest`."""
    deferral = None if terms.deferral is None else replace(terms.deferral, pace=seen.now - manifest.clock)
    slots = seen.slots
    route = _check_dealing(manifest, program, seen.route, deferral)
    if manifest.waiting and list_numbers(route) != list_numbers(
        manifest.route
    ):  # nothing is split while rows of it wait
        route = manifest.route if slots == manifest.slots else rescale(manifest.route, slots)
    known = {name for node in program.nodes for name in (node.name, node.waiting)}
    states = {s.name: manifest.streams.get(s.name, StreamState()) for s in program.streams}
    segments = tuple(m for m in manifest.segments if m.node in known)
    stale = find_stale(route, (m.pids for m in segments))
    if program.keeps_folders() and not all(
        isinstance(b, int) for b in route
    ):
        raise InternalError("rows that are kept by folder have mini-partitions that no key of theirs refines")
    return Orders(
        version=manifest.version + 1,
        store=store,
        progress={name: StreamProgress(s.seen, s.frontier) for name, s in states.items()},
        route=keep_together(route, stale),
        slots=slots,
        segments=segments,
        stale=stale,
        copies=list_copies(manifest.route, route),
        now=max(seen.now, manifest.clock),
        born=born,
        flush=find_flush(program, {n: s.max_seen for n, s in states.items()}) if seen.flush else None,
        memory=terms.memory,
        scratch=terms.scratch,
        since=seen.since,
        told=seen.told,
        tables=seen.tables,
        preaggregate=terms.preaggregate,
        hot=seen.hot,
        deferral=deferral,
        limits=terms.limits,
        waiting=manifest.waiting,
        marks=manifest.marks,
        numbers=manifest.numbers.extend(program.schemas, (s.name for s in program.streams)),
    )


def _check_dealing(
    manifest: Manifest, program: Program, route: SplitRoute, deferral: Deferral | None
) -> SplitRoute:
    """The route without leaves that the set, which may be another than it was, does not let be dealt. With rows that may wait
    none is: while they do, no leaf could be made whole.
    """
    if list_dealt(route):
        tables = {} if deferral is not None else find_dealt_tables(program)
        known = {(t.node, t.copied) for t in tables.values() if t.obstacle is None}
        route = end_dealing(route, lambda one: (one.dealt, one.copied) in known)
    return pass_through_whole(manifest.route, route)


def make_manifest(
    manifest: Manifest, program: Program, orders: Orders, reports: Sequence[SlotReport], batch_id: int
) -> Manifest:
    """The manifest that follows when the tasks of a batch have sent `reports`."""
    sources = [source for report in reports for source in report.sources]
    waiting = (
        {pid: one for report in reports for pid, one in report.waiting.items()}
        if reports
        else dict(orders.waiting)
    )
    streams = _advance_streams(manifest, program, reports, sources)
    marks = _list_marks(orders, waiting, any(report.cut for report in reports))
    return Manifest(
        version=orders.version,
        batch_id=batch_id,
        epoch=manifest.epoch,
        folders=manifest.folders,
        streams=streams,
        route=orders.route,
        slots=orders.slots,
        segments=list_live(orders.segments, reports),
        outputs=tuple(file for each in (reports, sources) for one in each for file in one.outputs),
        report={},
        created_at=0.0,
        flush=orders.flush is not None,
        clock=orders.now,
        engine=dict(ENGINE),
        tables=dict(orders.tables),
        waiting=waiting,
        marks=marks,
        checkpoint=manifest.checkpoint,
        numbers=orders.numbers,
        promises=_promise(program, {name: state.frontier for name, state in streams.items()}, waiting, marks),
    )


def _promise(
    program: Program,
    streams: Mapping[str, Frontier],
    waiting: Mapping[int, WaitingPid],
    marks: Mapping[int, Mark],
) -> dict[str, dict[str, Frontier]]:
    """What none of the later results of a query can have: what is owed by mini-partitions that are behind is later."""
    behind = [marks[one.version].frontiers for one in waiting.values()]
    reached = {s: meld([now, *(each.get(s, NOTHING_KNOWN) for each in behind)]) for s, now in streams.items()}
    held = hold_back(program.rules, pair_up(reached, reached)) if behind else None
    progress = advance_program(program.rules, pair_up(streams, streams), held)
    promises: dict[str, dict[str, Frontier]] = {}
    for query, column, rule in program.promised:
        promises.setdefault(query, {})[column] = Frontier(progress[rule].after.bound)
    return promises


def _advance_streams(
    manifest: Manifest, program: Program, reports: Sequence[SlotReport], sources: Sequence[SourceReport]
) -> dict[str, StreamState]:
    streams = dict(manifest.streams)
    for stream in program.streams:
        before = streams.get(stream.name, StreamState())
        answers = {report.progress[stream.name] for report in reports}
        assert len(answers) <= 1, f"slots disagree on the progress of {stream.name}: {answers}"
        now = next(iter(answers), StreamProgress(before.seen, before.frontier))
        counts = [source.counts[stream.name] for source in sources if stream.name in source.counts]
        streams[stream.name] = StreamState(
            now.seen,
            now.frontier,
            before.rows + sum(c.rows for c in counts),
            before.late + sum(c.late for c in counts),
            before.rejected + sum(c.rejected for c in counts),
            before.contradicting + sum(c.contradicting for c in counts),
            before.vanished,
        )
    return streams


def _list_marks(orders: Orders, waiting: Mapping[int, WaitingPid], cut: bool) -> dict[int, Mark]:
    """The progress that mini-partitions which are behind go on from, or stop at on their way."""
    last = orders.version - 1
    now = {stream: progress.frontier for stream, progress in orders.progress.items()}
    marks = {**orders.marks, last: Mark(now, cut)}
    versions = {one.version for one in waiting.values()}
    first = min(versions, default=last)
    return {v: mark for v, mark in marks.items() if v in versions or (mark.cut and v > first)}


def count_open_windows(program: Program, manifest: Manifest) -> int:
    """How many windows hold rows and are not closed, by the spans of the live segments."""
    streams = {name: state.frontier for name, state in manifest.streams.items()}
    progress = advance_program(program.rules, pair_up(streams, streams))
    total = 0
    for node in program.nodes:
        here = [m for m in manifest.segments if m.node in (node.name, node.waiting)]
        if here and node.windows:
            bound = progress[node.name].after.bound
            low, high = min(m.lower for m in here), max(m.upper for m in here)
            total += sum(w.count_open(low, high, bound) for w in node.windows)
    return total


def brings_results(program: Program, orders: Orders, after: Frontiers) -> bool:
    """Whether progress alone, without rows, decides something of a table that holds any: a frontier that changes
    nothing is not worth a batch.
    """
    held = {m.node for m in orders.segments}
    before, now = ({s: p.frontier for s, p in each.items()} for each in (orders.progress, after))
    progress = advance_program(program.rules, pair_up(before, now))
    return any(one.node in held and one.is_brought(progress[one.by]) for one in program.pending)


def find_flush(program: Program, largest: Mapping[str, int | None]) -> Flush:
    """Where a flush takes progress, given the largest value seen of each stream."""
    known = {name: tick for name, tick in largest.items() if tick is not None}
    bounds = find_completion(program.rules, program.pending, known)
    return Flush(bounds, find_last_reports(program.rules, program.pending, known))


def can_flush(manifest: Manifest) -> bool:
    """Whether anything came that a flush could close."""
    return any(state.max_seen is not None for state in manifest.streams.values())
