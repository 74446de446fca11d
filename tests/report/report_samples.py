"""Reports of a made-up run, for the tests of what draws them."""

from __future__ import annotations

from headrace.report import BatchReport, QueryReport, StreamReport

T0 = 1_704_067_200_000_000  # 2024-01-01 00:00:00


def report(batch: int, rows: int = 1000, streams: int = 1, queries: int = 2) -> BatchReport:
    top = T0 + batch * 60_000_000
    return BatchReport(
        batch_id=batch,
        rows=rows,
        seconds=0.5,
        started_at=1_700_000_000.0 + batch,
        streams={f"s{i}": StreamReport(rows, top, top - 5_000_000, late=batch % 2) for i in range(streams)},
        queries={f"q{i}": QueryReport(10 * batch) for i in range(queries)},
        open_windows=3,
        state_bytes=4096,
        state_rows=77,
        segments=2,
        slots=2,
        phases={"stages": 0.4, "commit": 0.05},
    )


def reports(count: int, **options: int) -> list[BatchReport]:
    return [report(batch, **options) for batch in range(count)]
