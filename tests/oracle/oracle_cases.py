"""Query sets in SQL and what they mean: chains, diamonds, unions, sub-selects, shared panes, second
levels."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.simulate.window_aggregates import count_distinct, first, over
from benchmarks.simulate.window_model import Group, Relation, Row, Select, Source, Union
from benchmarks.simulate.window_rows import SECOND
from benchmarks.simulate.window_sets import Case

from headrace.windows import WindowSpec, make_window

S, R = Source(("s",)), Source(("r",))
SUM_V = over("v", sum)
SUM_N = over("n", sum)
MAX_N = over("n", max)


def w(range_: int | None, slide: int | None = None, unit: int = SECOND, **more: Any) -> WindowSpec:
    more = {k: v * unit if isinstance(v, int) else v for k, v in more.items()}
    length = range_ * unit if range_ is not None else None
    return make_window(length, (slide or range_ or 0) * unit, **more)


def keep(*columns: str) -> Any:
    return lambda row: {c: row[c] for c in columns}


def pick(condition: Any, *columns: str) -> Any:
    return lambda row: {c: row[c] for c in columns} if condition(row) else None


Q_TEXT = "SELECT k, g, count(*) AS n, sum(v) AS sv FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k, g"
Q = Group(S, w(8, 4), ("k", "g"), {"n": len, "sv": SUM_V})
T_TEXT = "SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 3 SECONDS] GROUP BY k"
T = Group(S, w(3), ("k",), {"n": len, "sv": SUM_V})


def same_window() -> dict[str, tuple[str, Relation]]:
    by_k = Group(Q, None, ("k",), {"m": MAX_N, "c": len, "sv": over("sv", sum)})
    return {
        "q": (Q_TEXT, Q),
        "by_k": ("SELECT k, max(n) AS m, count(*) AS c, sum(sv) AS sv FROM q GROUP BY k", by_k),
        "by_g": ("SELECT g, sum(n) AS n FROM q GROUP BY g", Group(Q, None, ("g",), {"n": SUM_N})),
        "total": (
            "SELECT sum(n) AS n, count(DISTINCT k) AS ks FROM q",
            Group(Q, None, (), {"n": SUM_N, "ks": count_distinct("k")}),
        ),
        "top": (
            "SELECT max(m) AS top, min(c) AS c FROM by_k",
            Group(by_k, None, (), {"top": over("m", max), "c": over("c", min)}),
        ),
    }


def rewindowed() -> dict[str, tuple[str, Relation]]:
    wide = Group(T, w(12, 6), ("k",), {"n": SUM_N, "parts": len})
    all_ = Group(T, w(10, 4, align="end"), (), {"n": SUM_N})
    deep = Group(all_, w(30, 15), (), {"m": MAX_N})
    return {
        "t3": (T_TEXT, T),
        "wide": (
            "SELECT k, sum(n) AS n, count(*) AS parts FROM t3 [RANGE 12 SECONDS SLIDE 6 SECONDS] GROUP BY k",
            wide,
        ),
        "everything": ("SELECT sum(n) AS n FROM t3 [RANGE 10 SECONDS SLIDE 4 SECONDS ALIGN END]", all_),
        "deep": ("SELECT max(n) AS m FROM everything [RANGE 30 SECONDS SLIDE 15 SECONDS]", deep),
        "landmark": (
            "SELECT k, sum(n) AS n FROM t3 [RANGE ALL SLIDE 9 SECONDS] GROUP BY k",
            Group(T, w(None, 9), ("k",), {"n": SUM_N}),
        ),
    }


def three_deep() -> dict[str, tuple[str, Relation]]:
    a = Group(S, w(2), ("k", "g"), {"n": len})
    b = Group(a, w(6, 2), ("k",), {"n": SUM_N})
    c = Group(b, None, (), {"m": MAX_N, "ks": len})
    d = Group(c, w(12, 6), (), {"a": over("m", lambda v: sum(v) / len(v)), "p": len})
    return {
        "a": ("SELECT k, g, count(*) AS n FROM s [RANGE 2 SECONDS] GROUP BY k, g", a),
        "b": ("SELECT k, sum(n) AS n FROM a [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k", b),
        "c": ("SELECT max(n) AS m, count(*) AS ks FROM b", c),
        "d": ("SELECT avg(m) AS a, count(*) AS p FROM c [RANGE 12 SECONDS SLIDE 6 SECONDS]", d),
    }


def diamond() -> dict[str, tuple[str, Relation]]:
    big = Select(Q, pick(lambda r: r["n"] > 1, "k", "n"))
    by_k = Group(Q, None, ("k",), {"n": SUM_N})
    both = Union((big, by_k))
    return {
        "q": (Q_TEXT, Q),
        "big": ("SELECT k, n FROM q WHERE n > 1", big),
        "by_k": ("SELECT k, sum(n) AS n FROM q GROUP BY k", by_k),
        "both_": ("SELECT k, n FROM big UNION ALL SELECT k, n FROM by_k", both),
        "over_both": (
            "SELECT k, sum(n) AS n, count(*) AS c FROM both_ GROUP BY k",
            Group(both, None, ("k",), {"n": SUM_N, "c": len}),
        ),
        "all_both": ("SELECT sum(n) AS n FROM both_", Group(both, None, (), {"n": SUM_N})),
        "later": (
            "SELECT k, max(n) AS n FROM both_ [RANGE 20 SECONDS] GROUP BY k",
            Group(both, w(20), ("k",), {"n": MAX_N}),
        ),
    }


def levels() -> dict[str, tuple[str, Relation]]:
    """A union of rows from two levels, aggregated: rows of level 0 have to pass level 1 to get to level 2."""
    total = Group(T, None, (), {"n": SUM_N})
    both = Union((Select(T, keep("n")), Select(total, keep("n"))))
    return {
        "t3": (T_TEXT, T),
        "total": ("SELECT sum(n) AS n FROM t3", total),
        "both_": ("SELECT n FROM t3 UNION ALL SELECT n FROM total", both),
        "z": ("SELECT sum(n) AS n, count(*) AS c FROM both_", Group(both, None, (), {"n": SUM_N, "c": len})),
        "zz": (
            "SELECT sum(n) AS n FROM both_ [RANGE 9 SECONDS SLIDE 3 SECONDS]",
            Group(both, w(9, 3), (), {"n": SUM_N}),
        ),
    }


def filters() -> dict[str, tuple[str, Relation]]:
    having = Group(
        S,
        w(8, 4),
        ("k",),
        {"n": len, "sv": SUM_V},
        lambda r: r["n"] > 2 and r["sv"] is not None and r["sv"] > 50,
    )
    plus = Group(
        Source(
            ("s",), lambda r: {**r, "z": None if r["v"] is None else r["v"] % 3} if r["g"] in (1, 2) else None
        ),
        w(8, 4),
        ("z",),
        {"n": len},
        out=lambda r: {**r, "zn": None if r["z"] is None else r["z"] * 10 + r["n"]},
    )
    distinct = Group(S, w(6), ("k", "b"), {})
    counts = Group(S, w(6), ("k",), {"n": len})
    return {
        "having_": (
            "SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] "
            "GROUP BY k HAVING n > 2 AND sum(v) > 50",
            having,
        ),
        "plus": (
            "SELECT pmod(v, 3) * 10 + count(*) AS zn FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] "
            "WHERE g IN (1, 2) GROUP BY pmod(v, 3)",
            plus,
        ),
        "d": ("SELECT DISTINCT k, b FROM s [RANGE 6 SECONDS]", distinct),
        "dd": (
            "SELECT DISTINCT count(*) AS n FROM s [RANGE 6 SECONDS] GROUP BY k",
            Group(Select(counts, keep("n")), None, ("n",), {}),
        ),
        "over_d": ("SELECT b, count(*) AS ks FROM d GROUP BY b", Group(distinct, None, ("b",), {"ks": len})),
        "dq": ("SELECT DISTINCT b FROM d", Group(distinct, None, ("b",), {})),
        "dw": ("SELECT DISTINCT b FROM d [RANGE 18 SECONDS]", Group(distinct, w(18), ("b",), {})),
    }


def sub_selects() -> dict[str, tuple[str, Relation]]:
    doubled = Source(
        ("s",), lambda r: {"k": r["k"], "v": None if r["v"] is None else r["v"] * 2} if r["g"] == 1 else None
    )
    rows = Source(
        ("s",),
        lambda r: {"t": r["t"], "k": r["k"], "w": r["v"] + 1} if r["v"] is not None and r["v"] > 10 else None,
    )
    deep = Source(
        ("s",),
        lambda r: (
            {"k": r["k"], "w": r["v"] + 1} if r["v"] is not None and r["v"] > 10 and r["v"] + 1 < 60 else None
        ),
    )
    counts = Group(S, w(5), ("k",), {"n": len})
    return {
        "sub": (
            "SELECT k, sum(v) AS sv FROM (SELECT t, k, v * 2 AS v FROM s WHERE g = 1) "
            "[RANGE 8 SECONDS SLIDE 4 SECONDS] AS x GROUP BY k",
            Group(doubled, w(8, 4), ("k",), {"sv": SUM_V}),
        ),
        "raw": ("SELECT t, k, v + 1 AS w FROM s WHERE v > 10", rows),
        "over_raw": (
            "SELECT k, max(w) AS w FROM raw [RANGE 5 SECONDS] WHERE w < 60 GROUP BY k",
            Group(deep, w(5), ("k",), {"w": over("w", max)}),
        ),
        "nested": (
            "SELECT max(n) AS n, count(*) AS c "
            "FROM (SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k) AS i WHERE k <> 'a'",
            Group(
                Select(counts, pick(lambda r: r["k"] is not None and r["k"] != "a", "n")),
                None,
                (),
                {"n": MAX_N, "c": len},
            ),
        ),
    }


def shared_panes() -> dict[str, tuple[str, Relation]]:
    """Windows over the same filter and keys share panes, whatever they ask of them."""
    out: dict[str, tuple[str, Relation]] = {}
    for i, (length, slide) in enumerate([(12, 4), (8, 4), (4, 4), (8, 8), (20, 4), (3, 3), (10, 5)]):
        calls = {"n": len, "sv": SUM_V} if i % 2 else {"n": len, "f": first("v")}
        listed = "count(*) AS n, sum(v) AS sv" if i % 2 else "count(*) AS n, first(v) AS f"
        out[f"q{i}"] = (
            f"SELECT k, {listed} FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS] GROUP BY k",
            Group(S, w(length, slide), ("k",), calls),
        )
    out["origin"] = (
        "SELECT k, max(v) AS m FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS ORIGIN 2 SECONDS] GROUP BY k",
        Group(S, w(8, 4, origin=2), ("k",), {"m": over("v", max)}),
    )
    return out


def united_streams() -> dict[str, tuple[str, Relation]]:
    """Rows of two streams as one: its progress is the slower one's."""
    both = Source(("s", "r"))
    mixed = Source(
        ("s", "r"),
        lambda r: (
            {"k": r["k"], "v": r["v"]} if r["_stream"] == "s" and r["g"] is not None and r["g"] > 0
            else {"k": r["s"], "v": r["g"]} if r["_stream"] == "r"
            else None
        ),
    )  # fmt: skip
    return {
        "rows_": ("SELECT * FROM s UNION ALL SELECT * FROM r", Source(("s", "r"), lambda r: r)),
        "u": ("SELECT k, count(*) AS n, sum(v) AS sv FROM rows_ [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k",
              Group(both, w(8, 4), ("k",), {"n": len, "sv": SUM_V})),
        "m": (
            "SELECT k, sum(v) AS sv, count(*) AS n "
            "FROM (SELECT t, k, v FROM s WHERE g > 0 UNION ALL SELECT t, s, g FROM r) "
            "[RANGE 6 SECONDS] AS x GROUP BY k",
            Group(mixed, w(6), ("k",), {"sv": SUM_V, "n": len}),
        ),
        "only_s": ("SELECT count(*) AS n FROM s [RANGE 5 SECONDS]", Group(S, w(5), (), {"n": len})),
        "marks": (
            "SELECT count(*) AS n FROM rows_ [RANGE ALL SLIDE 11 SECONDS]",
            Group(both, w(None, 11), (), {"n": len}),
        ),
    }  # fmt: skip


def united_queries() -> dict[str, tuple[str, Relation]]:
    """Results of queries over two streams as one, with windows of their own above."""
    a = Group(S, w(4), ("k",), {"n": len})
    b = Group(R, w(3), ("g",), {"n": len})
    both = Union((a, Select(b, lambda r: {"k": None if r["g"] is None else str(r["g"]), "n": r["n"]})))
    return {
        "a": ("SELECT k, count(*) AS n FROM s [RANGE 4 SECONDS] GROUP BY k", a),
        "b": ("SELECT g, count(*) AS n FROM r [RANGE 3 SECONDS] GROUP BY g", b),
        "both_": ("SELECT k, n FROM a UNION ALL SELECT cast(g AS STRING), n FROM b", both),
        "over": (
            "SELECT k, sum(n) AS n FROM both_ [RANGE 12 SECONDS SLIDE 6 SECONDS] GROUP BY k",
            Group(both, w(12, 6), ("k",), {"n": SUM_N}),
        ),
        "total": ("SELECT sum(n) AS n FROM both_ [RANGE 7 SECONDS]", Group(both, w(7), (), {"n": SUM_N})),
    }


def mixed_types() -> dict[str, tuple[str, Relation]]:
    """Arms of a union with different types of numbers agree on the wider one."""
    a = Group(S, w(4), ("g",), {"y": lambda rows: len(rows)})
    b = Group(S, w(4), ("v",), {"y": over("x", max)})
    both = Union(
        (
            Select(a, lambda r: {"g": r["g"], "y": float(r["y"])}),
            Select(b, lambda r: {"g": r["v"], "y": r["y"]}),
        )
    )
    return {
        "both_": (
            "SELECT g, count(*) AS y FROM s [RANGE 4 SECONDS] GROUP BY g "
            "UNION ALL SELECT v, max(x) FROM s [RANGE 4 SECONDS] GROUP BY v",
            both,
        ),
        "by_g": (
            "SELECT g, sum(y) AS y, count(*) AS c FROM both_ GROUP BY g",
            Group(both, None, ("g",), {"y": over("y", math.fsum), "c": len}),
        ),
    }


def renamed() -> dict[str, tuple[str, Relation]]:
    """Arms of a union with different names take the first arm's; a union inside a union too."""
    a = Group(S, w(4), ("k",), {"n": len})
    b = Group(S, w(4), ("g",), {"n": len})
    s = Select(b, lambda r: {"k": None if r["g"] is None else str(r["g"]), "n": r["n"]})
    both = Union((a, s, Select(a, lambda r: {"k": r["k"], "n": r["n"] + 1})))
    return {
        "u": (
            "SELECT k, count(*) AS n FROM s [RANGE 4 SECONDS] GROUP BY k UNION ALL "
            "(SELECT cast(g AS STRING) AS x, count(*) AS y FROM s [RANGE 4 SECONDS] GROUP BY g "
            "UNION ALL SELECT k, count(*) + 1 FROM s [RANGE 4 SECONDS] GROUP BY k)",
            both,
        ),
        "over": ("SELECT k, sum(n) AS n FROM u GROUP BY k", Group(both, None, ("k",), {"n": SUM_N})),
    }


def integers() -> dict[str, tuple[str, Relation]]:
    """GSQL buckets, Spark's window() and brackets over an integer attribute."""

    def bucket(r: Row) -> Row:
        return {
            "tb": r["window_start"] // 10,
            "k": r["k"],
            "n": r["n"],
            "window_start": r["window_start"],
            "window_end": r["window_end"],
        }

    gsql = Group(S, w(10, unit=1), ("k",), {"n": len}, out=bucket)
    spark = Group(S, w(12, 5, unit=1, origin=2), ("k",), {"n": len})
    return {
        "gsql": ("SELECT tb, k, count(*) AS n FROM s GROUP BY t/10 AS tb, k", gsql),
        "spark": ("SELECT k, count(*) AS n FROM s GROUP BY window(t, '12', '5', '2'), k", spark),
        "over": (
            "SELECT max(n) AS n, max(tb) AS tb FROM gsql",
            Group(gsql, None, (), {"n": MAX_N, "tb": over("tb", max)}),
        ),
        "odd": ("SELECT count(*) AS n FROM s [RANGE 7 SLIDE 3]", Group(S, w(7, 3, unit=1), (), {"n": len})),
    }


CASES = {
    f.__name__: Case(f(), unit, streams=streams)
    for f, unit, streams in [
        (same_window, SECOND, ("s",)),
        (rewindowed, SECOND, ("s",)),
        (three_deep, SECOND, ("s",)),
        (diamond, SECOND, ("s",)),
        (levels, SECOND, ("s",)),
        (filters, SECOND, ("s",)),
        (sub_selects, SECOND, ("s",)),
        (shared_panes, SECOND, ("s",)),
        (united_streams, SECOND, ("s", "r")),
        (united_queries, SECOND, ("s", "r")),
        (mixed_types, SECOND, ("s",)),
        (renamed, SECOND, ("s",)),
        (integers, 1, ("s",)),
    ]
}
