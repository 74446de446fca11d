"""Types and values that come back from Spark as they went in."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import SqlError
from spark_kit import drained, stream_sql, write

NTZ = pa.schema([("t", pa.timestamp("us")), ("x", pa.float64())])


def test_windows_over_times_without_a_zone(spark: Any, tmp_path: Path) -> None:
    """TIMESTAMP_NTZ windows are TIMESTAMP_NTZ, read in the tasks or by Spark, and -0.0 is the group 0.0."""
    start = datetime(2024, 5, 1, 12)
    write(tmp_path / "s", [{"t": start, "x": -0.0}, {"t": start, "x": 0.0}, {"t": start, "x": 2.0}], schema=NTZ)
    query = "CREATE QUERY q AS SELECT x, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY x;"
    for number, options in enumerate(({}, {"mergeSchema": "false"})):
        script = stream_sql("s", tmp_path / "s", columns="t TIMESTAMP_NTZ, x DOUBLE", on="t", **options) + query
        run = drained(spark, tmp_path / f"ck{number}", script, flush=True)
        assert (run.scans is None) == bool(options)
        table = run.results("q").arrow()
        assert table.schema.field("window_start").type == pa.timestamp("us")
        rows = sorted((r["x"], r["n"], r["window_start"]) for r in table.to_pylist())
        assert rows == [(0.0, 2, start), (2.0, 1, start)]
        assert math.copysign(1, rows[0][0]) == 1
        assert run.results("q").spark().schema["window_end"].dataType.simpleString() == "timestamp_ntz"


def test_a_limit_on_the_memory_of_slots(spark: Any, tmp_path: Path) -> None:
    """A session's setting reaches the orders of every batch; without one, slots share what the machine has."""
    write(tmp_path / "s", [{"t": datetime(2024, 5, 1, 12), "x": 1.0}], schema=NTZ)
    script = stream_sql("s", tmp_path / "s", columns="t TIMESTAMP_NTZ, x DOUBLE", on="t")
    script += "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE];"
    small = spark.newSession()
    small.conf.set("spark.headrace.slot.memory", "64m")
    run = drained(small, tmp_path / "small", script, flush=True)
    assert run.driver.make_orders().memory == 64 << 20
    assert run.results("q").arrow().num_rows == 1
    usual = drained(spark, tmp_path / "usual", script).driver.make_orders().memory
    assert usual is not None
    assert usual >= 128 << 20


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t, k COLLATE UTF8_LCASE AS c FROM s",
        "SELECT collate(k, 'UTF8_LCASE') AS c, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY collate(k, 'UTF8_LCASE')",
        "SELECT count(DISTINCT k COLLATE UTF8_LCASE) AS n FROM s [RANGE 1 MINUTE]",
        "SELECT t, array(k COLLATE UTF8_LCASE) AS c FROM s",
    ],
)
def test_texts_with_a_collation_are_not_kept(spark: Any, tmp_path: Path, query: str) -> None:
    """Slots group, join and tell apart by letters, so a text that is equal to others by a collation gets no further."""
    write(tmp_path / "s", [{"t": datetime(2024, 5, 1, 12), "k": "A"}], schema=pa.schema([("t", pa.timestamp("us")), ("k", pa.string())]))
    script = stream_sql("s", tmp_path / "s", columns="t TIMESTAMP_NTZ, k STRING", on="t") + f"CREATE QUERY q AS {query};"
    with pytest.raises(SqlError, match=r"^[qs]: a value of the type .*collate.* cannot be kept"):
        drained(spark, tmp_path / "ck", script)
