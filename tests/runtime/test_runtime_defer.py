"""A burst that waits, in a set that runs on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from spark_kit import at, stream_sql, tables, write

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.int32())])
QUERIES = """
CREATE QUERY q AS SELECT k, v, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k, v;
CREATE QUERY by_k AS SELECT k, count(*) AS n FROM q GROUP BY k;
CREATE QUERY total AS SELECT sum(n) AS n FROM by_k;
"""


def rows_of(batch: int) -> list[dict[str, Any]]:
    rows = [{"ts": at(60 * batch + i / 10), "k": f"k{i % 50}", "v": i} for i in range(500)]
    burst = 40_000 if batch == 2 else 0
    return [*rows, *({"ts": at(60 * batch + 30), "k": "hot", "v": i} for i in range(burst))]


@pytest.mark.slow
def test_a_burst_waits_and_is_taken_at_the_end_of_the_run(spark: Any, tmp_path: Path) -> None:
    """The others go on; a last batch without rows takes it, and no row differs from a run in which nothing waits."""
    for batch in range(5):
        write(tmp_path / "s", rows_of(batch), batch, SCHEMA)
    script = stream_sql("s", tmp_path / "s", "SLACK 1 SECOND", "ts TIMESTAMP, k STRING, v INT") + QUERIES
    found = []
    for defer in (None, "10 minutes"):
        session = hr.Session(spark, checkpoint=tmp_path / f"{defer}", slots=2, balance="static", defer=defer)
        run = session.sql(script).start(available_now=True)
        run.wait()
        found.append(tables(run))
        waiting = [report.waiting_rows for report in run.reports]
        assert waiting[:2] == [0, 0]
        assert waiting[-1] == 0
        assert not run.manifest.waiting
        assert len(waiting) == (5 if defer is None else 6)
        assert (min(waiting[2:5]) >= 40_000) == (defer is not None)
    assert found[0] == found[1]
    assert all(found[0].values())
