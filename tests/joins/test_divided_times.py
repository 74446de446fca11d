"""Times of different paces: `r.time / 2 = s.time + 1` joins what plain SQL joins, in whatever batches rows come."""

from __future__ import annotations

import random

import pytest

from headrace.testing import LocalRun

STREAMS = "".join(
    f"CREATE STREAM {n} (time BIGINT, k INT, v INT) PROGRESSING ON time SLACK 5 FROM 'memory';" for n in "rs"
)


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
@pytest.mark.parametrize("condition", ["r.time / 2 = s.time + 1", "s.time - 1 = r.time / 3"])
def test_times_of_different_paces(kind: str, condition: str) -> None:
    """Odd times meet nobody; negative ones neither meet what a division towards zero would give."""
    rng = random.Random(kind + condition)
    query = f"SELECT r.v AS one, s.v AS other FROM r {kind} JOIN s ON {condition} AND r.k = s.k"
    run, all_rows = LocalRun(f"{STREAMS} CREATE QUERY q AS {query};", slots=2), {"r": [], "s": []}
    for batch in range(-2, 6):
        push = {
            n: [(10 * pace * batch + rng.randrange(10), rng.randrange(2), rng.randrange(10**6)) for _ in range(12)]
            for n, pace in (("r", 2 if "/ 2" in condition else 3), ("s", 1))
        }
        for name, rows in push.items():
            all_rows[name] += rows
        run.push(**push)
    run.flush()
    assert run.late("r") == run.late("s") == []

    def meet(time: int, other: int) -> bool:
        return time == 2 * (other + 1) if "/ 2" in condition else time == 3 * (other - 1)

    expected = []
    for time, k, v in all_rows["r"]:
        partners = [o for t, key, o in all_rows["s"] if key == k and meet(time, t)]
        expected += [(v, o) for o in partners or ([None] if kind == "LEFT" else [])]
    assert expected
    assert sorted(run.rows("q"), key=str) == sorted(expected, key=str)
