"""A hot key of a join in a run: its rows are dealt while it is hot, and no result differs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulate.random_routes import scatter_next

from balance.test_live_splits import find_keys, spread_of
from headrace.balance.deal_hot import choose_dealing
from headrace.physical.explain_program import explain_program
from headrace.program.dealt_tables import find_dealt_tables
from headrace.program.limits import Limits
from headrace.state.dealt_route import list_dealt
from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM a (t BIGINT, k INT, v INT) PROGRESSING ON t SLACK 5 FROM 'memory';
CREATE STREAM b (t BIGINT, k INT, w INT) PROGRESSING ON t SLACK 5 FROM 'memory';
"""
PAIRS = "CREATE QUERY pairs AS SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 3 AND a.t;"
LONELY = "CREATE QUERY lonely AS SELECT a.k, a.v FROM a ANTI JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 1 AND a.t;"
FULL = "CREATE QUERY padded AS SELECT a.v, b.w FROM a FULL JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 3 AND a.t;"
COUNTED = "CREATE QUERY counted AS SELECT k, count(*) AS n FROM pairs [RANGE 10 ON t] GROUP BY k;"
SUMS = "CREATE QUERY sums AS SELECT k, sum(w) AS sw FROM b [RANGE 10] GROUP BY k;"
JOINED = "CREATE QUERY joined AS SELECT a.k, a.v, sums.sw FROM a [RANGE TUMBLING 10] JOIN sums ON a.k = sums.k;"
SCRIPT = STREAMS + PAIRS + LONELY
QUERIES = ("pairs", "lonely")


def make_batch(rng: random.Random, at: int, key: int | None, rows: int = 500) -> dict[str, list[tuple[int, int, int]]]:
    """Four rows of `a` in five have one key; `b` has few rows of it."""

    def row(hot: float) -> tuple[int, int, int]:
        own = key is not None and rng.random() < hot
        return 10 * at + rng.randrange(10), key if own and key is not None else rng.randrange(3000), rng.randrange(100)

    return {"a": [row(0.8) for _ in range(rows)], "b": [row(0.2) for _ in range(rows // 20)]}


def results_of(run: LocalRun, queries: Sequence[str] = QUERIES) -> list[dict[str, list[Any]]]:
    return [{q: run._read(m.results.get(q, ()), False) for q in queries} for m in run.log.since(0)]


@pytest.mark.slow
def test_a_hot_key_is_dealt_while_it_is_hot() -> None:
    """Its rows are spread, its results are those of one slot, the notes tell of it, and it is whole again when it has cooled."""
    (key,), rng = find_keys(5, 1), random.Random(1)
    calm, run = LocalRun(SCRIPT, slots=1), LocalRun(SCRIPT, slots=4, balance="headrace")
    notes: list[str] = []
    spread: list[float] = []
    dealt: list[bool] = []
    for i in range(26):
        batch = make_batch(rng, i, key if i < 12 else None)
        calm.push(**batch)
        notes += run.push(**batch).report["notes"]
        spread.append(spread_of(run))
        dealt.append(bool(list_dealt(run.manifest.route)))
    assert results_of(run) == results_of(calm)
    assert all(sum(len(each[q]) for each in results_of(run)) > 100 for q in QUERIES)
    assert spread[0] > 2.5 and max(spread[9:12]) < 1.6, spread
    assert dealt[9] and not dealt[-1] and any(" is whole again" in note for note in notes), notes
    assert any("has a hot key: rows of a by `k` are dealt over 4 parts, rows of b by `k` copied to each" in note for note in notes), notes


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_kills_around_dealing_change_nothing(seed: int, tmp_path: Path) -> None:
    """A run dies with every route, before its batch is committed or right after."""

    class Killed(Exception):
        pass

    def kill(_: Any) -> None:
        raise Killed

    limits = Limits(mini_partitions=(4, 2, 5, 16)[seed])
    rng = random.Random(seed)
    start = partial(LocalRun, SCRIPT, path=str(tmp_path / "checkpoint"), limits=limits)
    calm, run = LocalRun(SCRIPT, slots=1, limits=limits), start(slots=3)
    seen: list[bool] = []
    for i in range(8):
        batch = make_batch(rng, i, rng.randrange(3), 40)
        calm.push(**batch)
        while rng.random() < 0.4:
            scatter_next(rng, run, 1.0)
            run.log.publish = kill  # type: ignore[method-assign]
            with pytest.raises(Killed):
                run.push(**batch)
            run.close()
            run = start()
        scatter_next(rng, run, 1.0)
        seen.append(bool(list_dealt(run.push(**batch).route)))
        if rng.random() < 0.5:
            run.close()
            run = start()
    calm.flush()
    run.flush()
    assert results_of(run) == results_of(calm) and sum(seen) > 3


@pytest.mark.parametrize("why", ["the set needs the key whole", "rows may wait"])
def test_dealing_ends_when_it_may_not_be(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that finds a leaf dealt and may not have it dealt has it whole from its first batch on."""
    few = Limits(mini_partitions=4)
    rng, where = random.Random(3), str(tmp_path / "checkpoint")
    batches = [make_batch(rng, i, 1, 60) for i in range(7)]
    run, calm = LocalRun(SCRIPT, 3, path=where, limits=few), LocalRun(SCRIPT, 1, limits=few)
    for batch in batches[:4]:
        scatter_next(rng, run, 1.0)
        run.push(**batch)
        calm.push(**batch)
    assert list_dealt(run.manifest.route)
    run.close()
    may_wait = why == "rows may wait"
    run = LocalRun(SCRIPT, path=where, limits=few, defer="0.000001 seconds" if may_wait else None)
    if not may_wait:
        monkeypatch.setattr("headrace.coordinator.commit.find_dealt_tables", lambda program: {})
    for batch in batches[4:]:
        assert not list_dealt(run.push(**batch).route)
        calm.push(**batch)
    assert results_of(run) == results_of(calm)


@pytest.mark.parametrize(
    ("query", "seed"),
    [("counted", 7), ("joined", 9), *(pytest.param(*one, marks=pytest.mark.slow) for one in (("counted", 8), ("joined", 7)))],
)
def test_what_needs_a_key_whole_has_it_whole(query: str, seed: int) -> None:
    """Beside joins that are dealt, an aggregation over a join and a join of an aggregation by the same key stay as they are."""
    few = Limits(mini_partitions=3)
    others = (STREAMS + PAIRS).replace("STREAM a", "STREAM c").replace("STREAM b", "STREAM d")
    others = others.replace("a.", "c.").replace("b.", "d.").replace("FROM a JOIN b", "FROM c JOIN d").replace("pairs", "dealt")
    script = STREAMS + {"counted": PAIRS.replace("a.k,", "a.k, a.t,") + COUNTED, "joined": SUMS + JOINED}[query] + others
    rng, calm, run = random.Random(seed), LocalRun(script, slots=1, limits=few), LocalRun(script, slots=3, limits=few)
    seen: list[bool] = []
    for i in range(8):
        batch = make_batch(rng, i, i % 2, 120) | dict(zip("cd", make_batch(rng, i, 1, 120).values(), strict=True))
        calm.push(**batch)
        scatter_next(rng, run, 1.0)
        seen.append(bool(list_dealt(run.push(**batch).route)))
    calm.flush()
    run.flush()
    found = results_of(run, (query, "dealt"))
    assert found == results_of(calm, (query, "dealt")) and any(seen)
    assert all(sum(len(each[q]) for each in found) > 5 for q in (query, "dealt"))


def test_tables_that_are_not_dealt_say_why() -> None:
    """Only the kept side of an outer or anti-join, and only what nothing in the slot needs whole."""
    run = LocalRun(SCRIPT)
    tables = {run.program.node(n).label: t for n, t in find_dealt_tables(run.program).items()}
    told = [line.strip() for line in explain_program(run.plan, run.program).splitlines() if "hot key" in line]
    assert told == [
        "rows of a hot key may be dealt over slots, with a copy of rows of b by `k` in each",
        "a hot key stays in one slot: rows of a by `k` are given once, whether or not they have a partner in it",
    ]
    kept, other = tables["rows of a by `k`"], tables["rows of b by `k`"]
    assert kept.obstacle is None and kept.copied == (other.node,)
    assert other.obstacle == "rows of a by `k` are given once, whether or not they have a partner in it"
    run = LocalRun(STREAMS + FULL)
    assert {t.obstacle for t in find_dealt_tables(run.program).values()} == {"a full join reads it"}
    run = LocalRun(STREAMS + PAIRS.replace("a.k,", "a.k, a.t,") + COUNTED)
    for table in find_dealt_tables(run.program).values():
        assert table.obstacle is not None and "stands on the join in the same slot" in table.obstacle
    run = LocalRun(STREAMS + "CREATE QUERY twice AS SELECT x.v, y.v AS u FROM a x JOIN a y ON x.k = y.k AND y.t BETWEEN x.t - 3 AND x.t;")
    assert {t.obstacle for t in find_dealt_tables(run.program).values()} == {"it is joined with itself"}


def test_how_many_parts() -> None:
    """As many as make the slowest slot fastest: all slots where nothing is copied, few where the inputs are alike, none where it
    is the copied input that is hot.
    """
    copied = {"a": ("b",)}
    assert (best := choose_dealing(4.0, {"a": 100, "b": 0}, copied, 8, 8)) is not None and best.bits == 2
    assert (best := choose_dealing(6.0, {"a": 100, "b": 1}, copied, 8, 8)) is not None and best.bits == 3
    assert (best := choose_dealing(6.0, {"a": 100, "b": 1}, copied, 8, 1)) is not None and best.bits == 1
    assert (best := choose_dealing(1.6, {"a": 50, "b": 50}, copied, 8, 8)) is not None and best.bits == 1
    assert choose_dealing(4.0, {"a": 1, "b": 100}, copied, 8, 8) is None
    assert choose_dealing(4.0, {"a": 100}, {}, 8, 8) is None and choose_dealing(4.0, {}, copied, 8, 8) is None
    assert choose_dealing(4.0, {"a": 100, "b": 0}, copied, 8, 0) is None
