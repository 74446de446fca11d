"""A set that changes while it runs on Spark: queries come and go between two batches, and nothing is started anew."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import OptionError
from spark_kit import events, session, stream_sql, write

COUNTS = "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
SUMS = "SELECT ok, sum(v) AS total, max(price) AS dearest FROM s [RANGE 1 MINUTE] WHERE v > 0 GROUP BY ok"
KEYS = "SELECT DISTINCT ts, k FROM s"
WORDS = "SELECT upper(k) AS word, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY upper(k)"


def until(what: Any) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("by_spark", [False, True])
def test_queries_come_and_go_while_spark_runs(spark: Any, tmp_path: Path, by_spark: bool) -> None:
    """Also where Spark computes the columns, and new ones are needed; results are those of a set changed by restart."""
    first = f"CREATE QUERY counts AS {COUNTS};CREATE QUERY words AS {WORDS if by_spark else KEYS};"
    added = f"CREATE QUERY sums AS {SUMS};"
    script = stream_sql("s", tmp_path / "s") + first
    rows = events(300)
    write(tmp_path / "s", rows[:100], 0)
    run = session(spark, tmp_path / "live", script).start(flush=True)
    until(lambda: run.manifest.version == 1)
    before = run._query
    with pytest.raises(OptionError, match="no query 'sum' to drop"):
        run.change(drop="sum")
    run.change(added, "counts")
    write(tmp_path / "s", rows[100:200], 1)
    until(lambda: run.manifest.version == 2)
    write(tmp_path / "s", rows[200:], 2)
    until(lambda: run.manifest.version == 3)
    assert run._query is before and run.active
    run.stop()
    assert (run.scans is None) == by_spark
    assert any("the set changes with this batch: it adds sums and drops counts" in r.notes for r in run.reports)

    other = tmp_path / "other"
    write(other / "s", rows[:100], 0)
    session(spark, other / "c", stream_sql("s", other / "s") + first).start(available_now=True).wait()
    write(other / "s", rows[100:200], 1)
    write(other / "s", rows[200:], 2)
    later = stream_sql("s", other / "s") + first.replace(f"CREATE QUERY counts AS {COUNTS};", "") + added
    again = session(spark, other / "c", later).start(available_now=True, flush=True)
    again.wait()
    for query in ("counts", "words", "sums"):
        live, restarted = (one.results(query).arrow().to_pylist() for one in (run, again))
        assert sorted(map(repr, live)) == sorted(map(repr, restarted))
    assert run.results("sums").arrow().num_rows > 0
