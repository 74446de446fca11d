"""Joins after joins, unions of them, sub-selects over them: written by hand, over random rows, after every batch."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulate.join_model import Band, Both, Common, Derived, Group, Join, Relation, Row, Source
from benchmarks.simulate.join_sets import Case, random_rows
from benchmarks.simulate.random_routes import shrink_limits
from join_check import check, cut

from headrace.testing import LocalRun
from headrace.windows import Sliding

A, B, C = Source(("a",)), Source(("b",)), Source(("c",))
K = (lambda r: r["k"],)


def keep(row: Row | None, *names: str) -> list[Any]:
    return [None if row is None else row[n] for n in names]


def pair(one: Row | None, two: Row | None) -> Row:
    """The columns t0, t1, k, k1, v1 of two rows."""
    return dict(
        zip(
            ("t0", "t1", "k", "k1", "v1"),
            [*keep(one, "ts"), *keep(two, "ts"), *keep(one, "k"), *keep(two, "k", "v")],
            strict=True,
        )
    )


def joined(kind: str, near: Any, one: Relation = A, two: Relation = B) -> Join:
    return Join(kind, ((one, "ts"), (two, "ts")), (near,), (K, K), lambda *_: True, pair)


def triple(time: str, key: str, kind: str, first: Join, near: Any) -> Join:
    """A join and c, by one of its times and keys."""

    def out(one: Row | None, two: Row | None) -> Row:
        return dict(
            zip(("t0", "t1", "t2", "v"), [*keep(one, "t0", "t1"), *keep(two, "ts", "v")], strict=True)
        )

    return Join(kind, ((first, time), (C, "ts")), (near,), ((lambda r: r[key],), K), lambda *_: True, out)


AB = "SELECT a.ts AS t0, b.ts AS t1, a.k AS k, b.k AS k1, b.v AS v1 FROM a {kind} JOIN b ON a.k = b.k AND abs(a.ts - b.ts) <= 3"
ABC = (
    "SELECT a.ts AS t0, b.ts AS t1, c.ts AS t2, c.v AS v FROM a {one} JOIN b ON a.k = b.k AND abs(a.ts - b.ts) <= 3 "
    "{two} JOIN c ON {on}"
)
LEFT_AB = joined("left", Band(0, 1, 3, 3))
INNER_AB = joined("inner", Band(0, 1, 3, 3))
FULL_AB = joined("full", Band(0, 1, 3, 3))
BY_A = "a.k = c.k AND c.ts BETWEEN a.ts AND a.ts + 4"
BY_B = "b.k = c.k AND c.ts BETWEEN b.ts AND b.ts + 4"
NEAR = Band(0, 1, 0, 4)


def only_null(row: Row) -> Row | None:
    return {"t0": row["t0"], "k": row["k"]} if row["v1"] is None else None


CASES: dict[str, dict[str, tuple[str, Relation]]] = {
    "left, then left by the first": {
        "q": (ABC.format(one="LEFT", two="LEFT", on=BY_A), triple("t0", "k", "left", LEFT_AB, NEAR))
    },
    "left, then left by the second, which may be missing": {
        "q": (ABC.format(one="LEFT", two="LEFT", on=BY_B), triple("t1", "k1", "left", LEFT_AB, NEAR))
    },
    "full, then left by the second": {
        "q": (ABC.format(one="FULL", two="LEFT", on=BY_B), triple("t1", "k1", "left", FULL_AB, NEAR))
    },
    "full, then inner by the first": {
        "q": (ABC.format(one="FULL", two="INNER", on=BY_A), triple("t0", "k", "inner", FULL_AB, NEAR))
    },
    "left, then full by the first": {
        "q": (ABC.format(one="LEFT", two="FULL", on=BY_A), triple("t0", "k", "full", LEFT_AB, NEAR))
    },
    "the conditions of an inner join after an outer one, in WHERE": {
        "q": (
            ABC.format(one="LEFT", two="", on="true") + f" WHERE {BY_B}",
            triple("t1", "k1", "inner", LEFT_AB, NEAR),
        )
    },
    "brackets concern those that ON speaks of": {
        "q": (
            "SELECT a.ts AS t0, b.ts AS t1, c.ts AS t2, c.v AS v FROM a [RANGE 9] LEFT JOIN b [RANGE 2] ON a.k = b.k "
            "LEFT JOIN c [RANGE 1] ON a.k = c.k",
            triple("t0", "k", "left", joined("left", Band(0, 1, 2, 8)), Band(0, 1, 1, 8)),
        )
    },
    "tumbling windows, one after the other": {
        "q": (
            "SELECT a.ts AS t0, b.ts AS t1, c.ts AS t2, c.v AS v FROM a [RANGE TUMBLING 5] LEFT JOIN b [RANGE TUMBLING 5] "
            "ON a.k = b.k LEFT JOIN c [RANGE TUMBLING 5] ON a.k = c.k",
            triple("t0", "k", "left", joined("left", Common(0, 1, 5)), Common(0, 1, 5)),
        )
    },
    "WHERE after an outer join": {
        "q": (
            "SELECT a.ts AS t0, a.k AS k FROM a LEFT JOIN b ON a.k = b.k AND abs(a.ts - b.ts) <= 3 WHERE b.v IS NULL",
            Derived(LEFT_AB, only_null),
        )
    },
    "sub-selects over a join": {
        "q": (
            "SELECT a.ts AS t0, b.ts AS t1, a.k AS t2, b.v AS v FROM a, b WHERE a.k = b.k AND abs(a.ts - b.ts) <= 3 "
            "AND NOT EXISTS (SELECT 1 FROM c WHERE c.k = b.k AND c.ts BETWEEN b.ts AND b.ts + 4)",
            Join(
                "anti",
                ((INNER_AB, "t1"), (C, "ts")),
                (NEAR,),
                ((lambda r: r["k1"],), K),
                lambda *_: True,
                lambda one, _: {"t0": one["t0"], "t1": one["t1"], "t2": one["k"], "v": one["v1"]},
            ),
        )
    },
    "a join with itself": {
        "q": (
            "SELECT x.ts AS t0, y.ts AS t1, x.k AS k, y.k AS k1, y.v AS v1 FROM a x LEFT JOIN a y "
            "ON x.k = y.k AND y.ts BETWEEN x.ts + 1 AND x.ts + 3",
            joined("left", Band(0, 1, -1, 3), A, A),
        )
    },
    "a union of joins, counted": {
        "q": (
            "SELECT k, count(*) AS n FROM (SELECT a.ts AS ts, a.k AS k FROM a, b WHERE a.k = b.k AND abs(a.ts - b.ts) <= 3 "
            "UNION ALL SELECT c.ts AS ts, c.k AS k FROM c JOIN b ON c.k = b.k AND c.ts = b.ts) [RANGE 5] AS u GROUP BY k",
            Group(
                Both(
                    (INNER_AB, joined("inner", Band(0, 1, 0, 0), C, B)),
                ),
                "t0",
                Sliding(5, range=5),
                ("k",),
                {"n": len},
            ),
        )
    },
    "rows of a join and of a stream united, counted": {
        "q": (
            "SELECT k, count(*) AS n, max(v) AS m FROM (SELECT a.ts AS ts, a.k AS k, b.v AS v FROM a, b WHERE a.k = b.k "
            "AND abs(a.ts - b.ts) <= 3 UNION ALL SELECT ts + 2 AS ts, k, v FROM c WHERE v > 1) [RANGE 5] AS u GROUP BY k",
            Group(
                Both(
                    (
                        Derived(INNER_AB, lambda r: {"t0": r["t0"], "k": r["k"], "v": r["v1"]}),
                        Source(
                            ("c",),
                            lambda r: {"t0": r["ts"] + 2, "k": r["k"], "v": r["v"]} if (r["v"] or 0) > 1 else None,
                            "t0",
                            lambda t: t + 2,
                        ),
                    )
                ),
                "t0",
                Sliding(5, range=5),
                ("k",),
                {"n": len, "m": lambda rows: max((r["v"] for r in rows if r["v"] is not None), default=None)},
            ),
        )
    },
    "one join, read by many": {
        "q": (AB.format(kind="LEFT"), LEFT_AB),
        "inner_one": (AB.format(kind="INNER"), INNER_AB),
        "full_one": (AB.format(kind="FULL"), FULL_AB),
        "n": (
            "SELECT k, count(*) AS n FROM q [RANGE 5 WA t0] GROUP BY k",
            Group(LEFT_AB, "t0", Sliding(5, range=5), ("k",), {"n": len}),
        ),
        "m": (
            "SELECT k1, count(*) AS n FROM full_one [RANGE 6 SLIDE 2 WA t1] GROUP BY k1",
            Group(FULL_AB, "t1", Sliding(2, range=6), ("k1",), {"n": len}),
        ),
    },
}


def run(name: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"join chain {name} {seed}")
    limits = shrink_limits(rng)
    case = Case(1, {s: rng.choice([0, 2, 5]) for s in ("a", "b", "c")}, CASES[name])
    rows = {s: r for s, r in random_rows(rng, 1, 36).items() if s != "d"}
    check(case, cut(rng, rows, rng.choice([3, 6]), 0.05), tmp_path, rng.randint(1, 3), rng.randint(1, 2), limits=limits)


@pytest.mark.parametrize("name", CASES)
def test_chains(name: str, tmp_path: Path) -> None:
    """Results and late rows of every batch are those of the definition."""
    run(name, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", CASES)
def test_chains_many(name: str, seed: int, tmp_path: Path) -> None:
    """The same over other rows."""
    run(name, seed, tmp_path)


def feed(text: str, *batches: dict[str, list[tuple[Any, ...]]]) -> LocalRun:
    streams = "".join(
        f"CREATE STREAM {s} (ts BIGINT, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'none';" for s in "ab"
    )
    run = LocalRun(streams + f"CREATE QUERY q AS {text};")
    for batch in batches:
        run.push(**batch)
    return run


@pytest.mark.parametrize(
    ("condition", "meets"),
    [
        ("b.ts BETWEEN a.ts - 2 AND a.ts + 3", lambda gap: -2 <= gap <= 3),
        ("b.ts > a.ts - 2 AND b.ts < a.ts + 3", lambda gap: -2 < gap < 3),
        ("abs(b.ts - a.ts) < 2", lambda gap: abs(gap) < 2),
        ("b.ts - a.ts >= 1 AND 4 > b.ts - a.ts", lambda gap: 1 <= gap < 4),
        ("a.ts = b.ts - 2", lambda gap: gap == 2),
        ("b.ts BETWEEN a.ts - 4 AND a.ts - 2", lambda gap: -4 <= gap <= -2),
    ],
)
@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_edges(condition: str, meets: Callable[[int], bool], kind: str) -> None:
    """Rows on either side of every end of a band, at times around zero and far from it; each pair has its own key."""
    text = f"SELECT a.ts AS x, b.ts AS y FROM a {kind} JOIN b ON a.k = b.k AND {condition}"
    gaps = range(-6, 7)
    for at in (-3, 100):
        ones, others = [(at, gap, 1) for gap in gaps], [(at + gap, gap, 1) for gap in gaps]
        run = feed(text, {"a": ones}, {"b": others}, {"b": [(at + 50, 99, 1)]})
        found = [(at, at + gap if meets(gap) else None) for gap in gaps if meets(gap) or kind == "LEFT"]
        assert sorted(run.rows("q"), key=str) == sorted(found, key=str)
        run.close()


def test_a_window_without_a_partner_is_given_at_its_end() -> None:
    """Not before: a partner may come in the last tick of it. Tick by tick, in an outer join of windows with a slide."""
    run = LocalRun("""
        CREATE STREAM a (ts BIGINT, k INT, x INT) PROGRESSING ON ts ORDERED FROM 'memory';
        CREATE STREAM b (ts BIGINT, k INT, y INT) PROGRESSING ON ts ORDERED FROM 'memory';
        CREATE QUERY q AS SELECT a.ts, a.x, b.y, window_start AS since
          FROM a [RANGE 4 SLIDE 2] LEFT JOIN b [RANGE 4 SLIDE 2] ON a.k = b.k;
    """)
    run.push(a=[(4, 1, 0), (4, 3, 5)], b=[(4, 2, 0)])
    for tick in (5, 6, 7):
        run.push(b=[(tick, 2, 0)])
    lonely = [(4, 0, None, 2), (4, 5, None, 2)]  # in [2, 6); [4, 8) is not over
    assert sorted(run.rows("q"), key=repr) == lonely
    run.push(b=[(7, 1, 9)])
    assert sorted(run.rows("q"), key=repr) == [(4, 0, 9, 4), *lonely]
    run.push(b=[(8, 2, 0)])
    assert sorted(run.rows("q"), key=repr) == [(4, 0, 9, 4), lonely[0], lonely[1], (4, 5, None, 4)]
