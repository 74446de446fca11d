"""FOR SYSTEM_TIME AS OF against a search in plain Python, with disorder, ties, NULL keys, empty batches, other slots and restarts.

After every batch the results are those of exactly the rows whose time the low-watermark of the versions has passed: none is
missing, and none came before it was certain.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulate.random_routes import scatter, shrink_pids

from headrace.errors import CheckpointError
from headrace.kernels import node_segments
from headrace.program.limits import Limits
from headrace.program.version_joins import VersionNode
from headrace.testing import LocalRun

SECOND = 1_000_000
STREAMS = """
CREATE STREAM o (ts TIMESTAMP, cur STRING, amount INT) PROGRESSING ON ts SLACK 4 SECONDS FROM 'memory';
CREATE STREAM r (ts TIMESTAMP, cur STRING, note STRING, rate INT) PROGRESSING ON ts SLACK 3 SECONDS FROM 'memory';
"""
SCRIPT = (
    STREAMS
    + """
CREATE QUERY q AS SELECT o.ts, o.amount, v.rate FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts AS v ON o.cur = v.cur;
CREATE QUERY l AS SELECT o.ts, o.amount, v.note, v.rate FROM o LEFT JOIN r FOR SYSTEM_TIME AS OF o.ts v
  ON v.cur = o.cur AND v.rate > 3;
CREATE QUERY w AS SELECT o.ts, v.rate FROM o, r FOR SYSTEM_TIME AS OF o.ts v WHERE v.cur = o.cur AND o.amount > 5 AND v.rate > 3;
CREATE QUERY n AS SELECT count(*) AS n, sum(v.rate) AS rates FROM o [RANGE 10 SECONDS]
  LEFT JOIN r FOR SYSTEM_TIME AS OF o.ts v ON v.cur = o.cur;
CREATE QUERY beside AS SELECT cur, count(*) AS n FROM o [RANGE 1 SECOND] GROUP BY cur;
CREATE QUERY self AS SELECT a.ts, b.rate FROM r a JOIN r FOR SYSTEM_TIME AS OF a.ts b ON a.note = b.cur;
"""
)
KEYS = ["A", "B", "C", None]


def find_version(versions: list[tuple[Any, ...]], key: str | None, time: int) -> tuple[Any, ...] | None:
    """The last one; of several at a time the largest, NULL less than anything."""
    known = [v for v in versions if key is not None and v[1] == key and v[0] <= time]
    return max(known, key=lambda v: (v[0], *((x is not None, x or 0) if not isinstance(x, str) else (True, x) for x in v[2:])), default=None)


def sort(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda r: [(v is not None, str(type(v)), v) for v in r])


def answer(orders: list[tuple[Any, ...]], versions: list[tuple[Any, ...]], bound: int | None) -> dict[str, list[tuple[Any, ...]]]:
    """What must be there when the versions are known up to `bound`."""
    certain = -1 if bound is None else bound
    out: dict[str, list[tuple[Any, ...]]] = {"q": [], "l": [], "w": [], "self": []}
    for time, key, amount in orders:
        if time >= certain and key is not None:
            continue
        found = find_version(versions, key, time)
        rate = found[3] if found is not None else None
        if found is not None:
            out["q"].append((time, amount, rate))
        suits = rate is not None and rate > 3
        out["l"].append((time, amount, *(found[2:] if found is not None and suits else (None, None))))
        if suits and amount > 5:
            out["w"].append((time, rate))
    for time, _, note, _ in versions:
        if time < certain and (found := find_version(versions, note, time)) is not None:
            out["self"].append((time, found[3]))
    return {query: sort(rows) for query, rows in out.items()}


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]


@pytest.mark.parametrize("seed", SEEDS)
def test_versions_are_those_valid_at_the_time(seed: int, tmp_path: Path) -> None:
    """Inner, left, with a residual, over itself, and under an aggregate: what Python finds, as soon as it is certain."""
    rng = random.Random(seed)
    limits = replace(shrink_pids(random.Random(seed)), fan_in=2, round_rows=2)  # many rounds of progress in a batch
    path = str(tmp_path / "checkpoint")
    run = LocalRun(SCRIPT, rng.choice([1, 2, 3]), path=path, limits=limits)
    orders: list[tuple[Any, ...]] = []
    versions: list[tuple[Any, ...]] = []
    times = {"o": 0, "r": 0}
    for batch in range(12):
        if rng.random() < 0.2:
            run.close()
            run = LocalRun(SCRIPT, rng.choice([1, 2, 3]), path=path, limits=limits)
        marks = {s: run.manifest.streams[s].low_watermark for s in "or"} if run.manifest.version else {"o": None, "r": None}
        for stream in "or":
            times[stream] += rng.choice([0, 0, 1, 2, 5])
        new_orders = [
            (max(0, times["o"] - rng.randint(0, 5)) * SECOND, rng.choice(KEYS), rng.randint(0, 9)) for _ in range(rng.randint(0, 5))
        ]
        new_versions = [
            (max(0, times["r"] - rng.randint(0, 4)) * SECOND, rng.choice(KEYS), rng.choice("ABx"), rng.choice([None, 1, 4, 7]))
            for _ in range(rng.choice([0, 2, 5]))
        ]
        scatter(rng, run)
        run.push(o=new_orders, r=new_versions)
        orders += [x for x in new_orders if marks["o"] is None or x[0] >= marks["o"]]
        versions += [x for x in new_versions if marks["r"] is None or x[0] >= marks["r"]]
        if batch % 3 == 2:
            expected = answer(orders, versions, run.manifest.streams["r"].low_watermark)
            assert {query: run.rows(query) for query in expected} == expected, batch
    run.flush()
    expected = answer(orders, versions, 1 << 60)
    assert {query: run.rows(query) for query in expected} == expected
    counted = run.rows("n")
    assert sum(row[0] for row in counted) == len(orders)
    assert sum(row[1] or 0 for row in counted) == sum(row[2] or 0 for row in expected["q"])
    run.close()


def test_old_versions_and_answered_rows_are_let_go_of() -> None:
    """However long a run lasts, it holds a few versions a key and the rows that wait."""
    run = LocalRun(SCRIPT.split("CREATE QUERY l")[0], slots=1, limits=Limits(fan_in=2))
    for i in range(16):
        at = i * 10 * SECOND
        run.push(o=[(at, key, i) for key in "AB"], r=[(at + k, key, "x", i) for key in "AB" for k in range(3)])
    (versions,) = [n.name for n in run.program.nodes if isinstance(n, VersionNode)]
    held = {name: sum(m.live_rows for m in run.manifest.segments if m.node == name) for name in {m.node for m in run.manifest.segments}}
    assert held[versions] <= 24  # of 96
    assert sum(held.values()) - held[versions] <= 4
    assert len(run.rows("q")) == 2 * 15


def test_a_batch_reads_the_versions_it_can_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many keys with versions, those of the mini-partitions that the batch asks for, and none without a question."""
    read: list[int] = []
    whole = node_segments.NodeSegments.read_between

    def watched(self: Any, *wanted: Any) -> Any:
        tables = whole(self, *wanted)
        read.append(sum(t.num_rows for t in tables))
        return tables

    run = LocalRun(SCRIPT.split("CREATE QUERY l")[0], slots=1)
    run.push(r=[(0, f"key{i}", "x", i) for i in range(2000)])
    run.push(r=[(SECOND, "key7", "x", 70), (9 * SECOND, "key8", "x", 80)])
    monkeypatch.setattr(node_segments.NodeSegments, "read_between", watched)
    run.push(r=[(20 * SECOND, "key9", "x", 90)])
    assert sum(read) == 0
    run.push(o=[(5 * SECOND, "key7", 1), (2 * SECOND, "key8", 2)])
    assert run.rows("q") == [(2 * SECOND, 2, 8), (5 * SECOND, 1, 70)]
    assert 0 < sum(read) < 200  # of 2003
    run.close()


def test_a_version_of_any_age_is_found() -> None:
    """A key that was told once, long ago, still has that version; the heartbeat of other keys is enough to know it."""
    run = LocalRun(SCRIPT.split("CREATE QUERY l")[0])
    run.push(r=[(0, "A", "x", 42)])
    for i in range(1, 12):
        run.push(r=[(i * 100 * SECOND, "B", "x", i)], o=[(i * 100 * SECOND, "C", 0)])
    run.push(o=[(1150 * SECOND, "A", 7)], r=[(1200 * SECOND, "B", "x", 1)])
    assert run.rows("q") == [(1150 * SECOND, 7, 42)]


def test_versions_cannot_be_asked_for_by_a_query_that_comes_later(tmp_path: Path) -> None:
    """Nobody has kept the versions from before it, so the checkpoint refuses it."""
    path = str(tmp_path / "checkpoint")
    first = STREAMS + "CREATE QUERY n AS SELECT count(*) AS n FROM o [RANGE 1 SECOND];"
    run = LocalRun(first, path=path)
    run.push(r=[(0, "A", "x", 42)], o=[(0, "A", 1)])
    run.close()
    with pytest.raises(CheckpointError, match="a new query asks for versions AS OF a time"):
        LocalRun(first + SCRIPT.removeprefix(STREAMS).split("CREATE QUERY l")[0], path=path)


WINDOWED = (
    STREAMS
    + """
CREATE QUERY sums AS SELECT cur, sum(amount) AS total FROM o [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY cur;
CREATE QUERY highs AS SELECT cur, max(rate) AS high FROM r [RANGE 3 SECONDS] GROUP BY cur;
CREATE QUERY valued AS SELECT s.window_end AS at, s.cur, s.total, v.rate FROM sums s
  LEFT JOIN r FOR SYSTEM_TIME AS OF s.window_end v ON s.cur = v.cur;
CREATE QUERY rated AS SELECT o.ts, o.amount, h.high FROM o JOIN highs FOR SYSTEM_TIME AS OF o.ts h ON o.cur = h.cur;
CREATE QUERY both AS SELECT s.window_end AS at, s.total, h.high, h.window_start AS since FROM sums s
  LEFT JOIN highs FOR SYSTEM_TIME AS OF s.window_end h ON s.cur = h.cur;
CREATE QUERY again AS SELECT count(*) AS n, sum(rate) AS rates FROM valued [RANGE 6 SECONDS];
"""
)


def answer_windows(
    orders: list[tuple[Any, ...]], rates: list[tuple[Any, ...]], sums: list[tuple[Any, ...]], highs: list[tuple[Any, ...]]
) -> dict[str, list[tuple[Any, ...]]]:
    """What plain Python finds, given all rows and the results of the windows."""
    ended = [(end, cur, high, start) for cur, high, start, end in highs]

    def last(rows: list[tuple[Any, ...]], key: str | None, time: int) -> tuple[Any, ...] | None:
        known = [row for row in rows if key is not None and row[1] == key and row[0] <= time]
        return max(known, key=lambda row: row[0], default=None)

    valued, rated, both = [], [], []
    for cur, total, _, end in sums:
        rate, high = find_version(rates, cur, end), last(ended, cur, end)
        valued.append((end, cur, total, rate[3] if rate is not None else None))
        both.append((end, total, *(high[2:] if high is not None else (None, None))))
    for time, cur, amount in orders:
        if (high := last(ended, cur, time)) is not None:
            rated.append((time, amount, high[2]))
    return {"valued": sort(valued), "rated": sort(rated), "both": sort(both)}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_results_of_windows_ask_for_versions_and_are_versions(
    seed: int, tmp_path: Path
) -> None:
    """At the end of their window, on either side and on both; times are whole seconds, so versions meet the very end."""
    limits = Limits(fan_in=2, round_rows=2)
    rng = random.Random(seed)
    path = str(tmp_path / "checkpoint")
    run = LocalRun(WINDOWED, rng.choice([1, 2, 3]), path=path, limits=limits)
    orders: list[tuple[Any, ...]] = []
    rates: list[tuple[Any, ...]] = []
    now = 0
    for _ in range(9):
        if rng.random() < 0.3:
            run.close()
            run = LocalRun(WINDOWED, rng.choice([1, 2, 3]), path=path, limits=limits)
        now += rng.choice([0, 1, 3])
        new_orders = [(max(0, now - rng.randint(0, 3)) * SECOND, rng.choice(KEYS), rng.randint(0, 9)) for _ in range(rng.randint(0, 4))]
        new_rates = [
            (max(0, now - rng.randint(0, 2)) * SECOND, rng.choice(KEYS), "x", rng.choice([1, 4, 7])) for _ in range(rng.choice([0, 3]))
        ]
        run.push(o=new_orders, r=new_rates)
        orders += new_orders
        rates += new_rates
        found = {query: run.rows(query) for query in ("valued", "rated", "both")}
        certain = answer_windows(orders, rates, run.rows("sums"), run.rows("highs"))
        assert all(set(rows) <= set(certain[query]) for query, rows in found.items() if query == "valued")
    run.flush()
    assert not run.late("o")
    assert not run.late("r")
    expected = answer_windows(orders, rates, run.rows("sums"), run.rows("highs"))
    assert {query: run.rows(query) for query in expected} == expected
    assert sum(row[0] for row in run.rows("again")) == len(expected["valued"])
    run.close()
