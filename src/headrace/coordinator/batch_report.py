"""What a committed batch did, for the live view, the log and the page."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

from headrace.balance.heat_levels import encode_heat
from headrace.balance.list_moves import list_moves
from headrace.coordinator.balancer import BatchLoad
from headrace.coordinator.commit import count_open_windows
from headrace.logical.graph import Graph
from headrace.program.messages import SlotReport
from headrace.program.program import Program
from headrace.report.model import BatchReport, QueryReport, SlotLoad, StreamReport, TableReport
from headrace.state import Manifest
from headrace.state.leaf_numbers import find_leaf

FULLEST = 4  # mini-partitions of a table whose rows are told apart


def make_report(
    graph: Graph,
    program: Program,
    before: Manifest,
    manifest: Manifest,
    reports: Iterable[SlotReport],
    started: float,
    ran: float,
    load: BatchLoad,
    notes: Sequence[str] = (),
) -> BatchReport:
    """The report of the batch that led from one manifest to the next, in a job of `ran` seconds."""
    streams = {}
    for name, state in manifest.streams.items():
        old = before.streams.get(name)
        streams[name] = StreamReport(
            rows=state.rows - (old.rows if old else 0),
            max_value=state.max_seen,
            low_watermark=state.low_watermark,
            late=state.late - (old.late if old else 0),
            rejected=state.rejected - (old.rejected if old else 0),
            unit=graph.streams[name].unit,  # type: ignore[arg-type]
            contradicting=state.contradicting - (old.contradicting if old else 0),
            vanished=state.vanished - (old.vanished if old else 0),
        )
    reports = list(reports)
    timings = [r.timings for r in reports]
    phases = {"job": ran}
    phases |= {key: max((getattr(t, key) for t in timings), default=0.0) for key in ("load", "close", "keep")}
    return BatchReport(
        batch_id=manifest.version,
        rows=sum(s.rows for s in streams.values()),
        seconds=time.time() - started,
        started_at=started,
        streams=streams,
        queries={
            q: QueryReport(
                sum(f.rows for f in manifest.results.get(q, ())),
                manifest.find_completeness(q),
                graph.relations[q].unit,  # type: ignore[arg-type]
            )
            for q in program.schemas
        },
        open_windows=count_open_windows(program, manifest),
        state_bytes=sum(m.live_bytes for m in manifest.segments),
        state_rows=sum(m.live_rows for m in manifest.segments),
        segments=len(manifest.segments),
        slots=manifest.slots,
        phases=phases,
        tables=_count_arrived(program, reports),
        table_bytes=_count_bytes(program, reports),
        fullest=_find_fullest(program, reports),
        slot_loads=tuple(_weigh_slot(slot, reports) for slot in range(manifest.slots)) if reports else (),
        imbalance=round(load.imbalance, 3),
        moves=list_moves(before.route, manifest.route),
        heat=encode_heat(load.heat),
        model_error=None if load.error is None else round(load.error, 4),
        notes=tuple(notes),
        static_tables={
            name: TableReport(t.rows, t.bytes, t.divided, t.read_at) for name, t in manifest.tables.items()
        },
        waiting_rows=sum(one.rows for one in manifest.waiting.values()),
        behind_seconds=max((manifest.clock - one.since for one in manifest.waiting.values()), default=0)
        / 1e6,
    )


def _count_arrived(program: Program, reports: list[SlotReport]) -> dict[str, int]:
    """Rows that came to each table of state."""
    labels = {node.name: node.label for node in program.nodes}
    found: dict[str, int] = dict.fromkeys(labels.values(), 0)
    for report in reports:
        for activity in report.activity:
            found[labels[activity.node]] += sum(activity.rows)
    return found


def _find_fullest(program: Program, reports: list[SlotReport]) -> dict[str, tuple[tuple[int, int], ...]]:
    """The mini-partitions of each table that most rows came to, whole if they are split, with their rows."""
    labels = {node.name: node.label for node in program.nodes}
    found: dict[str, Counter[int]] = {label: Counter() for label in labels.values()}
    for activity in (one for report in reports for one in report.activity):
        for number, rows in zip(activity.pids, activity.rows, strict=True):
            found[labels[activity.node]][find_leaf(number, program.pids).pid] += rows
    return {
        label: tuple((pid, n) for pid, n in rows.most_common(FULLEST) if n) for label, rows in found.items()
    }


def _count_bytes(program: Program, reports: list[SlotReport]) -> dict[str, int]:
    """Bytes that came to each table through an exchange."""
    found: dict[str, int] = {}
    for node in program.nodes:
        found[node.label] = found.get(node.label, 0) + sum(r.received.get(node.name, 0) for r in reports)
    return found


def _weigh_slot(slot: int, reports: list[SlotReport]) -> SlotLoad:
    mine = [report for report in reports if report.slot == slot]
    activity = [one for report in mine for one in report.activity]
    return SlotLoad(
        sum(sum(one.rows) for one in activity),
        round(sum(report.timings.total for report in mine), 6),
        sum(sum(one.state_bytes) for one in activity),
        sum(sum(report.received.values()) for report in mine),
        sum(report.timings.cpu for report in mine),
    )
