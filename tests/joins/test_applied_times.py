"""Windows, joins and unions on functions of the progressing attribute, against recomputation after every batch."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.simulate.join_model import Band, Both, Derived, Group, Join, Relation, Row, Source
from benchmarks.simulate.join_sets import SECOND, Case, random_rows
from benchmarks.simulate.random_routes import shrink_limits
from join_check import check, cut

from headrace.windows import Sliding

K = (lambda r: r["k"],)
Function = Callable[[int], int]


def rows_of(stream: str, image: Function) -> Source:
    """Rows (t, k, v) of a stream whose time is a function of its own."""
    return Source((stream,), lambda r: {"t": image(r["ts"]), "k": r["k"], "v": r["v"]}, "t", image)


def count(source: Relation, width: int, slide: int | None = None, time: str = "t") -> Group:
    return Group(source, time, Sliding(slide or width, range=width), ("k",), {"n": len})


def toward_zero(by: int) -> Function:
    return lambda t: abs(t) // by * (1 if t >= 0 else -1)


def pair(one: Row | None, two: Row | None) -> Row:
    return {
        "t0": one["t"] if one is not None else None,
        "t1": two["ts"] if two is not None else None,
        "k": one["k"] if one is not None else None,
    }


# (SQL over `ts`, what it is), for integers and for timestamps
INTEGERS: dict[str, tuple[str, Function]] = {
    "later": ("ts + 7", lambda t: t + 7),
    "earlier": ("ts - 9", lambda t: t - 9),
    "DIV": ("ts DIV 4", toward_zero(4)),
    "a function of a function": ("(ts + 3) DIV 2 * 5", lambda t: toward_zero(2)(t + 3) * 5),
    "CAST": ("2 + CAST(ts AS BIGINT)", lambda t: t + 2),
}
TIMES: dict[str, tuple[str, Function]] = {
    "an interval": ("ts + INTERVAL 7 SECONDS", lambda t: t + 7 * SECOND),
    "date_trunc": ("date_trunc('SECOND', ts - INTERVAL 1 MICROSECOND)", lambda t: (t - 1) // SECOND * SECOND),
}


def length(unit: int, n: int) -> str:
    return f"INTERVAL {n} SECONDS" if unit == SECOND else str(n)


def bracket(unit: int, n: int) -> str:
    return f"{n} SECONDS" if unit == SECOND else str(n)


def queries_on(text: str, image: Function, unit: int) -> dict[str, tuple[str, Relation]]:
    """A window, joins and a union on a function of a's time."""
    a, b = rows_of("a", image), Source(("b",))
    near = Band(0, 1, 3 * unit, 2 * unit)
    inner, left = (Join(kind, ((a, "t"), (b, "ts")), (near,), (K, K), lambda *_: True, pair) for kind in ("inner", "left"))
    united = Both((a, rows_of("c", lambda t: t)))
    on = f"q.k = b.k AND b.ts BETWEEN q.t - {length(unit, 3)} AND q.t + {length(unit, 2)}"
    shown = "SELECT q.t AS t0, b.ts AS t1, q.k AS k"
    shifted = Derived(left, lambda r: {**r, "u": r["t0"] + 4 * unit}, applied={"u": ("t0", lambda t: t + 4 * unit)})
    return {
        "q": (f"SELECT {text} AS t, k, v FROM a", a),
        "n": (f"SELECT k, count(*) AS n FROM q [RANGE {bracket(unit, 5)}] GROUP BY k", count(a, 5 * unit)),
        "both": (
            f"SELECT k, count(*) AS n FROM (SELECT ts, {text} AS t, k FROM a) [RANGE {bracket(unit, 6)} "
            f"SLIDE {bracket(unit, 2)}, WA t] AS x GROUP BY k",
            count(a, 6 * unit, 2 * unit),
        ),
        "own": (f"SELECT k, count(*) AS n FROM a [RANGE {bracket(unit, 5)}] GROUP BY k", count(Source(("a",)), 5 * unit, None, "ts")),
        "j": (f"{shown} FROM q JOIN b ON {on}", inner),
        "l": (f"{shown} FROM q LEFT JOIN b ON {on}", left),
        "jn": (
            f"SELECT k, count(*) AS n FROM (SELECT t0 + {length(unit, 4)} AS u, k FROM l) [RANGE {bracket(unit, 5)}] GROUP BY k",
            count(shifted, 5 * unit, None, "u"),
        ),
        "u": (
            f"SELECT k, count(*) AS n FROM (SELECT t, k FROM q UNION ALL SELECT ts AS t, k FROM c) [RANGE {bracket(unit, 5)}] AS x "
            "GROUP BY k",
            count(united, 5 * unit),
        ),
    }


def run(name: str, unit: int, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"applied {name} {seed}")
    limits = shrink_limits(rng)
    text, image = (INTEGERS if unit == 1 else TIMES)[name]
    case = Case(unit, {s: rng.choice([0, 2, 5]) * unit for s in ("a", "b", "c")}, queries_on(text, image, unit))
    rows = {s: r for s, r in random_rows(rng, unit, 30).items() if s != "d"}
    check(case, cut(rng, rows, rng.choice([3, 6]), 0.05), tmp_path, rng.randint(1, 3), rng.randint(1, 2), limits=limits)


CASES = [*((name, 1) for name in INTEGERS), *((name, SECOND) for name in TIMES)]


@pytest.mark.parametrize(("name", "unit"), CASES)
def test_functions_of_time(name: str, unit: int, tmp_path: Path) -> None:
    """Results and late rows of every batch are those of the definition."""
    run(name, unit, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize(("name", "unit"), CASES)
def test_functions_of_time_many(name: str, unit: int, seed: int, tmp_path: Path) -> None:
    """The same over other rows."""
    run(name, unit, seed, tmp_path)


def test_seconds_of_a_timestamp(tmp_path: Path) -> None:
    """A cast may turn times into integers: windows on it count seconds."""
    rng = random.Random("seconds")
    a = rows_of("a", lambda t: t // SECOND)
    queries: dict[str, tuple[str, Relation]] = {
        "q": ("SELECT unix_seconds(ts) AS t, k, v FROM a", a),
        "n": ("SELECT k, count(*) AS n FROM q [RANGE 5] GROUP BY k", count(a, 5)),
        "m": ("SELECT k, count(*) AS n FROM (SELECT CAST(ts AS BIGINT) AS s, k FROM a) GROUP BY s/3 AS tb, k", count(a, 3)),
    }
    case = Case(SECOND, {"a": 2 * SECOND}, queries)
    rows = {"a": random_rows(rng, SECOND, 40)["a"]}
    check(case, cut(rng, rows, 5, 0.05), tmp_path)
