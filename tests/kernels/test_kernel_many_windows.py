"""Very many windows at once: time is linear in rows and results, whatever RANGE and SLIDE."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from headrace.kernels.operator import Due, split_rounds
from headrace.progress import HIGHEST, LOWEST
from headrace.testing import LocalRun

SECOND = 1_000_000


def run_once(window: str, rows: list[tuple[int, int, int]], calls: str) -> tuple[LocalRun, float]:
    run = LocalRun(
        f"""CREATE STREAM s (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';
        CREATE QUERY q AS SELECT k, {calls} FROM s [{window}] GROUP BY k;""",
        slots=1,
    )
    started = time.perf_counter()
    run.push(s=rows)
    return run, time.perf_counter() - started


@pytest.mark.parametrize("calls", ["sum(v) AS n, max(v) AS m", "sum(v) AS n, count(DISTINCT v) AS m"])
def test_windows_of_ten_minutes_every_second(calls: str) -> None:
    """Four thousand overlapping windows over one key took minutes when each was a piece of SQL."""
    run, seconds = run_once("RANGE 10 MINUTES SLIDE 1 SECOND", [(i * SECOND, 1, i) for i in range(4000)], calls)
    found = {end // SECOND: (n, m) for _, n, m, _, end in run.rows("q")}
    values = np.concatenate([[0], np.cumsum(np.arange(4000))])
    for end in range(1, 4000):
        first = max(0, end - 600)
        expected = end - 1 if "max" in calls else end - first
        assert found[end] == (values[end] - values[first], expected)
    assert len(found) == 3999
    assert seconds < 20


def test_windows_of_a_millisecond_slide() -> None:
    """600 rows in windows of 1,000 s every millisecond: 599,000 results, not 600 million copies."""
    run, seconds = run_once(
        "RANGE 1000 SECONDS SLIDE 1 MILLISECOND", [(i * SECOND, 1, i) for i in range(600)], "count(*) AS n"
    )
    (file,) = run.manifest.results["q"]
    assert file.rows == 599_000
    assert seconds < 30


def test_rounds_cover_progress_and_bound_their_cost() -> None:
    """Intervals follow each other from the beginning to the end of time; none costs much more than the limit."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        dues = []
        for _ in range(rng.integers(0, 4)):
            runs = int(rng.integers(1, 6))
            count = rng.integers(1, 30, runs)
            step = int(rng.integers(1, 5))
            first = np.cumsum(np.concatenate([[rng.integers(-50, 50)], count[:-1] * step]))
            dues.append(Due(first, step, count, rng.integers(1, 40, runs)))
        limit = int(rng.integers(1, 100))
        rounds = split_rounds(dues, limit)
        assert (rounds[0][0], rounds[-1][1]) == (LOWEST, HIGHEST)
        assert all(a[1] == b[0] for a, b in pairwise(rounds))
        ends = [
            (int(f) + i * d.step, int(c))
            for d in dues
            for f, n, c in zip(d.first, d.count, d.cost, strict=True)
            for i in range(n)
        ]
        for low, high in rounds:
            costs = [c for end, c in ends if low < end <= high]
            distinct = {end for end, _ in ends if low < end <= high}
            assert sum(costs) <= (len(dues) + 1) * max(limit, max(costs, default=0)) or len(distinct) == 1
        total = sum(c for _, c in ends)
        assert len(rounds) == 1 or total > limit
