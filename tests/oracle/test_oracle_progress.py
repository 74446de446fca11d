"""Progress: flushes and what comes after them, unusable values, many small batches, one batch or many."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.simulate.compare_rows import same
from benchmarks.simulate.window_aggregates import over
from benchmarks.simulate.window_model import Group, Source
from benchmarks.simulate.window_rows import SECOND, Shape, stream
from benchmarks.simulate.window_sets import Case
from oracle_cases import CASES, S, w
from oracle_check import FLUSH, Push, check, cut

from headrace.program.limits import Limits
from headrace.testing import LocalRun

SUM_V = over("v", sum)


def row(t: int | None, k: str = "a", v: int = 1) -> dict[str, object]:
    return {"t": t, "k": k, "g": 1, "v": v, "d": None, "x": None, "b": None, "s": None}


def test_many_small_batches(tmp_path: Path) -> None:
    """Segments compacted in tiers again and again, with slots changing, keep every row once."""
    rng = random.Random(5)
    case = Case(
        {
            "q": (
                "SELECT k, sum(v) AS sv, count(*) AS n FROM s [RANGE 40 SECONDS SLIDE 20 SECONDS] GROUP BY k",
                Group(S, w(40, 20), ("k",), {"sv": SUM_V, "n": len}),
            ),
            "all_": (
                "SELECT count(*) AS n FROM s [RANGE ALL SLIDE 30 SECONDS]",
                Group(S, w(None, 30), (), {"n": len}),
            ),
        }
    )
    pushes = cut(rng, {"s": stream(rng, SECOND, Shape(rows=120, lulls=0))}, 30)
    actions = [Push(p.rows, slots=rng.randint(1, 4) if i % 9 == 8 else None) for i, p in enumerate(pushes)]
    run = check(case, [*actions, FLUSH], tmp_path, tasks=1, limits=Limits(fan_in=2))
    live = {m.tier for m in run.log.read(len(actions)).segments}
    assert max(live) >= 2, "this should have compacted what was compacted before"


@pytest.mark.parametrize("name", ["same_window", "rewindowed", "united_streams"])
def test_one_batch_or_many(name: str, tmp_path: Path) -> None:
    """Where no row is late, how rows are cut into batches, tasks and slots does not show in the end."""
    rng = random.Random(name)
    case = CASES[name]
    shape = Shape(rows=50, very_late=0, bad_times=0)
    rows = {s: stream(rng, case.unit, shape) for s in case.streams}
    found = []
    for batches, slots, tasks in ((1, 1, 1), (1, 4, 3), (6, 2, 1)):
        run = LocalRun(case.script, slots, tasks)
        for push in cut(rng, rows, batches):
            run.push(**{s: [tuple(r.values()) for r in given] for s, given in push.rows.items()})
        run.flush()
        found.append({q: run.rows(q) for q in case.queries})
    for other in found[1:]:
        for query in case.queries:
            same(other[query], found[0][query], query)


def test_going_on_after_a_flush(tmp_path: Path) -> None:
    """A flush closes what is open; rows of those windows that come later are late, the others count."""
    rng = random.Random(11)
    rows = stream(rng, SECOND, Shape(rows=80, lulls=0, bad_times=0))
    actions = [a for push in cut(rng, {"s": rows}, 4) for a in (push, FLUSH)]
    for name in ("rewindowed", "levels"):
        check(CASES[name], actions, tmp_path / name, slots=3)


def test_flushes_of_streams_that_never_meet(tmp_path: Path) -> None:
    """Each stream is flushed to the end of its own windows, an integer one not to the year 2024."""
    script = """
        CREATE STREAM s (t TIMESTAMP, v INT) PROGRESSING ON t SLACK 1 SECOND FROM 'none';
        CREATE STREAM i (n BIGINT, v INT) PROGRESSING ON n SLACK 1 FROM 'none';
        CREATE STREAM r (n BIGINT, v INT) PROGRESSING ON n SLACK 1 FROM 'none';
        CREATE QUERY qs AS SELECT count(*) AS c FROM s [RANGE 1 HOUR];
        CREATE QUERY qi AS SELECT count(*) AS c FROM i [RANGE 10];
        CREATE QUERY li AS SELECT count(*) AS c FROM i [RANGE ALL SLIDE 10];
        CREATE QUERY raw AS SELECT n FROM r;
    """
    run = LocalRun(script)
    run.push(s=[(1_700_000_000_000_000, 1)], i=[(7, 1)], r=[(3, 1)])
    run.flush()
    assert [r[0] for r in run.rows("qi")] == [r[0] for r in run.rows("li")] == [1]
    run.push(i=[(12, 1), (25, 1)])
    assert run.rows("qi") == [(1, 0, 10), (1, 10, 20)]
    assert run.rows("li") == [(1, 0, 10), (2, 0, 20)]
    assert run.late("i") == []


def test_streams_that_meet_are_flushed_together(tmp_path: Path) -> None:
    """A window over two streams closes although one of them never showed a row."""
    both = Source(("s", "r"))
    case = Case(
        {
            "u": (
                "SELECT count(*) AS n FROM (SELECT * FROM s UNION ALL SELECT * FROM r) [RANGE 10 SECONDS] x",
                Group(both, w(10), (), {"n": len}),
            ),
            "own": (
                "SELECT count(*) AS n FROM r [RANGE 30 SECONDS]",
                Group(Source(("r",)), w(30), (), {"n": len}),
            ),
        },
        streams=("s", "r"),
    )
    pushes = [
        Push({"s": [row(3 * SECOND)], "r": []}),
        FLUSH,
        Push({"s": [row(40 * SECOND)], "r": [row(31 * SECOND)]}),
    ]
    check(case, [*pushes, FLUSH], tmp_path)


def test_a_chained_landmark_is_flushed_to_its_last_row(tmp_path: Path) -> None:
    """The rows of a query are at the ends of its windows, after the last row of the stream."""
    t = Group(S, w(100), ("k",), {"n": len})
    case = Case(
        {
            "t": ("SELECT k, count(*) AS n FROM s [RANGE 100 SECONDS] GROUP BY k", t),
            "l": (
                "SELECT sum(n) AS n FROM t [RANGE ALL SLIDE 10 SECONDS]",
                Group(t, w(None, 10), (), {"n": over("n", sum)}),
            ),
        }
    )
    run = check(case, [Push({"s": [row(5 * SECOND), row(7 * SECOND, "b")]}), FLUSH], tmp_path)
    assert run.rows("l") == [(2, 0, 100 * SECOND)]


def test_values_nobody_can_use(tmp_path: Path) -> None:
    """NULL, the far future and the ends of 64 bits are kept aside, and do not make progress."""
    case = Case(
        {
            "q": (
                "SELECT k, count(*) AS n FROM s [RANGE 10 SLIDE 5] GROUP BY k",
                Group(S, w(10, 5, unit=1), ("k",), {"n": len}),
            )
        },
        unit=1,
        extra="HORIZON 100",
    )
    ends = [(1 << 63) - 1, -(1 << 63), (1 << 62) + 1, -(1 << 62) - 1]
    pushes = [
        Push({"s": [row(5), row(None), *(row(t) for t in ends)]}),
        Push({"s": [row(9), row(105), row(106), row(2)]}),
        Push({"s": [row(205), row(207), row(None)]}),
    ]
    check(case, [*pushes, FLUSH], tmp_path, horizon={"s": 100})


def test_a_time_of_the_far_future(tmp_path: Path) -> None:
    """A timestamp more than a day ahead of the clock is implausible, and closes nothing."""
    case = Case({"q": ("SELECT count(*) AS n FROM s [RANGE 10 SECONDS]", Group(S, w(10), (), {"n": len}))})
    far = 253_402_300_799 * SECOND  # the last second of the year 9999
    pushes = [Push({"s": [row(5 * SECOND), row(far)]}), Push({"s": [row(6 * SECOND), row(30 * SECOND)]})]
    check(case, [*pushes, FLUSH], tmp_path, limit={"s": far - 1})


def test_only_empty_batches(tmp_path: Path) -> None:
    """Nothing comes, nothing is flushed, nothing breaks."""
    case = CASES["three_deep"]
    check(case, [Push({"s": []}), FLUSH, Push({"s": []}), Push({"s": [row(None)]}), FLUSH], tmp_path)
