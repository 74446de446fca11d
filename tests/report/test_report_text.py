"""Numbers as people read them, and the log line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import T0, report

from headrace.report import BatchReport, StreamReport, text
from headrace.report.log import log_json, log_line


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (T0, "us", "2024-01-01 00:00:00"),
        (T0 + 1_500_000, "us", "2024-01-01 00:00:01.5"),
        (-1, "us", "1969-12-31 23:59:59.999999"),
        (10**18, "us", "1,000,000,000,000,000,000 µs"),
        (None, "us", "–"),
        (1234567, "int", "1,234,567"),
    ],
)
def test_ticks(value: int | None, unit: str, expected: str) -> None:
    """Microseconds are shown as UTC time, integers as numbers, and a time no calendar has as a count."""
    assert text.ticks(value, unit) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0 s"), (3.17e-6, "3 µs"), (0.00094, "940 µs"), (0.00123, "1.2 ms"), (0.25, "250 ms"), (0.9996, "1 s"), (1.25, "1.25 s"), (59.9, "59.9 s"),
     (200, "3 min 20 s"), (3600, "1 h"), (187_200, "2 d 4 h"), (-90, "-1 min 30 s"), (None, "–")],
)  # fmt: skip
def test_span(seconds: float | None, expected: str) -> None:
    """A length of time has at most two units."""
    assert text.span(seconds) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (150 * 1024, "150 KiB"), (3 * 1024**3, "3.0 GiB")],
)
def test_size(count: int, expected: str) -> None:
    """Bytes are in powers of 1024."""
    assert text.size(count) == expected


@given(st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63))
def test_every_number_has_a_rendering(value: float | None) -> None:
    """No count, rate, size or length of time makes a view fail."""
    for function in (text.number, text.rate, text.size, text.span):
        assert function(value)


@given(st.lists(st.floats(0, 1e9), max_size=50), st.integers(0, 60))
def test_a_sparkline_has_one_bar_per_value(values: list[float], width: int) -> None:
    """It is never wider than asked, and shows the last values."""
    assert len(text.sparkline(values, width)) == min(len(values), width)


def test_control_characters_of_names_do_not_reach_the_terminal() -> None:
    """A stream called ESC [2J must not clear the screen."""
    assert text.one_line("a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"


def test_log_line_is_stable() -> None:
    """The line is an interface: scripts grep it, so it is pinned down to the letter."""
    assert log_line(report(3, queries=1)) == (
        "batch=3 rows=1000 seconds=0.500 rows_per_s=2000 results=30 late=1 open_windows=3 state_bytes=4096 "
        "low_watermark.s0=2024-01-01T00:02:55Z"
    )


def test_log_line_has_no_blank_inside_a_pair() -> None:
    """Names with blanks, equals signs or line breaks do not break the key=value form; unknown is '-'."""
    line = log_line(BatchReport(0, 0, 0.0, 0.0, {"a b=\n": StreamReport(0)}))
    assert all(pair.count("=") == 1 for pair in line.split(" "))
    assert "low_watermark.a_b__=-" in line
    assert "rows_per_s=-" in line


def test_log_line_of_integer_streams_has_plain_integers() -> None:
    """No thousands separators and no time format where the progressing attribute is an integer."""
    line = log_line(BatchReport(0, 1, 1.0, 0.0, {"s": StreamReport(1, 12345, 12300, unit="int")}))
    assert line.endswith(" low_watermark.s=12300")


def test_a_line_says_what_has_happened_and_not_what_has_not() -> None:
    """Rejected rows, rows that contradict punctuation, moves and waiting rows are there when there are any."""
    streams = {"s": StreamReport(9, 5, 5, rejected=2, contradicting=3, unit="int")}
    line = log_line(BatchReport(0, 9, 1.0, 0.0, streams, moves=((1, 0, 1),), waiting_rows=4, behind_seconds=1.5))
    assert " rejected=2 contradicting=3 moved=1 waiting_rows=4 behind=1.500s low_watermark.s=5" in line


def test_a_line_of_json_has_the_whole_report() -> None:
    """A program that reads the log gets back what the driver reported."""
    one = report(3, queries=2)
    line = log_json(one)
    assert "\n" not in line
    assert BatchReport.from_json(json.loads(line)) == one
