"""Query sets give what they mean: however rows are cut into batches, through restarts, lost attempts and
other slots."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.simulate.random_routes import shrink_limits
from benchmarks.simulate.window_rows import Shape, stream
from benchmarks.simulate.window_sets import Case
from oracle_cases import CASES
from oracle_check import FLUSH, Action, Push, check, cut


def actions_of(
    rng: random.Random, case: Case, batches: int, rows: int = 60, restarts: float = 0.3
) -> list[Action]:
    """Batches with restarts, lost attempts and changes of slots in between, and flushes."""
    given = {
        s: stream(
            rng, case.unit, Shape(rows=rows, start=rng.choice([-30, 0, 7]), step=rng.choice([0.3, 0.7]))
        )
        for s in case.streams
    }
    out: list[Action] = []
    for push in cut(rng, given, batches):
        out.append(
            Push(
                push.rows,
                dies=rng.random() < restarts / 2,
                slots=rng.randint(1, 5) if rng.random() < restarts else None,
                restart=rng.random() < restarts,
                moves=rng.randrange(1000) if rng.random() < 0.4 else None,
            )
        )
        if rng.random() < 0.05:
            out.append(FLUSH)
    return [*out, FLUSH]


@pytest.mark.parametrize("name", CASES)
def test_query_sets(name: str, tmp_path: Path) -> None:
    """Results and late rows after every batch, with limits so small that every way to an answer is taken."""
    rng = random.Random(name)
    limits = shrink_limits(rng)
    check(CASES[name], actions_of(rng, CASES[name], 5), tmp_path, slots=rng.randint(1, 3), limits=limits)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", CASES)
def test_query_sets_many(name: str, seed: int, tmp_path: Path) -> None:
    """The same with more batches, sizes of rounds and compaction."""
    rng = random.Random(f"{name} {seed}")
    limits = shrink_limits(rng)
    actions = actions_of(rng, CASES[name], rng.choice([1, 4, 14]), 120)
    check(CASES[name], actions, tmp_path, slots=rng.randint(1, 5), tasks=rng.randint(1, 3), limits=limits)
