"""Exchanges of results: by expressions that serve what stands on them too, the same for the life of a checkpoint."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb

from headrace.state.checksums import open_json, seal_json
from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0 FROM 'memory';"
# flows are partitioned by a for the sake of tops, which do not show it to what groups by b
CHAIN = """
CREATE QUERY flows AS SELECT a, b, count(*) AS n FROM s [RANGE 10] GROUP BY a, b;
CREATE QUERY tops AS SELECT a, max(n) AS n, max(b) AS b FROM flows GROUP BY a;
CREATE QUERY by_b AS SELECT b, n, count(*) AS m FROM tops GROUP BY b, n;
CREATE QUERY masked AS SELECT b & 65520 AS c, sum(m) AS m FROM by_b GROUP BY b & 65520;
CREATE QUERY also AS SELECT b & 65528 AS c, sum(m) AS m FROM by_b GROUP BY b & 65528;
CREATE QUERY again AS SELECT c & 65472 AS c, sum(m) AS m FROM masked [RANGE 20] GROUP BY c & 65472;
CREATE QUERY divided AS SELECT b DIV 16 AS c, sum(m) AS m FROM by_b GROUP BY b DIV 16;
CREATE QUERY pairs AS SELECT x.window_end AS at, x.b, x.n, x.m, y.m AS before FROM by_b AS x JOIN by_b AS y
  ON x.b = y.b AND x.n = y.n AND x.window_end = y.window_end + 10;
"""
BATCH = """
CREATE TABLE flows AS SELECT a, b, count(*) AS n, t // 10 AS w FROM s GROUP BY ALL;
CREATE TABLE tops AS SELECT a, max(n) AS n, max(b) AS b, w FROM flows GROUP BY a, w;
CREATE TABLE by_b AS SELECT b, n, count(*) AS m, w FROM tops GROUP BY b, n, w;
CREATE TABLE masked AS SELECT b & 65520 AS c, sum(m) AS m, w FROM by_b GROUP BY b & 65520, w;
CREATE TABLE also AS SELECT b & 65528 AS c, sum(m) AS m, w FROM by_b GROUP BY b & 65528, w;
CREATE TABLE again AS SELECT c & 65472 AS c, sum(m) AS m, w // 2 AS v FROM masked GROUP BY ALL;
CREATE TABLE divided AS SELECT b // 16 AS c, sum(m) AS m, w FROM by_b GROUP BY b // 16, w;
CREATE TABLE pairs AS SELECT x.w * 10 + 10 AS at, x.b, x.n, x.m, y.m FROM by_b AS x JOIN by_b AS y
  ON x.b = y.b AND x.n = y.n AND x.w = y.w + 1;
"""
COLUMNS = {"by_b": 3, "masked": 2, "also": 2, "again": 2, "divided": 2, "pairs": 5}
Row = tuple[int, int | None, int | None]


def make_rows(seed: int, count: int = 240) -> list[Row]:
    rng = random.Random(seed)
    return [(i // 8, rng.randrange(40), rng.choice([None, *range(-3000, 6000, 77)])) for i in range(count)]


def find_exchanges(run: LocalRun) -> list[tuple[int, tuple[str, ...]]]:
    return [(e.level, e.by) for e in run.plan.exchanges]


def answer_in_batch(rows: list[Row]) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect(config={"threads": "1"}) as con:
        con.execute("CREATE TABLE s (t BIGINT, a INT, b INT)")
        con.executemany("INSERT INTO s VALUES (?, ?, ?)", rows)
        con.execute(BATCH)
        return {q: con.sql(f"FROM {q}").fetchall() for q in COLUMNS}


def test_an_exchange_of_results_is_by_an_expression() -> None:
    """One exchange brings what by_b reads to where masked, also and again can be computed; divided has nothing in common."""
    run = LocalRun(STREAM + CHAIN, slots=3)
    assert find_exchanges(run) == [(0, ("a",)), (1, ("b & 65472",)), (2, ("b DIV 16",))]
    run.close()


def test_an_exchange_that_serves_nobody_else_keeps_all_keys() -> None:
    """The results of by_b are read by nobody who groups by less of them, so they spread over all its keys."""
    run = LocalRun(STREAM + CHAIN.split("CREATE QUERY masked")[0])
    assert find_exchanges(run) == [(0, ("a",)), (1, ("b", "n"))]
    run.close()


def test_a_join_counts_as_a_reader() -> None:
    """It is partitioned as what it reads is, and what stands on the join too."""
    over = CHAIN.split("CREATE QUERY masked")[0] + """
      CREATE QUERY both AS SELECT x.window_end AS at, x.b, x.m FROM by_b AS x JOIN by_b AS y ON x.b = y.b AND x.window_end = y.window_end + 10;"""
    run = LocalRun(STREAM + over)
    assert find_exchanges(run) == [(0, ("a",)), (1, ("b",))]
    run.close()


def test_results_are_those_of_batch_sql() -> None:
    """Through batches and another number of slots."""
    rows = make_rows(4)
    run = LocalRun(STREAM + CHAIN, slots=4)
    run.push(s=rows[:120])
    run.rescale(3)
    run.push(s=rows[120:])
    run.flush()
    expected = answer_in_batch(rows)
    for query, width in COLUMNS.items():
        assert sorted(map(repr, (r[:width] for r in run.rows(query)))) == sorted(map(repr, (r[:width] for r in expected[query])))
    run.close()


def test_what_was_chosen_stays(tmp_path: Path) -> None:
    """The plan file decides, whatever would be chosen now, and queries that are added later change nothing."""
    fresh = LocalRun(STREAM + CHAIN, slots=3, path=str(tmp_path))
    fresh.push(s=make_rows(1)[:200])
    nodes = {n.name for n in fresh.program.nodes}
    fresh.close()
    more = CHAIN + "CREATE QUERY few AS SELECT n, sum(m) AS m FROM by_b GROUP BY n;"
    again = LocalRun(STREAM + more, slots=2, path=str(tmp_path))
    assert nodes < {n.name for n in again.program.nodes}
    again.close()
    data = open_json(again.store.read(again.manifest.epoch))
    assert data["placements"]["by_b"]["keys"] == ["k0 & 65472"]
    data["placements"]["by_b"]["keys"] = [1]
    again.store.write(again.manifest.epoch, seal_json(data))
    other = LocalRun(STREAM + more, slots=2, path=str(tmp_path))
    assert find_exchanges(other)[1] == (1, ("n",))
    other.close()
