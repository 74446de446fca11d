"""Joins of three inputs, one of them windowed, whose times are bound twice: every bound holds to the tick."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM a (ts BIGINT, k INT, j INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM b (ts BIGINT, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM c (ts BIGINT, j INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY w AS SELECT k, count(*) AS n FROM b [RANGE 5] GROUP BY k;
CREATE QUERY q AS SELECT a.ts, w.window_end AS ends, c.ts AS tc
  FROM a JOIN w ON a.k = w.k AND w.window_end BETWEEN a.ts AND a.ts + 6
    JOIN c ON c.j = a.j AND c.ts BETWEEN a.ts - 4 AND a.ts + 4 AND {bound};
"""


@pytest.mark.parametrize(
    ("bound", "holds"),
    [
        ("w.window_end <= c.ts + 3", lambda end, time: end <= time + 3),
        ("w.window_end < c.ts + 3", lambda end, time: end < time + 3),
        ("w.window_end >= c.ts - 2", lambda end, time: end >= time - 2),
        ("c.ts > w.window_end - 3", lambda end, time: time > end - 3),
    ],
)
def test_a_second_bound_on_a_windowed_input(bound: str, holds: Callable[[int, int], bool]) -> None:
    """The join goes by a's time with w and with c; the bound between these two is a condition on ends of
    windows.
    """
    rng = random.Random(1)
    a = sorted((rng.randrange(60), rng.randrange(2), rng.randrange(2)) for _ in range(60))
    b, c = (sorted((rng.randrange(60), rng.randrange(2)) for _ in range(n)) for n in (30, 60))
    run = LocalRun(SCRIPT.format(bound=bound), slots=2)
    for part in range(3):
        run.push(**{s: r[part * len(r) // 3 : (part + 1) * len(r) // 3] for s, r in (("a", a), ("b", b), ("c", c))})
    run.flush()
    windows = {(ts // 5 * 5 + 5, k) for ts, k in b}
    near = [(ta, j, end) for ta, k, j in a for end, key in windows if k == key and ta <= end <= ta + 6]
    both = [(ta, end, tc) for ta, j, end in near for tc, i in c if i == j and ta - 4 <= tc <= ta + 4]
    expected = sorted(row for row in both if holds(row[1], row[2]))
    assert 0 < len(expected) < len(both)
    assert run.rows("q") == expected
    run.close()
