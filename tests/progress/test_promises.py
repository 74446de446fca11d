"""The manifest says of every query what none of its later results can have; readers, reports and `state` show it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.kernels import slot_turns
from headrace.report.checkpoint import summarize
from headrace.report.model import BatchReport, QueryReport
from headrace.testing import LocalRun

SECOND = 1_000_000
SCRIPT = """
CREATE STREAM a (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts SLACK 2 SECONDS FROM 'memory';
CREATE STREAM b (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY sa AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k;
CREATE QUERY sb AS SELECT k, count(*) AS n FROM b [RANGE 5 SECONDS] GROUP BY k;
CREATE QUERY total AS SELECT sum(n) AS n FROM sa;
CREATE QUERY near AS SELECT x.ts AS t, y.ts AS u, x.k AS k FROM a x JOIN b y ON x.k = y.k
  AND y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 7 SECONDS;
CREATE QUERY alone AS SELECT x.ts AS t, x.k AS k FROM a x LEFT JOIN b y ON x.k = y.k
  AND y.ts BETWEEN x.ts - INTERVAL 1 SECOND AND x.ts + INTERVAL 3 SECONDS AND y.v > 1;
CREATE QUERY met AS SELECT sa.k AS k, sa.window_end AS until, sb.n AS n FROM sa JOIN sb ON sa.k = sb.k;
CREATE QUERY ends AS SELECT count(*) AS n FROM met [RANGE 10 SECONDS WA until];
CREATE QUERY timeless AS SELECT k FROM met;
"""


def read_new(run: LocalRun, query: str) -> list[dict[str, Any]]:
    files = run.manifest.results.get(query, ())
    names = run.graph.relations[query].columns
    return [dict(zip(names, row, strict=True)) for row in run._read(files, False)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("defer", [None, "20 seconds"])
def test_no_result_breaks_a_promise(seed: int, defer: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each batch, also where rows of some mini-partitions wait: nothing that comes later is before the bound."""
    rng = random.Random(f"promise {seed}")
    if defer is not None:
        def put_off(program: Any, orders: Any, pids: Any, *_: Any) -> frozenset[int]:
            return frozenset(p for p in pids if rng.random() < 0.5 and orders.version % 3)

        monkeypatch.setattr(slot_turns, "find_deferred", put_off)
    clock = [0]
    run = LocalRun(SCRIPT, slots=2, clock=lambda: clock[0], defer=defer)
    known: dict[tuple[str, str], int] = {}
    told = waited = 0
    for batch in range(9):
        clock[0] += SECOND
        if batch == 8:
            run.flush()
        else:
            low = batch * 6
            run.push(
                **{s: sorted((rng.randrange(low, low + 9) * SECOND, rng.randrange(4), rng.randrange(4)) for _ in range(8)) for s in "ab"}
            )
        waited += bool(run.manifest.waiting)
        for (query, column), bound in known.items():
            for row in read_new(run, query):
                tick = row[column] - (column == "window_end") if row[column] is not None else bound
                assert tick >= bound, (query, row)
        for query, promise in run.manifest.promises.items():
            for column, frontier in promise.items():
                assert frontier.bound >= known.get((query, column), frontier.bound), "a promise is not taken back"
                known[query, column] = frontier.bound
                told += frontier.is_known
    assert told > 20
    assert (waited > 0) == (defer is not None)
    assert {query for query, _ in known} == {"sa", "sb", "total", "near", "alone", "met", "ends"}


def test_promises_are_seen() -> None:
    """In the report of a batch, by who reads results, and in what `headrace state` shows."""
    run = LocalRun(SCRIPT, slots=1)
    rows = [(i * SECOND, 1, 2) for i in range(13)]
    run.push(a=rows, b=rows)
    assert run.manifest.find_completeness("sa") == {"window_end": 10 * SECOND}
    assert run.manifest.find_completeness("sb") == {"window_end": 12 * SECOND}
    assert run.manifest.find_completeness("near") == {"t": 5 * SECOND, "u": 6 * SECOND}
    assert run.manifest.find_completeness("ends") == {"window_end": 10 * SECOND}
    assert run.driver.results("near").complete_to == {"t": 5 * SECOND, "u": 6 * SECOND}
    assert run.driver.late("a").complete_to == {}
    report = BatchReport.from_json(run.manifest.report)
    assert report.queries["sa"].complete_to == {"window_end": 10 * SECOND}
    assert repr(report.queries["sa"]) == "QueryReport(results=2, complete_to window_end=1970-01-01T00:00:10+00:00)"
    assert repr(QueryReport(3)) == "QueryReport(results=3)"
    shown = {one["query"]: one["complete_to"] for one in summarize(run.log)["queries"]}
    assert shown["near"] == {"t": 5 * SECOND, "u": 6 * SECOND}
    assert shown["timeless"] == {}
