"""Reports as data, and the numbers made of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import T0, report, reports

from headrace.errors import HeadraceError
from headrace.report import BatchReport, QueryReport, StreamReport, Totals, throughput

whole = st.integers(0, 2**62)
ticks = st.none() | st.integers(-(2**62), 2**62)
stream_reports = st.builds(StreamReport, whole, ticks, ticks, whole, whole, st.sampled_from(["us", "int"]))
batch_reports = st.builds(
    BatchReport,
    whole,
    whole,
    st.floats(0, 1e6),
    st.floats(0, 1e10),
    st.dictionaries(st.text(max_size=8), stream_reports, max_size=3),
    st.dictionaries(st.text(max_size=8), st.builds(QueryReport, whole), max_size=3),
    whole,
    whole,
    whole,
    whole,
    whole,
    st.dictionaries(st.text(max_size=8), st.floats(0, 1e6), max_size=3),
)


@given(batch_reports)
def test_reports_go_through_json_without_loss(one: BatchReport) -> None:
    """Whatever a report holds, writing and reading it gives the same report."""
    assert BatchReport.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_a_report_shows_times() -> None:
    """What `run.progress()` prints has times where ticks are times, and numbers where they are numbers."""
    report = StreamReport(rows=3, max_value=1_710_021_600_000_000, low_watermark=1_710_021_595_500_000)
    assert report.max_time == datetime(2024, 3, 9, 22, tzinfo=UTC)
    assert report.low_watermark_time == datetime(2024, 3, 9, 21, 59, 55, 500_000, tzinfo=UTC)
    said = "max=2024-03-09T22:00:00+00:00, low_watermark=2024-03-09T21:59:55.500000+00:00"
    assert repr(report) == f"StreamReport(rows=3, {said}, late=0, rejected=0)"
    assert "max=89, low_watermark=None" in repr(StreamReport(rows=1, max_value=89, unit="int"))
    assert StreamReport(rows=1, max_value=89, unit="int").max_time is None
    assert StreamReport(rows=1, max_value=1 << 62).max_time is None  # far beyond the year 9999


def test_a_report_of_a_newer_version_is_still_read() -> None:
    """Fields this version does not know are left out, at every level."""
    data = report(1).to_json() | {"new": 1}
    data["streams"]["s0"]["newer"] = 2
    assert BatchReport.from_json(data) == report(1)


@pytest.mark.parametrize("data", [{}, [], None, {"batch_id": 1}, {"streams": 1, "queries": {}}])
def test_something_else_is_refused(data: Any) -> None:
    """Data that is no report gives an error of ours, not a KeyError."""
    with pytest.raises(HeadraceError, match="not a batch report"):
        BatchReport.from_json(data)


def test_two_distances_of_the_low_watermark() -> None:
    """Behind the newest row it is in ticks; behind the clock in seconds, for timestamps only."""
    stream = StreamReport(1, T0 + 5_000_000, T0)
    assert stream.behind_newest == 5_000_000
    assert stream.behind_clock(T0 / 1e6 + 9) == 9
    assert StreamReport(1, 10, 4, unit="int").behind_newest == 6
    assert StreamReport(1, 10, 4, unit="int").behind_clock(0) is None
    assert StreamReport(1, 10, 99, unit="int").behind_newest == 0  # after a flush
    assert StreamReport(0).behind_newest is None
    assert StreamReport(0).behind_clock(0) is None


def test_throughput_takes_the_last_batches_that_had_rows() -> None:
    """Quiet batches do not make the engine look slow, and old ones do not count."""
    quiet = [report(i, rows=0) for i in range(20)]
    assert throughput([report(0, rows=10), report(1, rows=1000), *quiet], last=1) == 2000
    assert throughput(quiet) is None
    assert throughput([]) is None


def test_totals_add_up() -> None:
    """Totals are the sums over all batches."""
    totals = Totals()
    for one in reports(4):
        totals = totals.add(one)
    assert totals == Totals(batches=4, rows=4000, seconds=2.0, late=2, rejected=0, results=120)
