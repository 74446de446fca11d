"""Joins give what they mean while mini-partitions sit out batches and take turns (document 002, sections 4 and 6)."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulate.join_progress import SECOND, add_marks
from benchmarks.simulate.join_sets import Case, random_case, random_rows
from benchmarks.simulate.random_routes import shrink_limits, take_randomly
from join_check import Step, check, cut

from headrace.kernels import slot_turns
from headrace.program.waiting_obstacle import find_waiting_obstacle

SETS = int(os.environ.get("HEADRACE_JOIN_SETS", "80"))


def defer_randomly(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every batch some mini-partitions sit out, and the others take turns."""
    share = rng.choice([0.2, 0.5, 0.8])

    def defer(program: Any, orders: Any, pids: frozenset[int], arrived: Any, sent: int) -> frozenset[int]:
        if orders.flush is not None or find_waiting_obstacle(program) is not None:
            return frozenset()
        return frozenset(pid for pid in pids if rng.random() < share)

    def rotate(pids: frozenset[int], sizes: Any, memory: Any) -> list[frozenset[int]]:
        first = frozenset(pid for pid in pids if rng.random() < 0.5)
        return [first, pids - first]

    monkeypatch.setattr(slot_turns, "find_deferred", defer)
    monkeypatch.setattr(slot_turns, "rotate_pids", rotate)
    take_randomly(rng, monkeypatch)


def run(
    case: Case, seed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, rows: int
) -> None:
    rng = random.Random(f"join deferral {seed}")
    limits = shrink_limits(rng)
    defer_randomly(rng, monkeypatch)
    drawn = random_rows(rng, case.unit, rows)
    given = {s: add_marks(rng, case.policies[s], r, case.unit) if case.policies else r for s, r in drawn.items()}
    steps: list[Step] = []
    for step in cut(rng, given, batches, 0.06):
        if case.policies and rng.random() < 0.25:
            steps.append(Step({}, clock=rng.choice([1, 7, 31]) * SECOND, beats=True))
        steps.append(replace(step, clock=rng.choice([0, 1, 3, 40]) * SECOND))
    done = check(case, steps, tmp_path, rng.randint(1, 3), rng.randint(1, 2), rng.randrange(1000), prompt=False, limits=limits)
    assert not done.manifest.waiting, "a flush takes all"


@pytest.mark.parametrize("seed", range(8))
def test_joins_of_rows_that_wait(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of joins and aggregations over and beside them; half of them over streams with progress of every kind."""
    run(random_case(f"d{seed}", 2, seed % 2 == 1), seed, tmp_path, monkeypatch, 5, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + SETS))
def test_many_joins_of_rows_that_wait(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more."""
    run(random_case(f"d{seed}", 3, seed % 2 == 1), seed, tmp_path, monkeypatch, 9, 50)
