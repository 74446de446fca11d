"""Queries of one set that keep nearly the same rows, each as if it were alone: DuckDB over all rows says what is right."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from headrace.program.limits import Limits
from headrace.testing import LocalRun

STREAMS = "".join(f"CREATE STREAM {s} (ts BIGINT, k INT, v INT) PROGRESSING ON ts SLACK 0 FROM 'memory';\n" for s in "ab")
TABLE = "CREATE TABLE dim (k INT, label STRING) FROM 'memory';\n"
ROWS = {
    "a": [(0, 1, 1), (4, 1, 2), (6, 2, 1), (10, 1, 1), (14, 1, 2), (16, 2, 1), (18, 4, None)],
    "b": [(0, 1, 2), (4, 1, 1), (9, 2, 3), (10, 1, 2), (14, 1, 1), (19, 2, 3), (20, 5, None)],
}
LABELS = [(1, "one"), (2, "two")]

SAME_STREAM = [
    "SELECT x.ts, b.v FROM a x JOIN b ON x.k = b.k AND abs(x.ts - b.ts) < 5",
    "SELECT x.ts, b.v FROM (SELECT ts, k FROM a) x JOIN b ON x.k = b.k AND abs(x.ts - b.ts) < 5",
    "SELECT x.ts, b.v FROM (SELECT ts, k, v + 1 AS w FROM a) x JOIN b ON x.k = b.k AND abs(x.ts - b.ts) < 5",
    "SELECT x.t, b.v FROM (SELECT ts AS t, k FROM a) x JOIN b ON x.k = b.k AND abs(x.t - b.ts) < 5",
    "SELECT x.t, b.v FROM (SELECT ts AS t, k AS g FROM a) x JOIN b ON x.g = b.k AND abs(x.t - b.ts) < 5",
    "SELECT b.ts FROM b WHERE EXISTS (SELECT 1 FROM (SELECT ts, ts AS t, k FROM a) x WHERE x.k = b.k AND abs(x.t - b.ts) < 1)",
    "SELECT b.ts FROM b WHERE EXISTS (SELECT 1 FROM (SELECT ts, ts AS t, k FROM a) x WHERE x.k = b.k AND abs(x.ts - b.ts) < 1)",
    "SELECT b.ts FROM b WHERE EXISTS (SELECT 1 FROM (SELECT ts, ts + 3 AS t, k FROM a) x WHERE x.k = b.k AND abs(x.t - b.ts) < 1)",
    "SELECT DISTINCT ts AS t, k AS g FROM a",
    "SELECT x.ts, d.label FROM a x JOIN dim d ON x.k = d.k",
    "SELECT x.ts, d.label FROM (SELECT ts, k FROM a) x JOIN dim d ON x.k = d.k",
    "SELECT x.t, d.label FROM (SELECT ts AS t, k FROM a) x JOIN dim d USING (k)",
]
BY_BOTH_TIMES = [
    "SELECT x.ts AS t0, y.ts AS t1, x.k AS k FROM a x JOIN a y ON x.k = y.k AND abs(x.ts - y.ts) <= 5 AND x.v = 1",
    *(
        f"SELECT b.ts, b.v FROM b WHERE {exists} (SELECT 1 FROM q0 WHERE q0.k = b.k AND q0.{time} = b.ts)"
        for exists in ("EXISTS", "NOT EXISTS")
        for time in ("t0", "t1")
    ),
    *(
        f"SELECT b.ts FROM b WHERE EXISTS (SELECT 1 FROM (SELECT ts, ts AS t, k FROM a UNION ALL SELECT {columns}, k FROM q0) x "
        f"WHERE x.k = b.k AND abs(x.{time} - b.ts) < 2)"
        for columns in ("t0, t1", "t1, t0")
        for time in ("ts", "t")
    ),
    *(
        f"SELECT u.t, d.label FROM (SELECT {time} AS t, k FROM q0 UNION ALL SELECT ts, k FROM a) u LEFT JOIN dim d ON u.k = d.k"
        for time in ("t0", "t1")
    ),
    *(f"SELECT DISTINCT {time} AS t FROM q0" for time in ("t0", "t1")),
]
OF_OUTER_JOINS = [
    "SELECT x.ts AS t0, y.ts AS t1, x.v AS k FROM a x FULL JOIN b y ON x.k = y.k AND abs(x.ts - y.ts) <= 2",
    *(
        f"SELECT u.t, d.label FROM (SELECT {time} AS t, k FROM q0 UNION ALL SELECT ts, k FROM a) u LEFT JOIN dim d ON u.k = d.k"
        for time in ("t0", "t1")
    ),
    *(f"SELECT q0.t0, q0.t1 FROM q0 WHERE NOT EXISTS (SELECT 1 FROM b WHERE q0.k = b.k AND q0.{t} = b.ts)" for t in ("t0", "t1")),
]
JOINED = "SELECT x.ts AS t, y.v AS v FROM a x JOIN b y ON x.k = y.k AND x.ts = y.ts"
UNIONS = [
    f"{JOINED} UNION ALL SELECT ts, v FROM b",
    f"SELECT ts, v FROM b WHERE v > 1 UNION ALL {JOINED} UNION ALL SELECT ts + 1, v + 1 FROM a",
    f"SELECT t + 1 AS t, 2 * v AS w FROM ({JOINED} UNION ALL SELECT ts, v FROM b) WHERE v > 1",
    f"SELECT t, v / 2 AS half FROM ({JOINED} UNION ALL SELECT ts, 1.5 FROM b)",
    "SELECT a.ts, d.label FROM a JOIN dim d ON a.k = d.k UNION ALL SELECT ts, 'none' FROM b",
]
BETWEEN_TABLES = [
    "SELECT x.ts, d.label, y.v FROM a x LEFT JOIN dim d ON x.k = d.k LEFT JOIN b y ON y.k = x.k AND y.ts = x.ts",
    "SELECT x.ts, d.label, y.v FROM a x JOIN dim d ON x.k = d.k LEFT JOIN b y ON y.k = d.k AND y.ts = x.ts AND d.label = 'one'",
    "SELECT x.ts, d.label, y.ts AS t FROM a x LEFT JOIN dim d ON x.k = d.k FULL JOIN b y ON y.k = x.k AND abs(y.ts - x.ts) < 2",
    "SELECT x.ts, d.label, y.ts AS t FROM a x LEFT JOIN dim d ON x.k = d.k RIGHT JOIN b y ON y.k = x.k AND abs(y.ts - x.ts) < 2",
]


@pytest.mark.parametrize("queries", [SAME_STREAM, BY_BOTH_TIMES, OF_OUTER_JOINS, UNIONS, BETWEEN_TABLES])
def test_each_is_what_it_is_alone(queries: list[str]) -> None:
    """Rows under other names, by another of their times, or of no time, are not taken for each other."""
    text = "".join(f"CREATE QUERY q{i} AS {q};\n" for i, q in enumerate(queries))
    run = LocalRun(STREAMS + TABLE + text, tables={"dim": LABELS}, limits=Limits(broadcast_bytes=0))
    con = duckdb.connect()
    for stream, rows in ROWS.items():
        con.execute(f"CREATE TABLE {stream} (ts BIGINT, k INT, v INT)")
        con.executemany(f"INSERT INTO {stream} VALUES (?, ?, ?)", rows)
    con.execute("CREATE TABLE dim (k INT, label VARCHAR)")
    con.executemany("INSERT INTO dim VALUES (?, ?)", LABELS)
    for part in (slice(3), slice(3, 5), slice(5, None)):
        run.push(**{s: rows[part] for s, rows in ROWS.items()})
    for _ in range(3):
        run.flush()
    for i, query in enumerate(queries):
        con.execute(f"CREATE VIEW q{i} AS {query}")
        assert Counter(run.rows(f"q{i}")) == Counter(con.sql(f"FROM q{i}").fetchall()), query


@pytest.mark.parametrize("time", ["t0", "t1"])
def test_versions_for_rows_of_no_time(time: str) -> None:
    """A row that an outer join fills with NULLs has no version, and LEFT JOIN keeps it, in the batch it comes in."""
    run = LocalRun(f"""{STREAMS}
CREATE QUERY q AS SELECT x.ts AS t0, y.ts AS t1, x.k FROM a x FULL JOIN b y ON x.k = y.k AND abs(x.ts - y.ts) <= 2;
CREATE QUERY l AS SELECT q.t0, q.t1, r.v FROM q LEFT JOIN b FOR SYSTEM_TIME AS OF q.{time} AS r ON q.k = r.k;
CREATE QUERY i AS SELECT q.t0, q.t1, r.v FROM q JOIN b FOR SYSTEM_TIME AS OF q.{time} AS r ON q.k = r.k;
""")
    run.push(a=ROWS["a"][:4], b=ROWS["b"][:4])
    run.push(a=ROWS["a"][4:], b=ROWS["b"][4:])
    for _ in range(3):
        run.flush()
    assert len(run.rows("q")) == 10
    assert Counter(row[:2] for row in run.rows("l")) == Counter(row[:2] for row in run.rows("q"))
    assert {row[:2] for row in run.rows("i")} == {row[:2] for row in run.rows("l") if row[2] is not None}
