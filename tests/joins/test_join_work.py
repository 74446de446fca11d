"""What joins and progress cost, counted in rows and batches, not in seconds."""

from __future__ import annotations

import itertools
import random
from typing import Any

import msgspec
import pytest

from headrace.kernels import join_rows
from headrace.kernels.node_segments import NodeSegments
from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM a (ts BIGINT, k INT) PROGRESSING ON ts SLACK 0 FROM 'memory';
CREATE STREAM b (ts BIGINT, k INT) PROGRESSING ON ts SLACK 0 FROM 'memory';
"""
PAIRS = STREAMS + "CREATE QUERY q AS SELECT a.ts, b.ts AS other FROM a {kind} JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 2;"


def draw_hot(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """One key has 30 % of the rows."""
    return [(t, 0 if rng.random() < 0.3 else rng.randrange(1, 50)) for t in range(count)]


def count_candidates(monkeypatch: pytest.MonkeyPatch, spread: int) -> int:
    """How many pairs a batch compares: those that are equal in what its hash join goes by."""
    rng = random.Random(7)
    monkeypatch.setattr(join_rows, "time_conditions", lambda *_: [])
    run = LocalRun(PAIRS.format(kind=""), slots=1, limits=Limits(bucket_spread=spread))
    run.push(a=draw_hot(rng, 600), b=draw_hot(rng, 600))
    return len(run.rows("q"))


def test_a_hot_key_is_compared_within_its_band(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 180 x 180 rows of one key those are compared that are near: without buckets it would be all of them."""
    rng = random.Random(7)
    a, b = draw_hot(rng, 600), draw_hot(rng, 600)
    results = sum(k == j and t <= u <= t + 2 for t, k in a for u, j in b)
    usual = SHIPPED.bucket_spread
    every = count_candidates(monkeypatch, 10**9)
    assert every == sum(k == j for _, k in a for _, j in b)
    assert results <= count_candidates(monkeypatch, usual) <= 4 * results < every // 20


@pytest.mark.parametrize("kind", ["", "LEFT"])
def test_a_batch_reads_what_it_can_meet(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of 50 batches, kept because the other stream is behind: a batch of it reads what its rows reach."""
    read: list[int] = []
    plain = NodeSegments.read_between

    def count(self: NodeSegments, *span: Any) -> Any:
        tables = plain(self, *span)
        read.append(sum(t.num_rows for t in tables))
        return tables

    run = LocalRun(PAIRS.format(kind=kind), slots=1)
    run.push(a=[], b=[(0, 99)])
    for batch in range(50):
        run.push(a=[(batch * 100 + t, t) for t in range(100)])
    held = sum(m.rows for m in run.manifest.segments)
    assert held >= 5000
    monkeypatch.setattr(NodeSegments, "read_between", count)
    run.push(b=[(4930, 30), (4940, 40)])
    assert (4940, 4940) in run.rows("q")
    if kind == "":
        assert 0 < sum(read) <= 100  # of one segment; a LEFT JOIN reads those that are lonely now
    read.clear()
    run.push(b=[(4941, 41)])
    assert sum(read) <= 2 * 100 + 3  # of a one segment, once more for what is lonely; of b its three rows


def test_progress_that_closes_nothing_starts_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Punctuation that is repeated, or finer than the smallest slide in use, reads no state and makes no batch."""
    read: list[str] = []
    plain = NodeSegments.read
    monkeypatch.setattr(NodeSegments, "read", lambda self: read.append(self.node) or plain(self))
    run = LocalRun("""
CREATE STREAM s (ts BIGINT, v INT) PROGRESSING ON ts PUNCTUATED BY (v = -1) NOT DATA FROM 'memory';
CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 60 SLIDE 20];
""")
    run.push(s=[(5, 1), (10, -1)])
    for mark in (10, 12, 12, 19, 7):  # again, finer, behind
        read.clear()
        run.push(s=[(30, 1), (mark, -1)])
        assert read == []
        assert run.rows("q") == []
    before = run.manifest.streams["s"]
    run.push(s=[(19, -1)])
    assert msgspec.structs.replace(run.manifest.streams["s"], rows=before.rows) == before  # what is not news is not stored
    run.push(s=[(20, -1)])
    assert read
    assert run.rows("q") == [(1, -40, 20)]


def test_a_lull_makes_a_batch_for_each_slide_and_no_more() -> None:
    """The clock goes by seconds; heartbeats come when they close a window of rows that wait, each once."""
    second, now = 1_000_000, [0]
    run = LocalRun(
        """
CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts ORDERED IDLE AFTER 1 SECOND FROM 'memory';
CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS];
""",
        clock=lambda: now[0],
    )
    run.push(s=[(0, 1)])
    beats = []
    for tick in range(1, 61):
        now[0] = tick * second
        if run.beat():
            beats.append(tick)
        assert not run.beat()  # not twice
    assert len(beats) == len(run.rows("q")) == 4
    assert all(later - earlier == 5 for earlier, later in itertools.pairwise(beats))
