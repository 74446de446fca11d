"""One line per batch, for logs and pipes: key=value pairs in a fixed order, streams and queries after them.

    batch=12 rows=50000 seconds=0.412 rows_per_s=121359 results=1804 late=3 ...
    stream.tcp.low_watermark=2024-01-01T00:10:00Z

Keys never contain blanks and values neither, so `grep`, `cut` and `awk` need no parser. Counts are exact
(nothing is rounded to 1.2M here). A value that is not known is `-`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.report import text
from headrace.report.model import BatchReport


def log_line(report: BatchReport) -> str:
    """`report` in one line."""
    return " ".join(f"{key}={value}" for key, value in _pairs(report))


def _pairs(report: BatchReport) -> Iterator[tuple[str, object]]:
    yield "batch", report.batch_id
    yield "rows", report.rows
    yield "seconds", f"{report.seconds:.3f}"
    yield "rows_per_s", round(report.rows / report.seconds) if report.seconds > 0 else "-"
    yield "results", report.results
    yield "late", report.late
    yield "rejected", report.rejected
    yield "open_windows", report.open_windows
    yield "state_bytes", report.state_bytes
    yield "state_rows", report.state_rows
    yield "segments", report.segments
    yield "slots", report.slots
    yield "imbalance", f"{report.imbalance:.2f}"
    yield "moved", report.moved
    yield "model_error", "-" if report.model_error is None else f"{report.model_error:.2f}"
    if report.waiting_rows:
        yield "waiting_rows", report.waiting_rows
        yield "behind", f"{report.behind_seconds:.3f}s"
    for name, stream in report.streams.items():
        key = f"stream.{_word(name)}"
        yield f"{key}.rows", stream.rows
        yield f"{key}.late", stream.late
        yield f"{key}.rejected", stream.rejected
        if stream.contradicting:
            yield f"{key}.contradicting", stream.contradicting
        if stream.vanished:
            yield f"{key}.vanished", stream.vanished
        yield f"{key}.max", _moment(stream.max_value, stream.unit)
        yield f"{key}.low_watermark", _moment(stream.low_watermark, stream.unit)
        lag = stream.lag
        yield f"{key}.lag", "-" if lag is None else f"{lag / 1e6:g}s" if stream.unit == "us" else lag
    for name, query in report.queries.items():
        yield f"query.{_word(name)}.results", query.results
    for name, table in report.static_tables.items():
        key = f"table.{_word(name)}"
        yield f"{key}.rows", table.rows
        yield f"{key}.bytes", table.bytes
        yield f"{key}.held", "divided" if table.divided else "broadcast"
    for note in report.notes:
        yield "note", _word(note)


def _moment(value: int | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit != "us":
        return str(value)
    shown = text.ticks(value, unit)
    return f"{value}us" if shown.endswith("µs") else shown.replace(" ", "T") + "Z"


def _word(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)
