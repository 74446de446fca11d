"""Joins give what they mean: random sets of every kind against recomputation, after every batch.

`HEADRACE_JOIN_SETS=2000` tries that many in `make test-all`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from join_check import check, cut, shrink_limits
from join_random import Case, random_case, random_rows


def run(
    case: Case, seed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, rows: int
) -> None:
    rng = random.Random(f"join steps {seed}")
    shrink_limits(rng, monkeypatch)
    steps = cut(rng, random_rows(rng, case.unit, rows), rng.choice([1, batches]), 0.06)
    check(case, steps, tmp_path, rng.randint(1, 4), rng.randint(1, 3))


@pytest.mark.parametrize("seed", [*range(10), 20, 512])
def test_random_joins(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of joins and aggregations over and beside them, always the same ones."""
    run(random_case(seed), seed, tmp_path, monkeypatch, 4, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + int(os.environ.get("HEADRACE_JOIN_SETS", "150"))))
def test_many_random_joins(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more, with more rows and batches."""
    run(random_case(seed, 3), seed, tmp_path, monkeypatch, 8, 60)
