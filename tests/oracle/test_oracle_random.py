"""Query sets nobody thought of give what they mean.

Every set runs through restarts, lost attempts, other numbers of slots, other routes and flushes, with limits so small
that every way to an answer is taken. `HEADRACE_SETS=2000` tries that many mixed sets in `make test-all`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from benchmarks.simulate.random_routes import shrink_limits
from benchmarks.simulate.window_sets import Case, mixed_case, random_case
from oracle_check import check
from test_oracle_query_sets import actions_of


def run(
    case: Case,
    seed: int,
    tmp_path: Path,
    batches: int,
    rows: int,
    restarts: float = 0.3,
) -> None:
    rng = random.Random(f"actions {seed}")
    limits = shrink_limits(rng)
    actions = actions_of(rng, case, rng.randint(1, batches), rows, restarts)
    check(case, actions, tmp_path, slots=rng.randint(1, 5), tasks=rng.randint(1, 3), limits=limits)


@pytest.mark.parametrize("seed", range(4))
def test_random_query_sets(seed: int, tmp_path: Path) -> None:
    """A few of them, always the same."""
    run(random_case(seed), seed, tmp_path, 4, 40)


@pytest.mark.parametrize("seed", range(12))
def test_mixed_query_sets(seed: int, tmp_path: Path) -> None:
    """Windows of all shapes over the same keys: sharing is where wrong answers hide."""
    run(mixed_case(seed), seed, tmp_path, 4, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_query_sets(seed: int, tmp_path: Path) -> None:
    """Many, with more rows and batches."""
    run(random_case(seed), seed, tmp_path, 8, 80)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + int(os.environ.get("HEADRACE_SETS", "100"))))
def test_many_mixed_query_sets(seed: int, tmp_path: Path) -> None:
    """Many mixed ones, seldom stopped, so that there can be many."""
    run(mixed_case(seed), seed, tmp_path, 3, 30, restarts=0.06)
