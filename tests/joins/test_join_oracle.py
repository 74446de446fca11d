"""Joins give what they mean: random sets of every kind against recomputation, after every batch.

`HEADRACE_JOIN_SETS=2000` tries that many in `make test-all`.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.simulate.join_model import Join
from benchmarks.simulate.join_progress import SECOND, add_marks
from benchmarks.simulate.join_sets import Case, random_case, random_rows
from benchmarks.simulate.random_routes import shrink_limits
from join_check import Step, check, cut

SETS = int(os.environ.get("HEADRACE_JOIN_SETS", "150"))


def run(
    case: Case, seed: object, tmp_path: Path, batches: int, rows: int
) -> None:
    rng = random.Random(f"join steps {seed}")
    limits = shrink_limits(rng)
    steps = cut(rng, random_rows(rng, case.unit, rows), rng.choice([1, batches]), 0.06)
    check(case, steps, tmp_path, rng.randint(1, 4), rng.randint(1, 3), limits=limits)


@pytest.mark.parametrize("seed", [*range(10), 20, 512])
def test_random_joins(seed: int, tmp_path: Path) -> None:
    """Sets of joins and aggregations over and beside them, always the same ones."""
    run(random_case(seed), seed, tmp_path, 4, 30)


@pytest.mark.parametrize("seed", [41, 52, 54, 66, 139, 272, 286])
def test_windows_with_a_slide(seed: int, tmp_path: Path) -> None:
    """Sets with outer joins of such windows, or with joins of them over different keys."""
    case = random_case(seed)
    slides = [(n, r) for n, (_, r) in case.queries.items() if isinstance(r, Join) and r.hops is not None]
    assert any(r.kind != "inner" or n in case.loose for n, r in slides)
    run(case, seed, tmp_path, 4, 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + SETS))
def test_many_random_joins(seed: int, tmp_path: Path) -> None:
    """Many more, with more rows and batches."""
    run(random_case(seed, 3), seed, tmp_path, 8, 60)


def run_policies(
    case: Case, seed: object, tmp_path: Path, batches: int, rows: int
) -> None:
    rng = random.Random(f"join policies {seed}")
    limits = shrink_limits(rng)
    drawn = random_rows(rng, case.unit, rows)
    given = {s: add_marks(rng, case.policies[s], r, case.unit) for s, r in drawn.items()}
    steps: list[Step] = []
    for step in cut(rng, given, rng.choice([2, batches]), 0.06):
        if rng.random() < 0.25:  # a lull: nothing comes, and the clock goes on
            steps.append(Step({}, clock=rng.choice([1, 7, 31]) * SECOND, beats=True))
        steps.append(replace(step, clock=rng.choice([0, 1, 3, 40]) * SECOND))
    check(case, steps, tmp_path, rng.randint(1, 4), rng.randint(1, 3), rng.randrange(1000), limits=limits)


@pytest.mark.parametrize("seed", range(8))
def test_policies_of_progress(seed: int, tmp_path: Path) -> None:
    """Joins of streams that make progress each in its own way: slack in time and rows, punctuation true, early, missing and
    contradicted, in the stream and beside it, by groups, with lulls.
    """
    run_policies(random_case(f"p{seed}", 2, True), seed, tmp_path, 5, 30)


def test_a_left_join_of_windows_without_a_key(tmp_path: Path) -> None:
    """A row that has met a partner is not given as one without, when the other input comes late by far."""
    run_policies(random_case("p1047", 3, True), 1047, tmp_path, 9, 50)


@pytest.mark.parametrize("seed", [1010, 1033])
def test_groups_that_are_silent_for_a_while(seed: int, tmp_path: Path) -> None:
    """What is known of a group, or was said of it, holds in batches that bring none of its rows."""
    run_policies(random_case(f"p{seed}", 3, True), seed, tmp_path, 9, 50)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + SETS))
def test_many_policies_of_progress(seed: int, tmp_path: Path) -> None:
    """Many more."""
    run_policies(random_case(f"p{seed}", 3, True), seed, tmp_path, 9, 50)
