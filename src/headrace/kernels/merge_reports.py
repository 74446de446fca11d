"""What the turns of a slot did, as one report; and the segments that live after reports.

A turn may write a segment that a later one of the same batch merges into another. Such a segment is nobody's business: what
a report names is the difference between the segments before the batch and after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headrace.program.messages import NodeActivity, Release, SlotReport, Timings
from headrace.state import SegmentMeta


def list_live(segments: Iterable[SegmentMeta], reports: Iterable[SlotReport]) -> tuple[SegmentMeta, ...]:
    """The segments of before, without the mini-partitions that were released, and those that were written."""
    live: dict[str, SegmentMeta | None] = {m.path: m for m in segments}
    for report in reports:
        for release in report.released:
            meta = live[release.path]
            assert meta is not None, f"{release.path} was released twice"
            live[release.path] = meta.release(release.pids, release.rows)
        live |= {m.path: m for m in report.segments}
    return tuple(m for m in live.values() if m is not None)


def merge_reports(
    reports: Sequence[SlotReport], before: Sequence[SegmentMeta], after: Sequence[SegmentMeta]
) -> SlotReport:
    """The report of a slot whose turns, one after the other, have led from some segments to others."""
    first, nodes = reports[0], [a.node for a in reports[0].activity]
    spent = [(t.load, t.close, t.keep, t.total) for t in (r.timings for r in reports)]
    written, released = compare_segments(before, after)
    return replace(
        first,
        segments=written,
        released=released,
        activity=tuple(add_activity([a for r in reports for a in r.activity if a.node == node]) for node in nodes),
        hot_keys=tuple(key for r in reports for key in r.hot_keys),
        timings=Timings(*map(sum, zip(*spent, strict=True))),
    )


def compare_segments(
    before: Sequence[SegmentMeta], after: Sequence[SegmentMeta]
) -> tuple[tuple[SegmentMeta, ...], tuple[Release, ...]]:
    """What was written and what was released between the two."""
    now, old = {m.path: m for m in after}, {m.path for m in before}
    released = []
    for meta in before:
        left = now.get(meta.path)
        if left is not meta:
            kept = frozenset(left.pids) if left is not None else frozenset[int]()
            gone = tuple(pid for pid in meta.pids if pid not in kept)
            released.append(Release(meta.path, gone, meta.live_rows - (left.live_rows if left is not None else 0)))
    return tuple(m for m in after if m.path not in old), tuple(released)


def add_activity(turns: Sequence[NodeActivity]) -> NodeActivity:
    """What mini-partitions did for a node in all turns; state is that of the last turn they had."""
    if len(turns) == 1:
        return turns[0]
    found: dict[int, tuple[int, int, int, int]] = {}
    for one in turns:
        for pid, rows, state_rows, size, results in zip(
            one.pids, one.rows, one.state_rows, one.state_bytes, one.results, strict=True
        ):
            old = found.get(pid, (0, 0, 0, 0))
            found[pid] = (old[0] + rows, state_rows, size, old[3] + results)
    columns = zip(*(found[pid] for pid in sorted(found)), strict=True) if found else ((),) * 4
    return NodeActivity(turns[0].node, tuple(sorted(found)), *map(tuple, columns))
