"""Every aggregate gives what its definition says, however rows are split into tasks, batches, panes and
slots."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.simulate.window_aggregates import AGGREGATES
from benchmarks.simulate.window_model import Group, Source
from benchmarks.simulate.window_rows import SECOND, Shape, stream
from benchmarks.simulate.window_sets import Case
from oracle_check import FLUSH, check, cut

from headrace.windows import make_window

S = Source(("s",))
SLIDING = make_window(9 * SECOND, 4 * SECOND)
NAMES = list(AGGREGATES)


def parts(n: int) -> list[list[str]]:
    return [NAMES[i::n] for i in range(n)]


@pytest.mark.parametrize("names", parts(4), ids=range(4))
def test_aggregates(names: list[str], tmp_path: Path) -> None:
    """A sliding window (blocks of panes merged twice) and a global one, with NULLs in every column."""
    rng = random.Random(str(names))
    listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate(names))
    calls = {f"c{i}": AGGREGATES[text] for i, text in enumerate(names)}
    case = Case(
        {
            "q": (
                f"SELECT k, {listed} FROM s [RANGE 9 SECONDS SLIDE 4 SECONDS] GROUP BY k",
                Group(S, SLIDING, ("k",), calls),
            ),
            "a": (
                f"SELECT {listed} FROM s [RANGE ALL SLIDE 20 SECONDS]",
                Group(S, make_window(None, 20 * SECOND), (), calls),
            ),
        }
    )
    rows = stream(rng, SECOND, Shape(rows=90, nulls=0.2, lulls=0.01))
    for row in rows[::3]:  # times that tie
        row["t"] = row["t"] and row["t"] // SECOND * SECOND
    check(case, [*cut(rng, {"s": rows}, 5), FLUSH], tmp_path, slots=2)
