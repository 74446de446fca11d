"""Hot mini-partitions in a run: split while they are hot, whole again when they cool, and no row differs."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from benchmarks.simulate.random_routes import draw_route
from click.testing import CliRunner

from headrace.cli import main
from headrace.program.limits import Limits
from headrace.report.load import list_load
from headrace.state.leaf_numbers import list_numbers
from headrace.state.split_route import SplitRoute, list_leaves
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM a (t BIGINT, k INT, v INT) PROGRESSING ON t SLACK 5 FROM 'memory';
CREATE STREAM b (t BIGINT, k INT, w INT) PROGRESSING ON t SLACK 5 FROM 'memory';
CREATE QUERY slid AS SELECT k, count(*) AS n, sum(v) AS sv FROM a [RANGE 40 SLIDE 10] GROUP BY k;
CREATE QUERY pairs AS SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 8 AND a.t;
CREATE QUERY lonely AS SELECT a.k, a.v FROM a ANTI JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 8 AND a.t;
"""
QUERIES = ("slid", "pairs", "lonely")


def find_keys(pid: int, count: int) -> list[int]:
    """Keys of one mini-partition."""
    sql = f"SELECT i FROM range(1000000) t(i) WHERE hash(i::INT) % 128 = {pid} LIMIT {count}"
    return [int(i) for (i,) in duckdb.sql(sql).fetchall()]


def make_batch(rng: random.Random, at: int, hot: list[int], rows: int = 600) -> dict[str, list[tuple[int, int, int]]]:
    """Nine rows in ten have one of the hot keys; all are alike if there are none."""

    def row() -> tuple[int, int, int]:
        key = rng.choice(hot) if hot and rng.random() < 0.9 else rng.randrange(3000)
        return 10 * at + rng.randrange(10), key, rng.randrange(100)

    return {stream: [row() for _ in range(rows)] for stream in ("a", "b")}


def results_of(run: LocalRun) -> list[dict[str, list[Any]]]:
    return [{q: run._read(m.results.get(q, ()), False) for q in QUERIES} for m in run.log.since(0)]


def spread_of(run: LocalRun) -> float:
    """Rows of the fullest slot over the mean, in the last batch."""
    came = [0] * run.slots
    for line in list_load(run.log, "pid"):
        came[line["slot"]] += line["rows"]
    return max(came) * len(came) / sum(came)


@pytest.mark.slow
def test_ninety_percent_on_one_mini_partition_are_spread_and_joined_again() -> None:
    """Split within three batches and level soon after; whole again when it has cooled; the results are those of a static run."""
    hot, rng = find_keys(17, 200), random.Random(1)
    batches = [make_batch(rng, i, hot if i < 14 else []) for i in range(30)]
    runs = {policy: LocalRun(SCRIPT, slots=4, balance=policy) for policy in ("static", "headrace")}
    spread: dict[str, list[float]] = {policy: [] for policy in runs}
    notes: list[str] = []
    for batch in batches:
        for policy, run in runs.items():
            manifest = run.push(**batch)
            spread[policy].append(spread_of(run))
        notes += manifest.report["notes"]
        if len(spread["static"]) == 14:
            assert isinstance(manifest.route[17], tuple)
    assert min(spread["static"][:14]) > 3
    assert min(spread["headrace"][:14]) < 1.5 and sorted(spread["headrace"][8:14])[3] < 1.6, spread
    assert any(n.startswith("mini-partition 17 is split into ") for n in notes[:40]), notes
    assert any("whole again" in n for n in notes) and manifest.route[17] in range(4), notes
    assert results_of(runs["static"]) == results_of(runs["headrace"])
    assert all(sum(len(batch[q]) for batch in results_of(runs["static"])) > 100 for q in QUERIES)


def test_a_hot_key_is_named() -> None:
    """A key that alone exceeds a slot's share is not split for ever, and told with the table it is hot in; an aggregation that source tasks
    do in part is not hot: a group comes as a row for each pane and task.
    """
    (key,) = find_keys(5, 1)
    run, rng = LocalRun(SCRIPT, slots=4, tasks=2, balance="headrace"), random.Random(2)
    for i in range(5):
        manifest = run.push(**make_batch(rng, i, [key], 200))
    assert not any(n.startswith("hot: ") for n in manifest.report["notes"])  # of so few rows nothing is told
    run.driver.balancer._named_rows = 0
    for i in range(5, 7):
        manifest = run.push(**make_batch(rng, i, [key], 200))
    notes = [n for n in manifest.report["notes"] if n.startswith("hot: ")]
    assert notes and all(f"mini-partition 5, key ({key}) has " in n for n in notes), manifest.report
    assert len(list_leaves(manifest.route)[0]) <= 128 + 15 + 3  # split once, and dealt over at most four parts
    (panes,) = (n.name for n in run.program.nodes if n.windows)
    seen: list[Any] = []
    inner = run.driver.commit
    run.driver.commit = lambda orders, reports, *rest: (seen.extend(reports), inner(orders, reports, *rest))[1]  # type: ignore[method-assign,assignment]
    route = run.push(**make_batch(rng, 7, [key])).route
    hot = {n for n in list_numbers(route) if n % 128 == 5}
    came = {p: r for x in seen for a in x.activity if a.node == panes for p, r in zip(a.pids, a.rows, strict=True)}
    assert 0 < sum(rows for pid, rows in came.items() if pid in hot) <= 2 * 2 + 2 < sum(came.values()) / 4  # of 600 rows


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_kills_around_splits_change_nothing(seed: int, tmp_path: Path) -> None:
    """Splits are made and undone at every batch; the run dies before it is decided, before it is committed, and right after."""
    limits = Limits(mini_partitions=(2, 5, 16)[seed], fan_in=3)

    class Killed(Exception):
        pass

    def kill(_: Any) -> None:
        raise Killed

    rng = random.Random(seed)
    start = partial(LocalRun, SCRIPT, path=str(tmp_path / "checkpoint"), limits=limits)
    calm, run = LocalRun(SCRIPT, slots=1, limits=limits), start(slots=3)
    routes: list[SplitRoute] = []
    for i in range(10):
        batch = make_batch(rng, i, [1, 2, 3, 4, 5], 60)
        calm.push(**batch)
        if rng.random() < 0.4:
            run.rescale(rng.randint(1, 5))
        while rng.random() < 0.5:
            run.driver.balancer.choose_route = partial(draw_route, rng, splits=1.0)  # type: ignore[method-assign]
            run.log.publish = kill  # type: ignore[method-assign]
            with pytest.raises(Killed):
                run.push(**batch)
            run.close()
            run = start()
        run.driver.balancer.choose_route = partial(draw_route, rng, splits=0.9)  # type: ignore[method-assign]
        routes.append(run.push(**batch).route)
        assert {n for m in run.manifest.segments for n in m.pids} <= set(list_numbers(routes[-1]))
        if rng.random() < 0.5:
            run.close()
            run = start()
    calm.flush()
    run.flush()
    assert results_of(run) == results_of(calm)
    assert len({tuple(list_leaves(route)[0]) for route in routes}) > 2


def test_parts_are_listed_with_their_slots(tmp_path: Path) -> None:
    """`headrace state --by pid` and the list of state name the parts of a split mini-partition."""
    run = LocalRun(SCRIPT, slots=2, path=str(tmp_path / "c"))
    hot, rng = find_keys(17, 50), random.Random(3)
    run.push(**make_batch(rng, 0, hot))
    route = run.manifest.route
    run.driver.manifest = replace(run.manifest, route=(*route[:17], ((0, 1), 1), *route[18:]))
    run.push(**make_batch(rng, 1, hot))
    assert run.manifest.route[17] == ((0, 0), 0)  # together, until their rows are apart
    run.driver.manifest = replace(run.manifest, route=(*route[:17], ((0, 1), 1), *route[18:]))
    run.push(**make_batch(rng, 2, hot))
    parts = {line["part"]: line for line in list_load(run.log, "pid") if line["pid"] == 17}
    assert {p: line["slot"] for p, line in parts.items()} == {"17.00": 0, "17.01": 1, "17.1": 1}
    assert all(line["rows"] > 50 and line["state_rows"] > 50 for line in parts.values())
    run.close()
    for options in (["--by", "pid"], ["--all"]):
        shown = CliRunner().invoke(main, ["state", str(tmp_path / "c"), *options])
        assert shown.exit_code == 0 and "17.01" in shown.output, shown.output
