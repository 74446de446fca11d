"""From one manifest to the next: what a batch is told, and what its tasks' messages become.

Pure bookkeeping, the same for Spark and for the in-process runner of `headrace.testing`: `batch_after`
makes the orders for the next batch from the last committed manifest, `manifest_of` turns the META messages
of its tasks into the next manifest. Neither touches a file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from headrace.kernels.flush import flush_to
from headrace.kernels.spec import Batch, Node, Program, Progress
from headrace.progress import meld
from headrace.state import Manifest, ResultFile, SegmentMeta, Store, StreamState, initial_route, rescale
from headrace.windows import needed_from, windows


def first_manifest(program: Program, slots: int) -> Manifest:
    """The state before anything was committed (version 0, never written)."""
    return Manifest(
        version=0,
        batch_id=-1,
        fingerprint=program.fingerprint,
        streams={s.name: StreamState() for s in program.streams},
        route=initial_route(program.pids, slots),
        slots=slots,
        segments=(),
        results={},
        late={},
        report={},
        created_at=0.0,
    )


def batch_after(
    manifest: Manifest, program: Program, store: Store, slots: int, born: dict[str, int], flush: bool = False
) -> Batch:
    """The orders for the batch that follows `manifest`."""
    route = manifest.route if manifest.slots == slots else rescale(manifest.route, slots)
    known = {n.name for n in program.nodes}
    progress = {}
    for spec in program.streams:
        state = manifest.streams.get(spec.name, StreamState())
        progress[spec.name] = Progress(state.max_seen, state.low_watermark)
    return Batch(
        version=manifest.version + 1,
        store=store,
        progress=progress,
        route=route,
        slots=slots,
        segments=tuple(m for m in manifest.segments if m.node in known),
        now=int(time.time() * 1_000_000),
        flush=flush,
        born=born,
    )


def manifest_of(
    manifest: Manifest, program: Program, batch: Batch, metas: Iterable[dict[str, Any]], batch_id: int
) -> Manifest:
    """The manifest that follows when the tasks of `batch` have sent `metas`."""
    metas = list(metas)
    streams = dict(manifest.streams.items())
    for spec in program.streams:
        before = streams.get(spec.name, StreamState())
        told = {tuple(m["progress"][spec.name]) for m in metas if m["level"] == 0}
        assert len(told) <= 1, f"slots disagree on the progress of {spec.name}: {told}"
        max_seen, low_watermark = next(iter(told)) if told else (before.max_seen, before.low_watermark)
        notes = [
            n["streams"][spec.name]
            for m in metas
            for n in m["notes"]
            if "rows" in n["streams"].get(spec.name, ())
        ]
        streams[spec.name] = StreamState(
            max_seen,
            low_watermark,
            before.rows + sum(n["rows"] for n in notes),
            before.late + sum(n["late"] for n in notes),
            before.rejected + sum(n["rejected"] for n in notes),
        )
    results: dict[str, list[ResultFile]] = {}
    late: dict[str, list[ResultFile]] = {}
    for meta in metas:
        raw = [r for n in meta["notes"] for r in n.get("results", ())]
        for r in [*meta["results"], *raw]:
            results.setdefault(r["query"], []).append(ResultFile(r["path"], r["rows"], r["bytes"]))
        for note in meta["notes"]:
            for stream, seen in note["streams"].items():
                for f in seen.get("files", ()):
                    late.setdefault(stream, []).append(ResultFile(f["path"], f["rows"], f["bytes"]))
    dropped = {path for m in metas for path in m["dropped"]}
    segments = [m for m in batch.segments if m.path not in dropped]
    segments += [SegmentMeta.from_json(s) for m in metas for s in m["segments"]]
    needed = {n.name: _needed(n, streams) for n in program.nodes}
    return Manifest(
        version=batch.version,
        batch_id=batch_id,
        fingerprint=program.fingerprint,
        streams=streams,
        route=batch.route,
        slots=batch.slots,
        segments=tuple(m for m in segments if m.max_pane >= needed[m.node]),
        results={q: tuple(files) for q, files in results.items()},
        late={s: tuple(files) for s, files in late.items()},
        report={},
        created_at=time.time(),
        flush=batch.flush,
    )


def _needed(node: Node, streams: dict[str, StreamState]) -> int:
    bound = meld([streams[s].low_watermark for s in node.streams])
    if bound is None or not node.specs:
        return -(1 << 62)
    return min(needed_from(s, bound) for s in node.specs)


def open_windows(program: Program, manifest: Manifest) -> int:
    """How many windows hold rows and are not closed, by the panes of the live segments."""
    total = 0
    for node in program.nodes:
        mine = [m for m in manifest.segments if m.node == node.name]
        bound = meld([manifest.streams[s].low_watermark for s in node.streams])
        if not mine or not node.specs:
            continue
        low, high = min(m.min_pane for m in mine), max(m.max_pane for m in mine)
        for spec in node.specs:
            if spec.range is None and spec.reset is None:
                total += 1
                continue
            start = low if bound is None else max(low, needed_from(spec, bound))
            total += len(windows(spec, start, high + 1)) if start <= high else 0
    return total


def flush_bound(program: Program, streams: dict[str, StreamState]) -> int | None:
    """The furthest low-watermark of a flush; None if nothing came that could be flushed."""
    return max(flush_to(program, {n: s.max_seen for n, s in streams.items()}).bounds.values(), default=None)
