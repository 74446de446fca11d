"""`python -m benchmarks.simulate --runs 10000 --seed 0 --seconds 28800`: a night of runs, and what was seen in them."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections import Counter

import pytest

from benchmarks.simulate.draw import KINDS, draw_scenario
from benchmarks.simulate.mutants import MUTANTS
from benchmarks.simulate.scenario import Scenario
from benchmarks.simulate.shrink import describe, shrink
from benchmarks.simulate.world import play

MEMORY = "/dev/shm"  # where files are fast


def play_alone(scenario: Scenario) -> tuple[Counter[str], BaseException | None]:
    """Play a scenario in a folder of its own; what was seen, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="simulated-", dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        try:
            return play(scenario, folder), None
        except Exception as error:
            return Counter(), error


def hunt_mutant(name: str, seeds: range) -> int:
    """Break one thing, and play until somebody notices; 0 if somebody does."""
    with pytest.MonkeyPatch.context() as patch:
        MUTANTS[name](patch)
        for number, seed in enumerate(seeds, 1):
            _, error = play_alone(draw_scenario(seed))
            if error is not None:
                print(f"{name}: found in run {number}, seed {seed}: {str(error).splitlines()[0][:100]}")
                return 0
    print(f"{name}: not found in {len(seeds)} runs")
    return 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulate", description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=0, help="the first of their seeds (0)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after so many seconds")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only query sets of one kind")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first that is wrong")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="break this on purpose; it is found, or that is wrong")
    given = parser.parse_args(arguments)
    if given.mutant:
        return hunt_mutant(given.mutant, range(given.seed, given.seed + given.runs))
    seen: Counter[str] = Counter()
    wrong: list[int] = []
    began, runs = time.monotonic(), 0
    for seed in range(given.seed, given.seed + given.runs):
        if time.monotonic() - began > given.seconds:
            break
        scenario = draw_scenario(seed, given.kind)
        found, error = play_alone(scenario)
        runs += 1
        seen += found + Counter({f"sets: {scenario.kind}": 1})
        if error is not None:
            wrong.append(seed)
            print(f"\nseed {seed} is wrong", flush=True)
            traceback.print_exception(error, limit=-4)
            if not given.keep_going:
                small = shrink(scenario, lambda one: play_alone(one)[1])
                print(describe(small), flush=True)
                traceback.print_exception(play_alone(small)[1], limit=-4)
                break
    for what, times in sorted(seen.items()):
        print(f"{times:9,}  {what}")
    print(f"{runs} runs in {time.monotonic() - began:.0f} s; wrong: {wrong or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
