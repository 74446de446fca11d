"""A row without a partner is given once for each of its windows, at whichever tick progress stops.

Progress goes tick by tick, so that it stops at every edge: the end of a window, the last partner a row could have, and
one tick on either side.
"""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM a (t BIGINT, k INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE STREAM b (t BIGINT, k INT) PROGRESSING ON t ORDERED FROM 'memory';
"""


@pytest.mark.parametrize(("length", "slide"), [(4, 2), (5, 2), (3, 1)])
@pytest.mark.parametrize("kind", ["LEFT", "FULL"])
def test_windows_end_at_every_tick(kind: str, length: int, slide: int) -> None:
    """Rows of both streams meet nobody; windows of them close one after the other."""
    window = f"[RANGE {length} SLIDE {slide}]"
    run = LocalRun(
        f"{STREAMS} CREATE QUERY q AS SELECT a.t AS at, b.t AS bt, window_end AS until FROM a {window} {kind} JOIN b {window} "
        "ON a.k = b.k;",
        slots=1,
    )
    last, rows = 20, 8
    run.push(a=[(t, 1) for t in range(rows)])
    for t in range(last + 1):
        run.push(a=[(t + rows, 3)], b=[(t, 2)])
    starts = range(-length * slide, last, slide)

    def in_windows(times: range) -> list[tuple[int, int]]:
        return [(t, start + length) for t in times for start in starts if start <= t < start + length <= last]

    wanted = Counter((t, None, end) for t, end in in_windows(range(last + rows)))
    if kind == "FULL":
        wanted += Counter((None, t, end) for t, end in in_windows(range(last + 1)))
    assert Counter(row for row in run.rows("q") if row[2] <= last) == wanted


@pytest.mark.parametrize("upper", [0, 1, 3])
def test_bands_end_at_every_tick(upper: int) -> None:
    """A row whose last partner could come at one tick is due at the next, and never again."""
    run = LocalRun(
        f"{STREAMS} CREATE QUERY q AS SELECT a.t AS at, b.t AS bt FROM a FULL JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 2 AND a.t + {upper};",
        slots=1,
    )
    for t in range(16):
        run.push(a=[(t, 1)], b=[(t, 2)])
    run.flush()
    assert Counter(run.rows("q")) == Counter([*((t, None) for t in range(16)), *((None, t) for t in range(16))])


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "FULL JOIN"])
@pytest.mark.parametrize("words", ["RANGE 4 SLIDE 4", "RANGE 4 SLIDE 4 ORIGIN 1", "RANGE 4 SLIDE 4 ALIGN END ORIGIN 2"])
def test_a_window_that_moves_by_its_length_tumbles(kind: str, words: str) -> None:
    """It joins rows of one window, not rows that are near: 3 and 5 do not meet."""
    other = words.replace("RANGE 4 SLIDE 4", "RANGE TUMBLING 4")
    found = []
    for window in (words, other):
        text = f"SELECT a.t AS at, b.t AS bt, window_end AS until FROM a [{window}] {kind} b [{window}] ON a.k = b.k"
        run = LocalRun(f"{STREAMS} CREATE QUERY q AS {text};", slots=1)
        run.push(a=[(t, 1) for t in (0, 3, 9)], b=[(t, 1) for t in (2, 5, 8, 30)])
        run.flush()
        found.append(run.rows("q"))
    assert found[0] == found[1]
    assert ((3, 5) in [row[:2] for row in found[0]]) == ("ORIGIN 2" in words)  # from 2 to 6 is a window then
