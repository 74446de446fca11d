"""Runs that a seed decides, with faults, against what their sets mean (`benchmarks/simulate`).

`HEADRACE_SIMULATIONS=3000` plays that many in `make test-all`; `python -m benchmarks.simulate` does so by itself, and makes a
failing one small.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.simulate.__main__ import hunt_mutant
from benchmarks.simulate.draw import KINDS, draw_scenario
from benchmarks.simulate.mutants import MUTANTS
from benchmarks.simulate.world import play

from headrace.coordinator.delivery import Delivery
from headrace.sinks.sinks import Callback
from headrace.testing import LocalRun

MANY = int(os.environ.get("HEADRACE_SIMULATIONS", "300"))


@pytest.mark.parametrize("seed", range(12))
def test_simulated_runs(seed: int, tmp_path: Path) -> None:
    """A few, always the same."""
    play(draw_scenario(seed, sorted(KINDS)[seed % len(KINDS)]), str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + MANY))
def test_many_simulated_runs(seed: int, tmp_path: Path) -> None:
    """Many more."""
    play(draw_scenario(seed), str(tmp_path))


TRACE = """
import sys
from benchmarks.simulate.draw import draw_scenario
from benchmarks.simulate.world import World
world = World(draw_scenario(sys.argv[1]), sys.argv[2])
world.play()
print(world.files.digest, sorted(world.seen.items()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 14])
def test_a_seed_replays_a_run(seed: int, tmp_path: Path) -> None:
    """The same operations on the disk in the same order, whatever sets and dictionaries of the process are ordered by."""
    found = []
    for hashes in ("1", "2"):
        folder = tmp_path / "run"  # the same one: a sink is remembered by its address
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        command = [sys.executable, "-c", TRACE, str(seed), str(folder)]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": hashes}, capture_output=True, text=True, check=True)
        found.append(done.stdout)
    assert found[0] == found[1]


def test_a_sink_beside_a_filter_that_keeps_nothing() -> None:
    """A batch of which a query keeps no row is committed without files of it, and no sink is called for it."""
    run = LocalRun(
        "CREATE STREAM s (ts BIGINT, v INT) PROGRESSING ON ts ORDERED FROM 'none';"
        "CREATE QUERY q AS SELECT ts, v FROM s WHERE v > 1;"
    )
    given: list[int] = []
    run.driver.delivery = Delivery(run.store, run.log, [Callback(lambda query, batch, rows: given.append(batch))])
    run.push(s=[(1, 1)])
    assert run.manifest.results == {}
    run.push(s=[(2, 2)])
    assert given == [2]


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_broken_is_found(name: str) -> None:
    """In the order of commits, in what is purged, in progress and in delivery; within 200 runs."""
    assert hunt_mutant(name, range(200)) == 0
