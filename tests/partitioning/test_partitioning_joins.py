"""Joins whose rows are partitioned by fewer or coarser keys than they are matched by: results are those of batch SQL."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest

from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM s (t BIGINT, x INT, y INT, v INT) PROGRESSING ON t SLACK 3 FROM 'memory';
CREATE STREAM r (t BIGINT, x INT, y INT, v INT) PROGRESSING ON t SLACK 3 FROM 'memory';
"""
NEAR = "a.x = b.x AND a.y = b.y AND b.t BETWEEN a.t - 2 AND a.t + 2"
Row = tuple[int, int | None, int | None, int]


def make_rows(seed: int, count: int = 240) -> list[Row]:
    rng = random.Random(seed)
    return [(t // 4 + rng.randint(0, 2), rng.choice([None, *range(-3, 900, 61)]), rng.randint(0, 2), t) for t in range(count)]


def run_batches(script: str, s: list[Row], r: list[Row], slots: int = 3) -> LocalRun:
    run = LocalRun(STREAMS + script, slots=slots, tasks=2)
    for start in range(0, len(s), 60):
        run.push(s=s[start : start + 60], r=r[start : start + 60])
    run.flush()
    return run


def query_batch(sql: str, s: list[Row], r: list[Row]) -> list[str]:
    con = duckdb.connect(config={"threads": "1"})
    for name, rows in (("s", s), ("r", r)):
        con.register(f"{name}_pushed", pa.table({n: pa.array(c) for n, c in zip("txyv", zip(*rows, strict=True), strict=True)}))
        con.sql(f"CREATE TABLE {name} AS SELECT t, x::INT AS x, y::INT AS y, v::INT AS v FROM {name}_pushed")
    return sorted(map(repr, con.sql(sql).fetchall()))


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
@pytest.mark.parametrize(("key", "again"), [("x", "x"), ("x & 252", "x & 252"), ("y", "y"), ("v % 3", "v % 3")])
def test_aggregations_over_joins(kind: str, key: str, again: str) -> None:
    """By a key of the join, by an expression of one and by another column, for every kind of join."""
    s, r = make_rows(1), make_rows(2)
    script = f"""
      CREATE QUERY j AS SELECT a.t, a.x, a.y, a.v FROM s AS a {kind} r AS b ON {NEAR};
      CREATE QUERY q AS SELECT {key} AS k, count(*) AS n FROM j [RANGE 20] GROUP BY {key};"""
    run = run_batches(script, s, r)
    duck = kind.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
    expected = query_batch(
        f"SELECT {again} AS k, count(*) AS n, a.t // 20 * 20 AS w FROM (SELECT a.t, a.x, a.y, a.v FROM s AS a {duck} r AS b ON {NEAR}) AS a "
        "WHERE a.t IS NOT NULL GROUP BY ALL",
        s,
        r,
    )
    assert sorted(repr(tuple(row[:3])) for row in run.rows("q")) == expected
    run.close()


@pytest.mark.parametrize(("key", "levels"), [("x", 1), ("x & 252", 1), ("y", 1), ("v", 2)])
def test_an_aggregation_over_a_join_shares_its_exchange(key: str, levels: int) -> None:
    """The rows of a join are partitioned by what its reader groups by, where that is a function of its keys."""
    run = LocalRun(f"""{STREAMS}
      CREATE QUERY j AS SELECT a.t, b.x, a.y, a.v FROM s AS a JOIN r AS b ON {NEAR};
      CREATE QUERY q AS SELECT {key} AS k, count(*) AS n FROM j [RANGE 20] GROUP BY {key};""")
    assert run.plan.levels == levels
    assert {e.by for e in run.plan.exchanges if e.level == 0} == {(f"`{key[0]}`{key[1:]}",) if levels == 1 else ("`x`", "`y`")}
    run.close()


@pytest.mark.parametrize("key", ["x", "x & 252"])
def test_joins_of_aggregations_run_where_these_are(key: str) -> None:
    """Aggregations that a join reads are partitioned for it, by a coarser expression too."""
    s, r = make_rows(3), make_rows(4)
    run = run_batches(
        f"""
      CREATE QUERY f AS SELECT x, y, count(*) AS n FROM s [RANGE 10] GROUP BY x, y;
      CREATE QUERY g AS SELECT x, max(v) AS m FROM r [RANGE 10] GROUP BY x;
      CREATE QUERY j AS SELECT a.window_end AS e, a.x, a.y, a.n, b.m FROM f AS a JOIN g AS b
        ON {key.replace("x", "a.x")} = {key.replace("x", "b.x")} AND a.window_end = b.window_end;""",
        s,
        r,
    )
    assert run.plan.levels == 1
    expected = query_batch(
        f"""
      WITH f AS (SELECT t // 10 * 10 + 10 AS e, x, y, count(*) AS n FROM s GROUP BY ALL),
        g AS (SELECT t // 10 * 10 + 10 AS e, x, max(v) AS m FROM r GROUP BY ALL)
      SELECT f.e, f.x, f.y, f.n, g.m FROM f JOIN g ON {key.replace("x", "f.x")} = {key.replace("x", "g.x")} AND f.e = g.e""",
        s,
        r,
    )
    assert sorted(repr(tuple(row[:5])) for row in run.rows("j")) == expected
    run.close()


MIXED = """
CREATE STREAM s (t BIGINT, x INT, v INT) PROGRESSING ON t SLACK 3 FROM 'memory';
CREATE STREAM r (t BIGINT, x BIGINT, v INT) PROGRESSING ON t SLACK 3 FROM 'memory';
"""


@pytest.mark.parametrize(("key", "levels"), [("x", 1), ("x & 65520", 1), ("x DIV 3", 1), ("abs(x)", 2), ("x & 4294967295", 2)])
def test_an_aggregation_by_the_narrower_of_two_types(key: str, levels: int) -> None:
    """INT and BIGINT are compared and hashed as BIGINT: results stay where they are, for a key that has the same value as one."""
    script = f"""
      CREATE QUERY j AS SELECT a.t, a.x, a.v FROM s AS a LEFT JOIN r AS b ON a.x = b.x AND b.t BETWEEN a.t - 2 AND a.t + 2;
      CREATE QUERY q AS SELECT {key} AS k, count(*) AS n FROM j [RANGE 20] GROUP BY {key};
      CREATE QUERY u AS SELECT k, sum(n) AS n FROM q [RANGE 40] GROUP BY k;"""
    run = LocalRun(MIXED + script, slots=4)
    assert run.plan.levels == levels
    s, r = ([(t, x, v) for t, x, _, v in make_rows(seed, 160)] for seed in (7, 8))
    run.push(s=s[:80], r=r[:80])
    run.rescale(3)
    run.push(s=s[80:], r=r[80:])
    run.flush()
    pairs = [(t, x) for t, x, _ in s for _ in range(max(1, sum(y == x is not None and t - 2 <= w <= t + 2 for w, y, _ in r)))]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE j (t BIGINT, x INT)")
        con.executemany("INSERT INTO j VALUES (?, ?)", pairs)
        by = key.replace("DIV", "//")
        for query, window in (("q", 20), ("u", 40)):
            found = con.sql(f"SELECT {by} AS k, count(*) AS n, t // {window} * {window} FROM j GROUP BY ALL").fetchall()
            assert sorted(repr((row[0], int(row[1]), row[2])) for row in run.rows(query)) == sorted(map(repr, found))
    run.close()
