"""Joins whose conditions are easily misread, against the same SQL over all rows in DuckDB."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from headrace.testing import LocalRun

COLUMNS = "ts BIGINT, k INT, v INT, f BOOLEAN"
ROWS = {
    "a": [(0, 1, 1, True), (4, 1, 2, False), (5, 2, None, True), (9, None, 3, None), (12, 3, 4, True), (13, 7, 4, True)],
    "b": [(0, 1, 1, True), (2, 1, 5, None), (6, 2, 0, False), (8, None, 2, True), (12, 4, 4, True), (14, 8, 4, True)],
    "c": [(1, 1, 1, False), (5, 2, 2, True), (7, None, 1, True), (11, 4, 4, None), (12, 3, 4, True), (15, 9, 4, True)],
}


def check(query: str, bounded: str = "y USING") -> None:
    """Results in three batches are DuckDB's; the first USING is `bounded` in time here, and not there."""
    streams = "".join(f"CREATE STREAM {s} ({COLUMNS}) PROGRESSING ON ts SLACK 5 FROM 'memory';\n" for s in ROWS)
    run = LocalRun(f"{streams}CREATE QUERY q AS {query.replace('y USING', bounded)};")
    con = duckdb.connect()
    for stream, rows in ROWS.items():
        con.execute(f"CREATE TABLE {stream} ({COLUMNS})")
        con.executemany(f"INSERT INTO {stream} VALUES (?, ?, ?, ?)", rows)
    for i in range(0, 6, 2):
        run.push(**{s: rows[i : i + 2] for s, rows in ROWS.items()})
    for _ in range(3):
        run.flush()
    expected = con.execute(query).fetchall()
    assert expected
    assert Counter(run.rows("q")) == Counter(expected)


@pytest.mark.parametrize("condition", ["x.f", "NOT y.f", "x.v > 1", "x.v IS NULL", "(x.f OR y.f)"])
@pytest.mark.parametrize(("first", "second"), [("LEFT", "LEFT"), ("LEFT", ""), ("", "LEFT"), ("RIGHT", ""), ("LEFT", "FULL")])
def test_a_later_on_speaks_of_earlier_inputs_alone(first: str, second: str, condition: str) -> None:
    """Such a condition decides who is a partner, and its columns are there for it, selected or not."""
    check(
        f"SELECT x.ts AS t0, y.ts AS t1, z.ts AS t2 FROM a x {first} JOIN b y ON x.k = y.k AND abs(x.ts - y.ts) <= 6 "
        f"{second} JOIN c z ON z.k = x.k AND abs(z.ts - x.ts) <= 6 AND {condition}"
    )


def test_a_time_on_both_sides_counts_twice() -> None:
    """2(x - y) <= 4 is not x - y <= 4."""
    near = "x.ts - y.ts <= y.ts - x.ts + 4 AND abs(x.ts - y.ts) <= 20"
    check(f"SELECT x.ts AS t0, y.ts AS t1 FROM a x JOIN b y ON x.k = y.k AND {near}")


@pytest.mark.parametrize(("kind", "near"), [("LEFT", "x"), ("RIGHT", "y"), ("FULL", "y"), ("FULL", "x")])
def test_using_after_an_outer_join(kind: str, near: str) -> None:
    """The column that USING shares is that of whichever side is there, also for the next USING."""
    joined = f"FROM a x {kind} JOIN b y USING (k) JOIN c z USING (k) WHERE abs({near}.ts - z.ts) <= 20"
    check(f"SELECT x.ts AS t0, y.ts AS t1, z.ts AS t2, k {joined}", "y WITHIN 20 USING")


def test_numbers_of_windows_divided() -> None:
    """Windows whose numbers agree after division meet, though they are not the same window."""
    streams = "".join(f"CREATE STREAM {s} (ts BIGINT, k INT) PROGRESSING ON ts SLACK 0 FROM 'memory';\n" for s in "ab")
    run = LocalRun(f"""{streams}
CREATE QUERY fa AS SELECT tb, k, count(*) AS n FROM a GROUP BY ts/5 AS tb, k;
CREATE QUERY fb AS SELECT tb, k, count(*) AS n FROM b GROUP BY ts/5 AS tb, k;
CREATE QUERY q AS SELECT x.tb AS t0, y.tb AS t1 FROM fa x JOIN fb y ON x.k = y.k AND x.tb DIV 2 = y.tb DIV 2;
""")
    for start in (0, 7, 14, 21):
        rows = [(t, 1) for t in range(start, start + 7)]
        run.push(a=rows, b=rows)
    run.flush()
    assert run.rows("q") == [(i, j) for i in range(6) for j in range(6) if i // 2 == j // 2]


@pytest.mark.parametrize(
    "condition",
    [
        "NOT (y.ts < x.ts - 3 OR y.ts > x.ts + 2)",
        "NOT (NOT (y.ts >= x.ts - 3) OR NOT y.ts <= x.ts + 2 OR x.v > y.v)",
        "(y.ts BETWEEN x.ts - 3 AND x.ts - 2 OR y.ts BETWEEN x.ts + 1 AND x.ts + 4)",
        "((y.ts <= x.ts AND y.ts > x.ts - 6 AND x.v > 1) OR (y.ts - x.ts < 2 AND x.ts - y.ts <= 2))",
        "y.ts BETWEEN x.ts - 4 AND x.ts + 4 AND x.v IS DISTINCT FROM y.v",
        "y.ts BETWEEN x.ts - 4 AND x.ts + 4 AND x.v IS NOT DISTINCT FROM y.v",
        "y.ts BETWEEN x.ts - 4 AND x.ts + 4 AND NOT (x.v > y.v)",
    ],
)
@pytest.mark.parametrize("kind", ["", "LEFT", "FULL"])
def test_negated_and_alternative_conditions(kind: str, condition: str) -> None:
    """NOT before conditions, and one band or another, bound a join; NULL is not true either way."""
    keys = "x.k = y.k AND " if kind == "FULL" else ""
    check(f"SELECT x.ts AS xt, x.v, y.ts AS yt, y.v AS w FROM a x {kind} JOIN b y ON {keys}{condition}")
