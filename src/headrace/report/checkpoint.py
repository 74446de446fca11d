"""What a checkpoint holds, as data: progress, state by node, mini-partition and slot, and outputs.

All of it comes from the last manifest and the footers of the segments that it names; nothing is changed and
no engine is needed, so it can be asked of a running checkpoint. The bytes of a mini-partition are its
share, by rows, of the segments it has rows in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from msgspec import structs
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headrace.errors import HeadraceError
from headrace.report import text
from headrace.report.model import StreamReport
from headrace.state import Manifest, ManifestLog, Store, pid_sizes
from headrace.state.checksums import DamagedFile, open_json
from headrace.state.leaf_numbers import describe_leaf, find_leaf, find_owner
from headrace.state.split_route import list_leaves

_SHOWN = 10
_WORDS = ("stream", "query", "node", "panes of", "executor")  # columns of words; the others are numbers


def summarize(log: ManifestLog) -> dict[str, Any]:
    """The whole summary, ready for JSON. The log must have a manifest."""
    last = log.latest()
    assert last is not None
    pids = _pids(log, last)
    slots: dict[int, dict[str, int]] = {
        slot: {"pids": 0, "rows": 0, "bytes": 0} for slot in range(last.slots)
    }
    for slot in list_leaves(last.route)[1].tolist():
        slots.setdefault(slot, {"pids": 0, "rows": 0, "bytes": 0})["pids"] += 1
    for pid in pids:
        if pid["slot"] is not None:
            slots[pid["slot"]]["rows"] += pid["rows"]
            slots[pid["slot"]]["bytes"] += pid["bytes"]
    return {
        "checkpoint": log.store.uri,
        "batch": last.version,  # as `run` counts them
        "committed_at": datetime.fromtimestamp(last.created_at, UTC)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z"),
        "epoch": last.epoch,
        "engine": last.engine,
        "streams": _streams(log, last),
        "queries": _queries(log, last),
        "nodes": _nodes(last, _labels(log)),
        "slots": [{"slot": slot, **sizes} for slot, sizes in sorted(slots.items())],
        "mini_partitions": pids,
        "waiting": [
            {"pid": pid, "part": describe_leaf(find_leaf(pid, len(last.route))), "slot": find_owner(last.route, pid),
             "rows": one.rows, "bytes": one.bytes, "since_batch": one.version + 1,
             "behind_seconds": (last.clock - one.since) / 1e6}
            for pid, one in sorted(last.waiting.items())
        ],
        "out_of_reach": [structs.asdict(loss) for loss in log.faults()],
    }


def count_before(checkpoint: str) -> dict[tuple[str, str], int]:
    """What runs on a checkpoint have counted so far: (kind, name) → rows, late, rejected or results. Nothing if there is none,
    or none that can be read: the run that begins will say so.
    """
    try:
        log = ManifestLog(Store.open(checkpoint))
        last = log.latest()
        if last is None:
            return {}
        streams, queries = _streams(log, last), _queries(log, last)
    except HeadraceError:
        return {}
    found = {(kind, one["stream"]): one[kind] for one in streams for kind in ("rows", "late", "rejected")}
    return found | {("results", one["query"]): one["rows"] for one in queries}


def query_names(log: ManifestLog) -> list[str]:
    """The queries that the last manifest knows of."""
    last = log.latest()
    return list(dict.fromkeys((*last.report.get("queries", {}), *last.results))) if last is not None else []


def stream_names(log: ManifestLog) -> list[str]:
    last = log.latest()
    return list(last.streams) if last is not None else []


def _streams(log: ManifestLog, last: Manifest) -> list[dict[str, Any]]:
    reported = last.report.get("streams", {})
    found = []
    for name, stream in last.streams.items():
        unit = reported.get(name, {}).get("unit", "us")
        seen = StreamReport(stream.rows, stream.max_seen, stream.low_watermark, unit=unit)
        found.append(
            {
                "stream": name,
                "rows": stream.rows,
                "late": stream.late,
                "rejected": stream.rejected,
                "contradicting": stream.contradicting,
                "vanished": stream.vanished,
                "unit": unit,
                "max": stream.max_seen,
                "low_watermark": stream.low_watermark,
                "behind_newest": seen.behind_newest,
                "late_files": len(log.late(name)),
            }
        )
    return found


def _queries(log: ManifestLog, last: Manifest) -> list[dict[str, Any]]:
    found = []
    for name in query_names(log):
        files = log.results(name)
        found.append(
            {
                "query": name,
                "rows": sum(file.rows for file in files),
                "files": len(files),
                "bytes": sum(file.bytes for file in files),
                "complete_to": last.find_completeness(name),
                "unit": last.report.get("queries", {}).get(name, {}).get("unit", "us"),
            }
        )
    return found


def _labels(log: ManifestLog) -> dict[str, str]:
    """What the nodes are, in words, from the record of the epoch; nothing if there is none, or a damaged one."""
    last = log.latest()
    if last is None or not log.store.exists(last.epoch):
        return {}
    try:
        labels: dict[str, str] = open_json(log.store.read(last.epoch)).get("labels", {})
    except DamagedFile:  # a run says so; here only words are missing
        return {}
    return labels


def _nodes(last: Manifest, labels: dict[str, str]) -> list[dict[str, Any]]:
    nodes: dict[str, dict[str, Any]] = {}
    held: dict[str, set[int]] = defaultdict(set)
    for segment in last.segments:
        node = nodes.setdefault(segment.node, {"node": segment.node, "segments": 0, "rows": 0, "bytes": 0})
        node["segments"] += 1
        node["rows"] += segment.live_rows
        node["bytes"] += segment.live_bytes
        held[segment.node].update(segment.pids)
    for name, node in nodes.items():
        node["mini_partitions"] = len(held[name])
        node["label"] = labels.get(name, "")
    return list(nodes.values())


def _pids(log: ManifestLog, last: Manifest) -> list[dict[str, Any]]:
    sizes: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0, 0.0, 0])
    for segment in last.segments:
        rows_of = pid_sizes(log.store, segment)
        for pid in segment.pids:
            one, rows = sizes[segment.node, pid], int(rows_of[pid])
            one[0] += rows
            one[1] += segment.bytes * rows / max(1, segment.rows)
            one[2] += 1
    return [
        {
            "node": node,
            "pid": pid % len(last.route),
            "part": describe_leaf(find_leaf(pid, len(last.route))),
            "slot": find_owner(last.route, pid),
            "rows": int(rows),
            "bytes": round(share),
            "segments": int(segments),
        }
        for (node, pid), (rows, share, segments) in sorted(sizes.items())
    ]


def draw(summary: dict[str, Any], all_pids: bool = False) -> RenderableType:
    """The summary for a terminal."""
    head = Text.assemble(
        ("checkpoint ", "dim"), summary["checkpoint"], "\n",
        ("batch ", "dim"), f"{summary['batch']}", ("  committed ", "dim"), summary["committed_at"],
    )  # fmt: skip
    streams = (
        (one["stream"], f"{one['rows']:,}", text.ticks(one["max"], one["unit"]).split(".")[0],
         text.ticks(one["low_watermark"], one["unit"]).split(".")[0], text.distance(one["behind_newest"], one["unit"]),
         f"{one['late']:,}", f"{one['rejected']:,}")
        for one in summary["streams"]
    )  # fmt: skip
    queries = (
        (q["query"], f"{q['rows']:,}", f"{q['files']:,}", text.size(q["bytes"]),
         ", ".join(text.ticks(tick, q["unit"]).split(".")[0] for tick in q["complete_to"].values()) or text.NONE)
        for q in summary["queries"]
    )
    nodes = (
        (
            n["node"],
            f"{n['segments']:,}",
            f"{n['rows']:,}",
            text.size(n["bytes"]),
            f"{n['mini_partitions']:,}",
            n["label"],
        )
        for n in summary["nodes"]
    )
    slots = (
        (f"{s['slot']}", f"{s['pids']:,}", f"{s['rows']:,}", text.size(s["bytes"])) for s in summary["slots"]
    )
    pids = sorted(summary["mini_partitions"], key=lambda pid: (-pid["bytes"], pid["node"], pid["pid"], pid["part"]))
    listed = pids if all_pids else pids[:_SHOWN]
    rows = (
        (
            p["node"],
            p["part"],
            f"{p['slot']}",
            f"{p['rows']:,}",
            text.size(p["bytes"]),
            f"{p['segments']}",
        )
        for p in listed
    )
    parts: list[RenderableType] = [
        head,
        draw_table("streams", ("stream", "rows", "max", "low-watermark", "behind", "late", "rejected"), streams),
        draw_table("results", ("query", "rows", "files", "size", "complete to"), queries),
        draw_table("state by node", ("node", "segments", "rows", "size", "mini-partitions", "panes of"), nodes),
        draw_table("state by slot", ("slot", "mini-partitions", "rows", "size"), slots),
        draw_table("largest mini-partitions", ("node", "pid", "slot", "rows", "size", "segments"), rows),
    ]
    waiting = [
        (w["part"], f"{w['slot']}", f"{w['rows']:,}", text.size(w["bytes"]), f"{w['since_batch']}",
         text.span(w["behind_seconds"]))
        for w in summary.get("waiting", ())
    ]  # fmt: skip
    if waiting:
        names = ("pid", "slot", "rows", "size", "since batch", "behind")
        parts.insert(-1, draw_table("mini-partitions whose rows wait", names, waiting))
    gone = [f"{one['vanished']:,} files of {one['stream']}" for one in summary["streams"] if one.get("vanished")]
    if gone:
        words = f"{', '.join(gone)} were gone when they were to be read: their rows are missing from the results"
        parts.append(Text(words, style="yellow"))
    if len(listed) < len(pids):
        parts.append(Text(f"… {len(pids) - len(listed):,} more; --all lists them", style="dim"))
    return Group(*parts)


def draw_table(title: str, names: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    """A table of text; columns of words to the left, of numbers to the right."""
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for name in names:
        table.add_column(
            name, justify="left" if name in _WORDS else "right", header_style="dim", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(text.one_line(cell)) for cell in row))
    return table
