"""A join that is added to a running set."""

from __future__ import annotations

from pathlib import Path

from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM a (ts BIGINT, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM b (ts BIGINT, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY n AS SELECT count(*) AS n FROM a [RANGE 10];
"""
LEFT = """
CREATE QUERY q AS SELECT a.ts, b.ts AS other FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - 5 AND a.ts + 2;
"""


def test_rows_whose_partners_came_before_are_not_reported_as_lonely(tmp_path: Path) -> None:
    """Rows from the join's birth on are joined; a row without a partner counts once all its partners would have been seen."""
    path = str(tmp_path / "checkpoint")
    before = LocalRun(STREAMS, path=path)
    before.push(a=[(10, 1)], b=[(10, 1)])
    before.close()
    run = LocalRun(STREAMS + LEFT, path=path)
    run.push(a=[(12, 1), (15, 2), (16, 3)], b=[(13, 1)])
    run.push(a=[(40, 9)], b=[(40, 8)])
    # (12, 1) has met the row at 13; it and (14, …) may have had partners at 10 and before, which the join has not seen; from 15 on
    # every partner would have come after the birth at 10
    assert run.rows("q") == [(12, 13), (15, None), (16, None)]
    run.push(a=[(41, 1)], b=[(60, 1)])
    assert run.rows("q") == [(12, 13), (15, None), (16, None), (40, None), (41, None)]
    run.close()


def test_a_lonely_row_near_the_birth_is_held_back(tmp_path: Path) -> None:
    """Its partner may have come before the join did."""
    path = str(tmp_path / "checkpoint")
    before = LocalRun(STREAMS, path=path)
    before.push(a=[(10, 1)], b=[(10, 1)])
    before.close()
    run = LocalRun(STREAMS + LEFT, path=path)
    run.push(a=[(11, 1), (14, 1), (15, 1)], b=[(50, 2)])
    assert run.rows("q") == [(15, None)]
    run.close()


def test_lonely_rows_near_the_birth_in_windows_that_slide(tmp_path: Path) -> None:
    """A row counts, once for each of its windows, from the first tick on whose partners the join has all
    seen.
    """
    path = str(tmp_path / "checkpoint")
    before = LocalRun(STREAMS, path=path)
    before.push(a=[(10, 1)], b=[(10, 1)])
    before.close()
    windows = "a [RANGE 6 SLIDE 3] LEFT JOIN b [RANGE 6 SLIDE 3]"
    left = f"CREATE QUERY q AS SELECT a.ts, b.ts AS other FROM {windows} ON a.k = b.k;"
    run = LocalRun(STREAMS + left, path=path)
    run.push(a=[(11, 1), (14, 1), (15, 1), (16, 1)], b=[(50, 2)])
    run.push(a=[(60, 1)])
    assert run.rows("q") == [(15, None), (15, None), (16, None), (16, None)]
    run.close()


JOINED = """
CREATE STREAM c (ts BIGINT, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY two AS SELECT a.ts, b.ts AS other FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - 5 AND a.ts + 2;
CREATE QUERY three AS
  SELECT a.ts, b.ts AS t1, c.ts AS t2 FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k;
CREATE QUERY per AS SELECT count(*) AS n FROM two [RANGE 10, WA ts];
"""


def test_inner_and_n_way_joins_see_rows_from_then_on(tmp_path: Path) -> None:
    """Rows from before do not meet those that come; windows over the join begin where all it counts was seen."""
    path = str(tmp_path / "checkpoint")
    streams = STREAMS + JOINED.partition("CREATE QUERY")[0]
    before = LocalRun(streams, path=path)
    before.push(a=[(10, 1), (11, 1)], b=[(10, 1)], c=[(9, 1)])
    before.close()
    run = LocalRun(STREAMS + JOINED, path=path)
    after = {"a": [(12, 1), (13, 2), (31, 1)], "b": [(11, 1), (14, 1), (14, 2), (32, 1)], "c": [(15, 1), (33, 1), (33, 2)]}
    run.push(**{s: rows[:2] for s, rows in after.items()})
    run.push(**{s: rows[2:] for s, rows in after.items()})
    two = sorted((a, b) for a, k in after["a"] for b, j in after["b"] if k == j and a - 5 <= b <= a + 2)
    assert run.rows("two") == two
    near = lambda x, y: -6 <= y - x < 6  # noqa: E731
    three = [
        (a, b, c)
        for a, k in after["a"]
        for b, j in after["b"]
        for c, i in after["c"]
        if k == j == i and near(a, b) and near(a, c) and near(b, c)
    ]
    assert three
    assert run.rows("three") == sorted(three)
    run.flush()
    assert run.rows("per") == [(1, 30, 40)]  # of [10, 20) and what may have been before it, not all was seen
    run.close()
