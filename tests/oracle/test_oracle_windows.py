"""Every kind of window gives what its definition says, after every batch."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.simulate.window_model import Group, Source
from benchmarks.simulate.window_rows import SECOND, Shape, stream
from benchmarks.simulate.window_sets import Case
from oracle_check import FLUSH, check, cut

from headrace.windows import WindowSpec, make_window

S = Source(("s",))
CALLS = {
    "n": len,
    "sv": lambda rows: None if all(r["v"] is None for r in rows) else sum(r["v"] or 0 for r in rows),
}

WINDOWS = {
    "RANGE 7": {"range": 7, "slide": 7},
    "RANGE 12 SLIDE 3": {"range": 12, "slide": 3},
    "RANGE 10 SLIDE 4": {"range": 10, "slide": 4},
    "RANGE 3 SLIDE 10": {"range": 3, "slide": 10},
    "RANGE 10 SLIDE 4 ALIGN END": {"range": 10, "slide": 4, "align": "end"},
    "RANGE 3 SLIDE 10 ALIGN END": {"range": 3, "slide": 10, "align": "end"},
    "RANGE 9 SLIDE 6 ORIGIN 4": {"range": 9, "slide": 6, "origin": 4},
    "RANGE 8 SLIDE 2 ORIGIN -3": {"range": 8, "slide": 2, "origin": -3},
    "RANGE 1 SLIDE 1": {"range": 1, "slide": 1},
    "RANGE ALL SLIDE 6": {"range": None, "slide": 6},
    "RANGE ALL SLIDE 5 ORIGIN 13": {"range": None, "slide": 5, "origin": 13},
    "RANGE ALL SLIDE 4 RESET 12": {"range": None, "slide": 4, "reset": 12},
    "RANGE ALL SLIDE 5 RESET 20 ORIGIN 3": {"range": None, "slide": 5, "reset": 20, "origin": 3},
}


def window(clause: str, unit: int) -> tuple[str, WindowSpec]:
    """A clause in units of time, for timestamps or for integers, and its specification in ticks."""
    parts = dict(WINDOWS[clause])
    ticks = {k: v * unit if isinstance(v, int) else v for k, v in parts.items()}
    words = [f"{w} SECONDS" if unit > 1 and w.lstrip("-").isdigit() else w for w in clause.split()]
    return " ".join(words), make_window(**ticks)  # type: ignore[arg-type]


def case_of(clause: str, unit: int) -> Case:
    text, spec = window(clause, unit)
    keyed = f"SELECT k, count(*) AS n, sum(v) AS sv FROM s [{text}] GROUP BY k"
    total = f"SELECT count(*) AS n, sum(v) AS sv FROM s [{text}]"
    return Case(
        {"q": (keyed, Group(S, spec, ("k",), CALLS)), "total": (total, Group(S, spec, (), CALLS))}, unit
    )


# Each clause once on timestamps or on integers, the other way round among the slow tests.
KINDS = [
    pytest.param(clause, unit, marks=[pytest.mark.slow] if (i + j) % 2 else [])
    for i, clause in enumerate(WINDOWS)
    for j, unit in enumerate([SECOND, 1])
]


@pytest.mark.parametrize(("clause", "unit"), KINDS)
def test_window_kinds(clause: str, unit: int, tmp_path: Path) -> None:
    """Results and late rows of one kind of window equal recomputation after every batch, and a flush."""
    rng = random.Random(f"{clause} {unit}")
    rows = stream(rng, unit, Shape(start=-20))
    check(case_of(clause, unit), [*cut(rng, {"s": rows}, 5), FLUSH], tmp_path, slots=rng.randint(1, 3))
