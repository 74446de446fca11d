"""A batch that rejects most of a stream's rows says why, and what to write; what it rejects keeps its values."""

from __future__ import annotations

import warnings
from datetime import date
from typing import Any

import pytest

from headrace.testing import LocalRun

NOW = 1_704_067_200_000_000  # 2024
SCRIPT = """
CREATE STREAM s (ts {type}, d DATE, n TIMESTAMP_NTZ, k STRING) PROGRESSING ON ts SLACK {slack} FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE {slack}] GROUP BY k;
"""
MILLIS = NOW // 1000 * 1_000_000  # a number of milliseconds, read as one of seconds


def start(type_: str = "TIMESTAMP", slack: str = "5 SECONDS") -> LocalRun:
    return LocalRun(SCRIPT.format(type=type_, slack=slack), clock=lambda: NOW)


def rows(*times: Any) -> list[tuple[Any, ...]]:
    return [(t, date(2024, 1, 2), MILLIS, "k") for t in times]


def test_the_late_table_keeps_times_of_any_year() -> None:
    """A year of five digits, a date and a time without zone among the other columns, and one before 1970."""
    run = start()
    with pytest.warns(RuntimeWarning):
        run.push(s=[(MILLIS, date(1969, 1, 2), -3, "a"), (None, None, None, "b"), (MILLIS, None, MILLIS, "c")])
    assert run.late("s") == [
        (None, None, None, "b", "null"),
        (MILLIS, None, MILLIS, "c", "implausible"),
        (MILLIS, date(1969, 1, 2), -3, "a", "implausible"),
    ]


def test_numbers_of_milliseconds() -> None:
    """They are named, with a declaration that takes them."""
    run = start()
    with pytest.warns(RuntimeWarning, match=r"3 of 3 rows of stream s are rejected.*numbers of milliseconds"):
        manifest = run.push(s=rows(*(MILLIS + i for i in range(3))))
    (note,) = manifest.report["notes"]
    assert "Declare ts BIGINT, with SLACK, RANGE and SLIDE in milliseconds" in note
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.push(s=rows(MILLIS))  # once is enough


def test_what_it_says_to_write_works() -> None:
    """Milliseconds declared BIGINT: nothing is rejected."""
    run = start("BIGINT", "60000")
    run.push(s=rows(NOW // 1000, NOW // 1000 + 60_000, NOW // 1000 + 240_000))
    assert run.manifest.streams["s"].rejected == 0
    assert run.rows("q") != []


def test_times_that_are_null() -> None:
    """A column of another name in the files comes as NULL."""
    with pytest.warns(RuntimeWarning, match="their ts is NULL: is it called otherwise in the source"):
        start().push(s=rows(None, None, NOW))


def test_times_far_ahead() -> None:
    """They are no other unit: a horizon is what lets them pass."""
    with pytest.warns(RuntimeWarning, match=r"ahead of the clock \(by 4,000 days\).*declare HORIZON"):
        start().push(s=rows(NOW + 4000 * 86_400_000_000))


def test_integers_beyond_the_horizon() -> None:
    """The horizon of integers counts from the largest value seen."""
    run = LocalRun(
        "CREATE STREAM s (t BIGINT) PROGRESSING ON t SLACK 5 HORIZON 10 FROM 'memory';"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10];"
    )
    run.push(s=[(1,)])
    with pytest.warns(RuntimeWarning, match="their t is beyond the horizon, like 5000; .*a larger HORIZON"):
        run.push(s=[(5000,), (5001,)])


def test_a_few_rejected_rows_are_no_news() -> None:
    """Half of a batch or less: they are counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = start()
        assert run.push(s=rows(NOW, None)).report["notes"] == []
