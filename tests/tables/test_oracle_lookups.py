"""Lookups in static tables against the same queries over a stream that has the looked-up columns in it already.

The reference pushes, for every row of the stream, what a LEFT JOIN with the version of the table at that batch gives, in plain
Python. So rows, windows, joins and progress must come out the same, late rows and restarts included.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun

SECOND = 1_000_000
STREAMS = """
CREATE STREAM u (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 3 SECONDS FROM 'memory';
"""
LOOKED_UP = (
    STREAMS
    + """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';
CREATE TABLE t (k STRING, name STRING, x INT) FROM 'memory' REFRESH EVERY 10 SECONDS;
CREATE QUERY inner_rows AS SELECT s.ts, s.v, t.name FROM s JOIN t ON s.k = t.k;
CREATE QUERY left_rows AS SELECT s.ts, s.v, t.name, t.x FROM s LEFT JOIN t ON s.k = t.k;
CREATE QUERY residual AS SELECT s.ts, t.x FROM s JOIN t ON s.k = t.k AND s.v > t.x;
CREATE QUERY semi AS SELECT ts, v FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.k = s.k);
CREATE QUERY listed AS SELECT ts, v FROM s WHERE k IN (SELECT k FROM t);
CREATE QUERY anti AS SELECT ts, v FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k);
CREATE QUERY sums AS SELECT t.name, count(*) AS n, sum(v) AS total
  FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] LEFT JOIN t ON s.k = t.k GROUP BY t.name;
CREATE QUERY inner_sums AS SELECT s.k, count(*) AS n FROM s [RANGE 10 SECONDS] JOIN t ON s.k = t.k GROUP BY s.k;
CREATE QUERY beside AS SELECT k, count(*) AS n FROM u [RANGE 1 SECOND] GROUP BY k;
CREATE QUERY again AS SELECT count(*) AS groups FROM inner_sums;
CREATE QUERY pairs AS SELECT a.ts, a.name, u.ts AS other FROM inner_rows a JOIN u
  ON a.name = u.k AND u.ts BETWEEN a.ts - INTERVAL 4 SECONDS AND a.ts;
CREATE QUERY lonely AS SELECT a.ts, a.name, u.ts AS other FROM inner_rows a LEFT JOIN u
  ON a.name = u.k AND u.ts BETWEEN a.ts - INTERVAL 4 SECONDS AND a.ts;
"""
)
WRITTEN_OUT = (
    STREAMS
    + """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, name STRING, x INT, hit BOOLEAN, first BOOLEAN)
  PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';
CREATE QUERY inner_rows AS SELECT ts, v, name FROM s WHERE hit;
CREATE QUERY left_rows AS SELECT ts, v, name, x FROM s;
CREATE QUERY residual AS SELECT ts, x FROM s WHERE hit AND v > x;
CREATE QUERY semi AS SELECT ts, v FROM s WHERE hit AND first;
CREATE QUERY listed AS SELECT ts, v FROM s WHERE hit AND first;
CREATE QUERY anti AS SELECT ts, v FROM s WHERE NOT hit;
CREATE QUERY sums AS SELECT name, count(*) AS n, sum(v) AS total FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY name;
CREATE QUERY inner_sums AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] WHERE hit GROUP BY k;
CREATE QUERY beside AS SELECT k, count(*) AS n FROM u [RANGE 1 SECOND] GROUP BY k;
CREATE QUERY again AS SELECT count(*) AS groups FROM inner_sums;
CREATE QUERY pairs AS SELECT a.ts, a.name, u.ts AS other FROM inner_rows a JOIN u
  ON a.name = u.k AND u.ts BETWEEN a.ts - INTERVAL 4 SECONDS AND a.ts;
CREATE QUERY lonely AS SELECT a.ts, a.name, u.ts AS other FROM inner_rows a LEFT JOIN u
  ON a.name = u.k AND u.ts BETWEEN a.ts - INTERVAL 4 SECONDS AND a.ts;
"""
)
QUERIES = [line.split()[2] for line in LOOKED_UP.splitlines() if line.startswith("CREATE QUERY")]
KEYS = ["a", "b", "c", "d", None]


def make_table(rng: random.Random) -> list[tuple[Any, ...]]:
    """Some keys once, some twice, some not at all; a NULL key meets nobody."""
    keys = [rng.choice(KEYS) for _ in range(rng.randint(1, 6))]
    return [(k, rng.choice(KEYS), rng.choice([None, 10, 20, 30])) for k in keys]


def write_out(row: tuple[Any, ...], table: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The row as a LEFT JOIN gives it."""
    found = [(name, x) for key, name, x in table if key is not None and key == row[1]]
    return [(*row, *each, True, i == 0) for i, each in enumerate(found)] or [(*row, None, None, False, True)]


def make_rows(rng: random.Random, start: int, spread: int) -> list[int]:
    return [max(0, start + rng.randint(-spread, 6)) * SECOND for _ in range(rng.randint(0, 6))]


LIMITS = [SHIPPED.broadcast_bytes, 0, 90]  # every slot holds the table, none does, or as large as it happens to be
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, *range(2, 12)))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lookup_is_the_stream_with_the_columns_in_it(
    seed: int, tmp_path: Path
) -> None:
    """Again and again every query over the lookup has the rows of the same query over the written-out stream."""
    limits = Limits(piece_bytes=40, broadcast_bytes=LIMITS[seed % 3])  # many files
    if seed % 2:
        limits = replace(limits, round_rows=2)  # many rounds of progress in a batch
    rng = random.Random(seed)
    tables = {"t": make_table(rng)}
    clock = [1_000_000 * SECOND]
    path, slots = str(tmp_path / "checkpoint"), rng.choice([1, 2, 3])

    def start(slots: int | None) -> LocalRun:
        given = {"t": lambda: tables["t"]}
        return LocalRun(LOOKED_UP, slots, path=path, clock=lambda: clock[0], tables=given, limits=limits)

    run, reference = start(slots), LocalRun(WRITTEN_OUT, clock=lambda: clock[0])
    used, read_at = tables["t"], clock[0]
    spread = rng.choice([4, 9])  # within the slack, or beyond it
    for batch in range(9):
        tables["t"] = make_table(rng)
        clock[0] += rng.choice([1, 4, 12]) * SECOND
        restarted = rng.random() < 0.2
        if restarted:
            run.close()
            run = start(rng.choice([1, 2, 3]))
        if restarted or clock[0] >= read_at + 10 * SECOND:
            used, read_at = tables["t"], clock[0]
        rows = [(t, rng.choice(KEYS), rng.randint(0, 40)) for t in make_rows(rng, 3 * batch, spread)]
        other = [(t, rng.choice(KEYS)) for t in make_rows(rng, 3 * batch, 3)]
        run.push(s=rows, u=other)
        reference.push(s=[each for row in rows for each in write_out(row, used)], u=other)
        for query in QUERIES if batch % 3 == 2 else ():
            assert run.rows(query) == reference.rows(query), (query, batch)
    run.flush()
    reference.flush()
    for query in QUERIES:
        assert run.rows(query) == reference.rows(query), query
    assert {f.path for f in run.driver.log.late("s")} or spread == 4
    run.close()


INEQUALITIES = """
CREATE STREAM s (ts TIMESTAMP, low INT, v INT) PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';
CREATE TABLE t (at INT, x INT) FROM 'memory';
CREATE QUERY inside AS SELECT s.ts, s.low, s.v, t.x FROM s JOIN t ON {on};
CREATE QUERY padded AS SELECT s.ts, s.low, s.v, t.x FROM s LEFT JOIN t ON {on};
CREATE QUERY some AS SELECT ts, low, v FROM s WHERE EXISTS (SELECT 1 FROM t WHERE {on});
CREATE QUERY none AS SELECT ts, low, v FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE {on});
"""


def test_lookups_by_inequalities_alone() -> None:
    """Without an equality, DuckDB 2.0's LEFT, SEMI and ANTI JOIN give wrong rows for some sets of conditions in large inputs."""
    rng = random.Random(1)
    on = "t.at >= s.low AND t.at < s.low + 4 AND s.v <> t.x AND (s.v > 3 OR t.x < 4)"
    table = [(rng.randrange(3000), rng.choice([None, *range(10)])) for _ in range(2500)]
    rows = [(n * SECOND, rng.randrange(3000), rng.randrange(10)) for n in range(2600)]
    run = LocalRun(INEQUALITIES.format(on=on), tables={"t": table})
    run.push(s=rows)
    run.flush()
    at = defaultdict(list)
    for place, x in table:
        at[place].append(x)
    expected: dict[str, list[tuple[Any, ...]]] = {"inside": [], "padded": [], "some": [], "none": []}
    for row in rows:
        near = [x for place in range(row[1], row[1] + 4) for x in at[place] if x is not None]
        found = [(*row, x) for x in near if row[2] != x and (row[2] > 3 or x < 4)]
        expected["inside"] += found
        expected["padded"] += found or [(*row, None)]
        expected["some" if found else "none"].append(row)
    for query, wanted in expected.items():
        assert Counter(run.rows(query)) == Counter(wanted), query
    run.close()


def test_late_rows_are_judged_as_without_the_table() -> None:
    """A row that has missed a window above a lookup is in the late table, one that has missed nothing is not."""
    table = "CREATE TABLE t (k STRING) FROM 'memory';"
    stream = "CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';"
    plain = stream + "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k;"
    looked = stream + table + "CREATE QUERY q AS SELECT s.k, count(*) AS n FROM s [RANGE 10 SECONDS] JOIN t ON s.k = t.k GROUP BY s.k;"
    runs = [LocalRun(plain), LocalRun(looked, tables={"t": [("a",), ("b",)]})]
    for run in runs:
        run.push(s=[(1 * SECOND, "a"), (26 * SECOND, "b")])
        run.push(s=[(3 * SECOND, "a"), (20 * SECOND, "b"), (40 * SECOND, "a")])
        run.flush()
    assert runs[0].rows("q") == runs[1].rows("q") != []
    assert runs[0].late("s") == runs[1].late("s")
    assert len(runs[1].late("s")) == 1
    assert runs[1].manifest.streams["s"].late == 1
