"""One line per batch, for logs and pipes: what a person wants to know as key=value pairs, or everything as JSON.

    batch=12 rows=50000 seconds=0.412 rows_per_s=121359 results=1804 late=3 open_windows=12 state_bytes=40960
    low_watermark.tcp=2024-01-01T00:10:00Z

Pairs are in a fixed order, streams after the batch. What has not happened is left out: rejected rows, mini-partitions that
moved, rows that wait. Keys never contain blanks and values neither, so `grep`, `cut` and `awk` need no parser. Counts are
exact (nothing is rounded to 1.2M here). A value that is not known is `-`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from headrace.report import text
from headrace.report.model import BatchReport


def log_line(report: BatchReport) -> str:
    """`report` in one line, as far as a person needs it."""
    return " ".join(f"{key}={value}" for key, value in _pairs(report))


def log_json(report: BatchReport) -> str:
    """All of `report` in one line; `BatchReport.from_json` reads it."""
    return json.dumps(report.to_json(), ensure_ascii=False)


def _pairs(report: BatchReport) -> Iterator[tuple[str, object]]:
    yield "batch", report.batch_id
    yield "rows", report.rows
    yield "seconds", f"{report.seconds:.3f}"
    yield "rows_per_s", round(report.rows / report.seconds) if report.seconds > 0 else "-"
    yield "results", report.results
    yield "late", report.late
    yield "open_windows", report.open_windows
    yield "state_bytes", report.state_bytes
    if report.rejected:
        yield "rejected", report.rejected
    if contradicting := sum(stream.contradicting for stream in report.streams.values()):
        yield "contradicting", contradicting
    if vanished := sum(stream.vanished for stream in report.streams.values()):
        yield "vanished_files", vanished
    if report.moved:
        yield "moved", report.moved
    if report.waiting_rows:
        yield "waiting_rows", report.waiting_rows
        yield "behind", f"{report.behind_seconds:.3f}s"
    for name, stream in report.streams.items():
        yield f"low_watermark.{_word(name)}", _moment(stream.low_watermark, stream.unit)
    for note in report.notes:
        yield "note", _word(note)


def _moment(value: int | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit != "us":
        return str(value)
    shown = text.ticks(value, unit)
    return f"{value}us" if shown.endswith("µs") else shown.partition(".")[0].replace(" ", "T") + "Z"  # JSON has the rest


def _word(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)
