"""Which mini-partitions take turns, and that a slot with little memory goes by it."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.balance.rotate_pids import rotate_pids
from headrace.kernels.slot import Slot
from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (t BIGINT, k INT, v INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE STREAM r (t BIGINT, k INT, w INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 60 SLIDE 20] GROUP BY k;
CREATE QUERY total AS SELECT sum(n) AS n FROM q;
CREATE QUERY j AS SELECT s.t AS t, s.k AS k, r.w AS w FROM s LEFT JOIN r ON s.k = r.k AND abs(s.t - r.t) <= 5;
"""


@given(st.dictionaries(st.integers(0, 60), st.integers(0, 100)), st.integers(1, 400))
def test_groups_fit_and_leave_out_nobody(sizes: dict[int, int], memory: int) -> None:
    """Every mini-partition is in one group; a group is within its share of memory unless it is a single one, or the others in
    it have nothing; and two neighbours never fit in one.
    """
    groups = rotate_pids(sizes.keys(), sizes, memory * SHIPPED.turn_share)
    assert sorted(pid for group in groups for pid in group) == sorted(sizes)
    weights = [[sizes[pid] for pid in group] for group in groups]
    for group in weights:
        assert sum(group) <= memory * SHIPPED.turn_share or sum(w > 0 for w in group) == 1
    assert all(sum(a) + sum(b) > memory * SHIPPED.turn_share for a, b in pairwise(weights))
    assert rotate_pids(sizes.keys(), sizes, None) == [frozenset(sizes)]


def test_a_slot_with_little_memory_works_group_by_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same results in the same batches, in more turns, each with a part of the state."""
    rng = random.Random(5)
    batches = [
        {
            "s": [(10 * i + rng.randrange(10), rng.randrange(300), rng.randrange(9)) for _ in range(400)],
            "r": [(10 * i + rng.randrange(10), rng.randrange(300), rng.randrange(9)) for _ in range(200)],
        }
        for i in range(8)
    ]
    for batch in batches:
        batch["s"].sort()
        batch["r"].sort()
    turns: list[frozenset[int]] = []
    inner = Slot.run
    monkeypatch.setattr(Slot, "run", lambda self, rows: (turns.append(self.turn.pids), inner(self, rows))[1])
    found = []
    for share in (0.5, 0.0002):
        turns.clear()
        run = LocalRun(SCRIPT, slots=2, memory=128 << 20, limits=Limits(turn_share=share))
        each = [{q: sum(f.rows for f in fs) for q, fs in run.push(**b).results.items()} for b in batches]
        run.flush()
        found.append((each, {q: run.rows(q) for q in ("q", "total", "j")}))
        levels = len(run.program.levels)
        assert (len(turns) == 9 * 2 * levels) == (share == 0.5), "turns are taken where memory is small"
        assert max(map(len, turns)) == run.program.pids // 2
    assert found[0] == found[1]
