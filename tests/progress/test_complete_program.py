"""How far a flush goes: far enough for everything that came, and no further."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.progress import LOWEST, Frontier
from headrace.progress.advance_program import Interval, ProgressRule, advance_program, pair_up
from headrace.progress.complete_program import (
    PendingResults,
    find_completion,
    find_largest,
    find_last_reports,
)
from headrace.progress.monotone_steps import Shift
from headrace.progress.waits import Back, Wait
from headrace.testing import LocalRun
from headrace.windows import Sliding, make_window

SECOND = 1_000_000
TEN = Sliding(10, range=10)


def test_the_largest_tick_follows_the_values() -> None:
    """Through functions, to the last tick of the last window; of several sources the largest; of none nothing."""
    rules = (
        ProgressRule("x", (Wait("a"), Wait("b")), (Wait("a", (Shift(3),)),)),
        ProgressRule("w", (Wait("x"),), (Wait("x"),), TEN),
        ProgressRule("u", (Wait("w"), Wait("b")), (Wait("w"), Wait("b"))),
        ProgressRule("none", (Wait("c"),), (Wait("c"),)),
        ProgressRule("needed", (Wait("a"),), ()),
    )
    assert find_largest(rules, {"a": 18, "b": 5}) == {"a": 18, "b": 5, "x": 21, "w": 29, "u": 29}
    assert find_largest(rules, {"a": 1, "b": 50})["u"] == 50


def test_a_flush_goes_as_far_as_what_waits_demands() -> None:
    """Windows to their end, rows without a partner a tick beyond; a stream that nothing waits for to its largest value."""
    rules = (
        ProgressRule("n", (Wait("a"),), (Wait("a"),)),
        ProgressRule("side", (Wait("b", (Back(4),)),), ()),
    )
    pending = (PendingResults("n", "n", "n", TEN), PendingResults("n", "n", "side"))
    assert find_completion(rules, pending, {"a": 18, "c": 7}) == {"a": 20, "b": 23, "c": 7}
    assert find_completion(rules, pending, {"c": 7}) == {"c": 7}, "nothing is held of what did not come"
    assert find_completion(rules, (), {"a": 18}) == {"a": 18}
    both = (PendingResults("n", "n", "n", TEN), PendingResults("n", "n", "n", Sliding(50, range=50)))
    assert find_completion(rules, both, {"a": 18}) == {"a": 50}
    assert find_completion(rules, both[::-1], {"a": 18}) == {"a": 50}


def test_a_flush_completes_what_it_says() -> None:
    """With the bounds it gives, everything that waits is decided."""
    rules = (
        ProgressRule("x", (Wait("a", (Back(9),)), Wait("b")), (Wait("a"),)),
        ProgressRule("w", (Wait("x"),), (Wait("x"),), TEN),
        ProgressRule("v", (Wait("w", (Shift(2),)),), (Wait("w", (Shift(3),)),)),
    )
    pending = (PendingResults("x", "x", "x", TEN), PendingResults("v", "v", "v"))
    found = find_completion(rules, pending, {"a": 11})
    progress = advance_program(rules, pair_up({}, {name: Frontier(tick) for name, tick in found.items()}))
    assert progress["x"].after.bound >= 20
    assert progress["v"].after.bound == 23
    assert found == {"a": 30, "b": 21}


def test_a_landmark_is_reported_once_after_its_last_row() -> None:
    """Its running value has no last window."""
    rules = (ProgressRule("n", (Wait("a"),), (Wait("a"),)),)
    landmark = make_window(None, 7)
    pending = (PendingResults("n", "n", "n", landmark), PendingResults("m", "n", "n", TEN))
    assert find_last_reports(rules, pending, {"a": 15}) == {"n": 21}
    assert find_last_reports(rules, pending, {"b": 15}) == {}


def test_progress_brings_what_it_decides() -> None:
    """A window when its end is passed, for a group when the group's bound passes; rows that wait whenever anything is new."""
    window = PendingResults("n", "n", "n", TEN)
    assert not window.is_brought(Interval(Frontier(1), Frontier(9)))
    assert window.is_brought(Interval(Frontier(1), Frontier(10)))
    assert window.is_brought(Interval(Frontier(1), Frontier(1, ((("p",), 4),))))
    rows = PendingResults("n", "n", "side")
    assert rows.is_brought(Interval(Frontier(1), Frontier(2)))
    assert not rows.is_brought(Interval(Frontier(2), Frontier(2)))
    assert not rows.is_brought(Interval(Frontier(LOWEST), Frontier(LOWEST)))


STREAMS = "".join(f"CREATE STREAM {n} (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';\n" for n in "ab")
JOINED = """
CREATE QUERY sa AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k;
CREATE QUERY sb AS SELECT k, count(*) AS n FROM b [RANGE 5 SECONDS] GROUP BY k;
CREATE QUERY p AS SELECT sa.k AS k, sa.window_end AS until FROM sa JOIN sb ON sa.k = sb.k;
"""
NEAR = "p.k = a.k AND a.ts BETWEEN p.until AND p.until + INTERVAL 5 SECONDS"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k, count(*) AS n FROM p [RANGE 5 SECONDS] GROUP BY k", [(1, 1, 5 * SECOND, 10 * SECOND)]),
        (f"SELECT p.k AS k, a.v AS v FROM p LEFT JOIN a ON {NEAR}", [(1, None)]),
        (f"SELECT p.k AS k, a.v AS v FROM p FULL JOIN a ON {NEAR}", [(1, None), (None, 7)]),
        (f"SELECT p.k AS k FROM p WHERE NOT EXISTS (SELECT 1 FROM a WHERE {NEAR})", [(1,)]),
        ("SELECT p.k AS k, a.v AS v FROM p LEFT JOIN a FOR SYSTEM_TIME AS OF p.until ON p.k = a.k", [(1, 7)]),
        ("SELECT max(n) AS n FROM (SELECT k, count(*) AS n FROM p [RANGE 5 SECONDS] GROUP BY k)", [(1, 5 * SECOND, 10 * SECOND)]),
        ("SELECT count(*) AS n FROM (SELECT until + INTERVAL 7 SECONDS AS due FROM p) [RANGE 5 SECONDS]", [(1, 10 * SECOND, 15 * SECOND)]),
    ],
)
def test_what_stands_on_the_end_of_joined_windows_is_flushed(query: str, expected: list[Any]) -> None:
    """The end of a window is a tick after its last row: what stands on it waits for that tick, and a flush brings it."""
    run = LocalRun(f"{STREAMS}{JOINED}CREATE QUERY q AS {query};", slots=2)
    run.push(a=[(SECOND, 1, 7)], b=[(SECOND, 1, 1)])
    run.flush()
    assert sorted(run.rows("q"), key=repr) == sorted(expected, key=repr)


def test_the_largest_tick_of_joined_windows_is_their_end() -> None:
    """A windowed relation holds the last tick of its window, a join of two the end, as does a lookup of versions by it."""
    versions = "SELECT sa.window_end AS until, b.v AS v FROM sa LEFT JOIN b FOR SYSTEM_TIME AS OF sa.window_end ON sa.k = b.k"
    run = LocalRun(f"{STREAMS}{JOINED}CREATE QUERY q AS {versions};")
    found = find_largest(run.program.rules, {"a": SECOND, "b": 6 * SECOND})
    assert (found["sa.window_end"], found["sb.window_end"]) == (5 * SECOND - 1, 10 * SECOND - 1)
    assert (found["p.until"], found["q.until"]) == (5 * SECOND, 5 * SECOND)
    rows = next(n for n in run.program.nodes if n.label.startswith("rows of sa") and not n.feeds and found[n.name] == 5 * SECOND)
    completion = find_completion(run.program.rules, run.program.pending, {"a": SECOND, "b": 6 * SECOND})
    assert completion == {"a": 5 * SECOND, "b": 10 * SECOND}, rows.label


def test_a_flush_goes_no_further_than_windows_ask() -> None:
    """A stream is flushed for its own windows, not for those of another."""
    run = LocalRun(f"{STREAMS}CREATE QUERY x AS SELECT count(*) AS n FROM a [RANGE 5 SECONDS];\nCREATE QUERY y AS SELECT ts FROM b;")
    run.push(a=[(SECOND, 1, 1)], b=[(2 * SECOND, 1, 1)])
    marks = {name: state.low_watermark for name, state in run.flush().streams.items()}
    assert marks == {"a": 5 * SECOND, "b": 2 * SECOND}
