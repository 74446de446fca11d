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
