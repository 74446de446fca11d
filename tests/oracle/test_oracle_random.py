"""Query sets nobody thought of give what they mean."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from oracle_check import check
from oracle_random import random_case
from test_oracle_query_sets import actions_of


def run(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, rows: int) -> None:
    rng = random.Random(f"actions {seed}")
    monkeypatch.setattr("headrace.kernels.slot.ROUND_ROWS", rng.choice([5, 50, 8_000_000]))
    monkeypatch.setattr("headrace.kernels.compact.FAN_IN", rng.choice([2, 3, 8]))
    case = random_case(seed)
    actions = actions_of(rng, case, rng.randint(1, batches), rows)
    check(case, actions, tmp_path, slots=rng.randint(1, 4), tasks=rng.randint(1, 3))


@pytest.mark.parametrize("seed", range(4))
def test_random_query_sets(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of them, always the same."""
    run(seed, tmp_path, monkeypatch, 4, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_query_sets(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many, with more rows and batches."""
    run(seed, tmp_path, monkeypatch, 8, 80)
