"""Aggregates over a join by the times of both inputs, and distinct rows, against recomputation from scratch."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from benchmarks.simulate.random_routes import scatter, shrink_pids

from headrace.errors import PlanError
from headrace.testing import LocalRun

PAIRS = """
CREATE STREAM s0 (ts BIGINT, k INT) PROGRESSING ON ts {policy} FROM 'memory';
CREATE STREAM s1 (ts BIGINT, k INT) PROGRESSING ON ts {policy} FROM 'memory';
CREATE QUERY q AS
  SELECT s0.ts AS t0, s1.ts AS t1, count(*) AS n
  FROM s0 JOIN s1 ON s0.k = s1.k AND s1.ts BETWEEN s0.ts - {back} AND s0.ts + {forth}
  GROUP BY s0.ts, s1.ts;
"""


def test_a_box_closes_before_the_slab() -> None:
    """Figure 7-5: with joint punctuation the group (0, 0) is given when both inputs have passed it, not a band later."""
    run = LocalRun(PAIRS.format(policy="ORDERED", back=2, forth=2))
    run.push(s0=[(0, 1)], s1=[(0, 1)])
    assert run.rows("q") == []
    run.push(s0=[(2, 1)])
    assert run.rows("q") == []  # input 1 may still bring rows at 0
    run.push(s1=[(1, 1)])
    assert run.rows("q") == [(0, 0, 1)]  # individual punctuation would wait until an input is past 3
    run.push(s0=[(3, 1)])
    assert run.rows("q") == [(0, 0, 1), (2, 0, 1)]  # (2, 1): input 1 is not past 1 yet


@pytest.mark.parametrize("seed", range(6))
def test_pairs_of_times_against_recomputation(seed: int) -> None:
    """After every batch exactly the groups are given that the low-watermarks make complete, each once."""
    rng = random.Random(seed)
    limits = shrink_pids(rng)
    slack, back, forth = rng.randint(0, 4), rng.randint(0, 5), rng.randint(0, 5)
    text = PAIRS.format(policy=f"SLACK {slack}", back=back, forth=forth)
    run = LocalRun(text, slots=rng.randint(1, 3), limits=limits)
    seen: dict[str, list[tuple[int, int]]] = {"s0": [], "s1": []}
    bounds: dict[str, int | None] = {"s0": None, "s1": None}
    now = 0
    given: set[tuple[int, int, int]] = set()
    for _ in range(12):
        now += rng.randint(0, 4)
        rows = {}
        for name in seen:
            low = bounds[name] if bounds[name] is not None else -slack
            ahead = rng.choice([0, 0, 7])  # one input may run ahead of the other
            pushed = [
                (rng.randint(max(low, now - slack), max(low, now) + ahead), rng.randint(1, 2))
                for _ in range(rng.randint(0, 5))
            ]
            seen[name] += pushed
            if pushed:
                rows[name] = pushed
        scatter(rng, run)
        run.push(**rows)
        for name, all_rows in seen.items():
            bounds[name] = max(t for t, _ in all_rows) - slack if all_rows else None
        counts = Counter(
            (a, b) for a, k in seen["s0"] for b, j in seen["s1"] if k == j and -back <= b - a <= forth
        )
        b0, b1 = bounds["s0"], bounds["s1"]
        if b0 is not None and b1 is not None:
            slab0, slab1 = min(b0, b1 - forth), min(b1, b0 - back)
            given |= {
                (a, b, n) for (a, b), n in counts.items() if (a < b0 and b < b1) or a < slab0 or b < slab1
            }
        assert run.rows("q") == sorted(given)
    run.flush()
    assert run.rows("q") == sorted((a, b, n) for (a, b), n in counts.items())


def test_minutes_of_both_inputs() -> None:
    """date_trunc of both times groups by pairs of windows."""
    run = LocalRun("""
CREATE STREAM a (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM b (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY q AS
  SELECT date_trunc('MINUTE', a.ts) AS m0, date_trunc('MINUTE', b.ts) AS m1, count(*) AS n
  FROM a JOIN b ON a.k = b.k AND abs(a.ts - b.ts) <= INTERVAL 2 MINUTES
  GROUP BY date_trunc('MINUTE', a.ts), date_trunc('MINUTE', b.ts);
""")
    minute = 60_000_000
    run.push(a=[(10, 1), (20, 1), (minute + 5, 1)], b=[(30, 1), (minute, 1)])
    assert run.rows("q") == [(0, 0, 2)]
    run.flush()
    assert run.rows("q") == [(0, 0, 2), (0, minute, 2), (minute, 0, 1), (minute, minute, 1)]


BOXES = """
CREATE STREAM s0 (ts BIGINT, k INT) PROGRESSING ON ts {policy} FROM 'memory';
CREATE STREAM s1 (ts BIGINT, k INT) PROGRESSING ON ts {policy} FROM 'memory';
CREATE QUERY q AS
  SELECT x.start AS x0, y.start AS y0, y.end AS y1, count(*) AS n
  FROM s0 JOIN s1 ON s0.k = s1.k AND s1.ts BETWEEN s0.ts - {back} AND s0.ts + {forth}
  GROUP BY window(s0.ts, {wide}) AS x, window(s1.ts, 3, 3, 1) AS y;
CREATE QUERY last AS
  SELECT count(*) AS n, window.start AS start
  FROM s0 JOIN s1 ON s0.k = s1.k AND s1.ts BETWEEN s0.ts - {back} AND s0.ts + {forth}
  GROUP BY window(greatest(s0.ts, s1.ts), {wide});
"""


@pytest.mark.parametrize("seed", range(6))
def test_windows_of_both_inputs_against_recomputation(seed: int) -> None:
    """A box is given when both inputs have passed it, or the join has passed one of its sides; windows of the later time when
    both inputs have passed them. Each once, with all that is in it.
    """
    rng = random.Random(f"boxes {seed}")
    slack, back, forth, wide = rng.randint(0, 3), rng.randint(0, 6), rng.randint(0, 6), rng.randint(1, 5)
    policy = f"SLACK {slack}"
    run = LocalRun(BOXES.format(policy=policy, back=back, forth=forth, wide=wide), slots=rng.randint(1, 3))
    seen: dict[str, list[tuple[int, int]]] = {"s0": [], "s1": []}
    bounds: dict[str, int | None] = {"s0": None, "s1": None}
    given: set[tuple[int, ...]] = set()
    lasts: set[tuple[int, ...]] = set()
    now = -6
    for batch in range(11):
        now += rng.randint(0, 4)
        rows = {}
        for name in seen if batch < 10 else ():
            low = bounds[name] if bounds[name] is not None else -10
            ahead = rng.choice([0, 0, 9])
            first = max(low, now - slack)
            pushed = [(rng.randint(first, max(first, now + ahead)), rng.randint(1, 2)) for _ in range(rng.randint(0, 5))]
            seen[name] += pushed
            if pushed:
                rows[name] = pushed
        if batch == 10:
            run.flush()
        else:
            run.push(**rows)
            for name, all_rows in seen.items():
                bounds[name] = max(t for t, _ in all_rows) - slack if all_rows else None
        pairs = [(a, b) for a, k in seen["s0"] for b, j in seen["s1"] if k == j and -back <= b - a <= forth]
        boxes = Counter((a // wide * wide, (b - 1) // 3 * 3 + 1) for a, b in pairs)
        late = Counter(max(a, b) // wide * wide for a, b in pairs)
        b0, b1 = (100, 100) if batch == 10 else (bounds["s0"], bounds["s1"])
        if b0 is not None and b1 is not None:
            slabs = min(b0, b1 - forth), min(b1, b0 - back)
            for (x, y), n in boxes.items():
                ends = x + wide, y + 3
                if (ends[0] <= b0 and ends[1] <= b1) or ends[0] <= slabs[0] or ends[1] <= slabs[1]:
                    given.add((x, y, y + 3, n))
            lasts |= {(n, start, start, start + wide) for start, n in late.items() if start + wide <= min(b0, b1)}
        assert run.rows("q") == sorted(given)
        assert run.rows("last") == sorted(lasts)


def test_windows_of_times() -> None:
    """The start and end of each window are times; without a name a window is spoken of as it is written."""
    run = LocalRun("""
CREATE STREAM a (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM b (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY q AS
  SELECT window(a.ts, '1 minute').start AS m0, window(b.ts, '2 minutes').end AS m1, count(*) AS n
  FROM a JOIN b ON a.k = b.k AND abs(a.ts - b.ts) <= INTERVAL 2 MINUTES
  GROUP BY window(a.ts, '1 minute'), window(b.ts, '2 minutes');
""")
    minute = 60_000_000
    run.push(a=[(10, 1), (minute + 5, 1)], b=[(30, 1), (2 * minute + 1, 1)])
    assert run.rows("q") == [(0, 2 * minute, 1)]
    run.flush()
    assert run.rows("q") == [(x, y * minute, 1) for x in (0, minute) for y in (2, 4)]


@pytest.mark.parametrize("seed", range(4))
def test_distinct_rows_against_recomputation(seed: int) -> None:
    """SELECT DISTINCT gives each row once, in the batch it first comes, whatever the order; nulls are equal."""
    rng = random.Random(seed)
    limits = shrink_pids(rng)
    run = LocalRun(
        """
CREATE STREAM s (ts BIGINT, k INT, v STRING) PROGRESSING ON ts SLACK 5 FROM 'memory';
CREATE QUERY q AS SELECT DISTINCT ts, k, v FROM s WHERE v IS NULL OR v <> 'x';
""",
        slots=rng.randint(1, 3),
        limits=limits,
    )
    bound, expected = -100, set()
    for batch in range(15):
        rows = [
            (batch * 2 - rng.randint(0, 12), rng.choice([None, 1, 2]), rng.choice([None, "a", "x"]))
            for _ in range(rng.randint(0, 12))
        ]
        expected |= {r for r in rows if r[0] >= bound and r[2] != "x"}
        scatter(rng, run)
        run.push(**({"s": rows} if rows else {}))
        bound = max([bound, *(t - 5 for t, _, _ in rows)])
        got = run.rows("q")
        assert sorted(got, key=repr) == sorted(expected, key=repr)
    assert all(m.upper > bound for m in run.manifest.segments)  # nothing is kept that progress has passed


def test_distinct_rows_need_the_progressing_attribute() -> None:
    """Without it nothing could ever be forgotten, and the message says what to write."""
    with pytest.raises(PlanError, match="select the progressing attribute too"):
        LocalRun("""
CREATE STREAM s (ts BIGINT, k INT) PROGRESSING ON ts SLACK 5 FROM 'memory';
CREATE QUERY q AS SELECT DISTINCT k FROM s;
""")
