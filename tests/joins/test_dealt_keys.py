"""Rows of a hot key are dealt over several slots, and no result differs: random joins on random routes against recomputation."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.simulate.join_sets import random_case, random_rows
from benchmarks.simulate.random_routes import shrink_limits
from join_check import check, cut

from headrace.coordinator import commit
from headrace.program.messages import Orders
from headrace.state.dealt_route import list_dealt


def run_dealt(seed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int, rows: int) -> Counter[str]:
    """Every batch has another route, with leaves dealt and whole again; what happened is counted."""
    seen: Counter[str] = Counter()
    make = commit.make_orders

    def watch(*args: object, **more: object) -> Orders:
        orders = make(*args, **more)  # type: ignore[arg-type]
        seen.update(dealt=bool(list_dealt(orders.route)), undone=any(orders.copies.values()))
        return orders

    monkeypatch.setattr("headrace.coordinator.driver.make_orders", watch)
    rng = random.Random(f"dealt {seed}")
    case = random_case(seed, 2)
    limits = shrink_limits(rng)
    steps = cut(rng, random_rows(rng, case.unit, rows), batches, 0.1)
    steps = [replace(step, moves=True) for step in steps]
    check(case, steps, tmp_path, rng.randint(1, 4), rng.randint(1, 3), rng.randrange(1000), splits=0.9, limits=limits)
    return seen


@pytest.mark.parametrize("seed", [3, 8, 12, 15])
def test_dealt_joins(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dealt, moved, whole again and killed in between, at any batch."""
    seen = run_dealt(seed, tmp_path, monkeypatch, 6, 40)
    assert seen["dealt"] and seen["undone"], seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3000, 3100))
def test_many_dealt_joins(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more, with more rows and batches."""
    run_dealt(seed, tmp_path, monkeypatch, 9, 60)
