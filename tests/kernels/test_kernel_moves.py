"""Mini-partitions that move between slots: their state is read where they are, and old files go."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from headrace.program.messages import SlotReport
from headrace.state import pid_sizes
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (t BIGINT, k INT, v INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 600 SLIDE 60] GROUP BY k;
CREATE QUERY since AS SELECT count(*) AS n FROM s [RANGE ALL SLIDE 600];
"""


def batch(i: int) -> list[tuple[int, int, int]]:
    return [(10 * i + j % 10, j * 7 % 50, j) for j in range(40)]


def swap_pairs(rng: random.Random, run: LocalRun) -> None:
    """One mini-partition of every pair of slots moves to the other, as in a round of Flux (document 002 §5.3)."""
    route = list(run.manifest.route)
    for left in range(0, run.slots, 2):
        mine = [pid for pid, slot in enumerate(route) if slot == left]
        if len(mine) > 1:
            route[rng.choice(mine)] = left + 1
        theirs = [pid for pid, slot in enumerate(route) if slot == left + 1]
        route[rng.choice(theirs)] = left
    run.driver.manifest = replace(run.manifest, route=tuple(route))


@pytest.mark.parametrize("batches", [70, pytest.param(120, marks=pytest.mark.slow)])
def test_moves_do_not_keep_segments_alive(batches: int) -> None:
    """With a move per pair of slots in every batch there are at most twice the segments, and the same results."""
    rng = random.Random(3)
    quiet, moving = LocalRun(SCRIPT, slots=4), LocalRun(SCRIPT, slots=4)
    most = {"quiet": 0, "moving": 0}
    for i in range(batches):
        swap_pairs(rng, moving)
        most["quiet"] = max(most["quiet"], len(quiet.push(s=batch(i)).segments))
        most["moving"] = max(most["moving"], len(moving.push(s=batch(i)).segments))
    assert most["moving"] <= 2 * most["quiet"], most
    for query in ("q", "since"):
        assert moving.rows(query) == quiet.rows(query) != []


def test_a_shared_segment_goes_with_its_last_mini_partition() -> None:
    """A manifest says which mini-partitions of a file still count, and how many rows they have."""
    run = LocalRun(SCRIPT, slots=4)
    rng = random.Random(4)
    shared = 0
    for i in range(60):
        swap_pairs(rng, run)
        manifest = run.push(s=batch(i))
        for meta in manifest.segments:
            sizes = pid_sizes(run.store, meta)
            assert meta.live_rows == sum(int(sizes[pid]) for pid in meta.pids)
            assert set(meta.pids) <= {pid for pid, rows in enumerate(sizes) if rows}
            shared += meta.live_rows < meta.rows
    assert shared, "no segment was ever released in part"


def test_reports_say_what_each_mini_partition_did() -> None:
    """Rows in, state and results by mini-partition add up to the whole."""
    run = LocalRun(SCRIPT, slots=3)
    reports: list[SlotReport] = []
    inner = run.driver.commit
    run.driver.commit = lambda orders, found, *rest: (reports.extend(found), inner(orders, found, *rest))[1]  # type: ignore[method-assign,assignment]
    for i in range(20):
        reports.clear()
        manifest = run.push(s=batch(10 * i))
    (node,) = (n.name for n in run.program.nodes if n.keys)
    mine = [a for r in reports for a in r.activity if a.node == node]
    owners = {pid: r.slot for r in reports for a in r.activity if a.node == node for pid in a.pids}
    assert all(manifest.route[pid] == slot for pid, slot in owners.items())
    segments = [m for m in manifest.segments if m.node == node]
    assert sum(sum(a.state_rows) for a in mine) == sum(m.live_rows for m in segments) > 0
    assert abs(sum(sum(a.state_bytes) for a in mine) - sum(m.live_bytes for m in segments)) <= 200 * len(segments)
    assert sum(sum(a.results) for a in mine) == sum(f.rows for f in manifest.results["q"]) > 0
    assert sum(sum(a.rows) for a in mine) >= 40
