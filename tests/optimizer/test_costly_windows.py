"""Warnings of windows that are too fine, with the numbers."""

from __future__ import annotations

import warnings

import pytest

import headrace as hr
from headrace.optimizer.costly_windows import find_costly_windows

STREAM = "CREATE STREAM s (ts TIMESTAMP, n BIGINT, k INT) PROGRESSING ON {on} ORDERED FROM 'rate';\n"


def sentences(window: str, on: str = "ts") -> list[str]:
    text = STREAM.format(on=on) + f"CREATE QUERY q AS SELECT k, count(*) AS c FROM s [{window}] GROUP BY k;"
    return find_costly_windows(hr.Session().sql(text).graph)


CASES = {
    "RANGE 1 HOUR SLIDE 7 MILLISECONDS": ["514,286 windows", "SLIDE 1 min would give 60", "3,600,000 panes", "514,286"],
    "RANGE 100 SECONDS SLIDE 9 MILLISECONDS": ["11,112 windows", "100,000 panes", "RANGE 99999 ms", "keep 11,111"],
    "RANGE 10000001 MICROSECONDS SLIDE 1 SECOND": ["10,000,001 panes", "RANGE 10 s, a multiple", "keep 10"],
    "RANGE ALL SLIDE 1 MILLISECOND": ["3,600,000 results an hour for every group"],
}


@pytest.mark.parametrize("window", CASES)
def test_numbers_are_said(window: str) -> None:
    """Windows of a row, panes of a group or results of an hour, what they would be otherwise, and whose they are."""
    found = sentences(window)
    assert all(sentence.startswith("query q: ") for sentence in found)
    for part in CASES[window]:
        assert part in " ".join(found)


@pytest.mark.parametrize(
    "window", ["RANGE 1 HOUR SLIDE 1 SECOND", "RANGE 10000 SECONDS SLIDE 1 SECOND", "RANGE 1 DAY", "RANGE ALL SLIDE 1 SECOND"]
)
def test_usual_windows_are_not_warned_of(window: str) -> None:
    """Ten thousand windows of a row are the limit."""
    assert sentences(window) == []


def test_numbers_instead_of_times() -> None:
    """A stream that makes progress on an integer has no hours."""
    (found,) = sentences("RANGE 20000 SLIDE 1", on="n")
    assert "every row is in 20,000 windows" in found
    assert sentences("RANGE ALL SLIDE 1", on="n") == []


def test_a_session_warns_when_it_is_checked() -> None:
    """Python programs get a warning, once the set is complete and before Spark starts."""
    text = STREAM.format(on="ts") + "CREATE QUERY q AS SELECT count(*) AS c FROM s [RANGE 1 DAY SLIDE 1 MILLISECOND];"
    with pytest.warns(RuntimeWarning, match=r"query q: .*86,400,000 windows"):
        hr.Session().sql(text).check()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.Session().sql(text.replace("SLIDE 1 MILLISECOND", "")).check()
