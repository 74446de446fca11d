"""Windows give what they mean while mini-partitions sit out batches and take turns (document 002, sections 4 and 6).

In every batch random mini-partitions sit out, through restarts, lost attempts, other slots and routes: each result comes once,
when it is complete or later, and none is missing in the end. Late rows are late as if nothing had waited.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from benchmarks.simulate.random_routes import defer_randomly, rotate_randomly, shrink_limits
from benchmarks.simulate.window_sets import Case, mixed_case, random_case
from oracle_cases import CASES
from oracle_check import check
from test_oracle_query_sets import actions_of

SETS = int(os.environ.get("HEADRACE_SETS", "100"))


def run(
    case: Case, seed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, rows: int
) -> int:
    rng = random.Random(f"deferral {seed}")
    limits = shrink_limits(rng)
    sat_out = defer_randomly(rng, monkeypatch)
    actions = actions_of(rng, case, batches, rows, 0.1)
    done = check(case, actions, tmp_path, slots=rng.randint(1, 4), tasks=rng.randint(1, 2), prompt=False, limits=limits)
    assert not done.manifest.waiting, "a flush takes all"
    assert not {m.node for m in done.manifest.segments} & {node.waiting for node in done.program.nodes}
    return sat_out[0]


def test_query_sets_with_rows_that_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of set once: chains, unions, second levels, landmarks."""
    sat_out = 0
    for name in CASES:
        with monkeypatch.context() as patch:
            sat_out += run(CASES[name], name, tmp_path / name, patch, 7, 60)
    assert sat_out > 100, "mini-partitions with rows sat out"


@pytest.mark.parametrize("seed", range(6))
def test_random_sets_with_rows_that_wait(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets nobody thought of."""
    run(mixed_case(seed), seed, tmp_path, monkeypatch, 5, 40)


@pytest.mark.parametrize("seed", range(2))
def test_turns_are_seen_by_nobody(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mini-partitions that take turns within a batch give the same results in the same batch."""
    rng = random.Random(f"turns {seed}")
    limits = shrink_limits(rng)
    rotate_randomly(rng, monkeypatch)
    case = mixed_case(seed + 50)
    check(case, actions_of(rng, case, 4, 40, 0.1), tmp_path, slots=2, limits=limits)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + SETS))
def test_many_sets_with_rows_that_wait(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more."""
    run((mixed_case if seed % 2 else random_case)(seed), seed, tmp_path, monkeypatch, 9, 70)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CASES)
def test_query_sets_wait_many_times(name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of set, with more batches."""
    run(CASES[name], f"{name} {seed}", tmp_path, monkeypatch, 12, 100)
