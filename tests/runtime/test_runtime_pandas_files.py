"""Parquet files as pandas writes them, without a word about how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headrace.errors import SourceError
from spark_kit import drained, multiset, session, stream_sql

FRAME = pd.DataFrame(
    {
        "ts": pd.date_range("2024-03-09 22:00", periods=6, freq="20s"),
        "k": pd.Categorical(list("abbaab")),
        "small": np.array([1, 2, 3, 4, 5, 255], "uint8"),
        "wide": np.array([1, 2, 3, 4, 5, 2**32 - 1], "uint32"),
        "big": np.array([1, 2, 3, 4, 5, 6], "uint64"),
    },
    index=list("uvwxyz"),
)
COLUMNS = "ts TIMESTAMP, k STRING, small SMALLINT, wide BIGINT, big BIGINT"


def write_frame(folder: Path, frame: pd.DataFrame = FRAME) -> Path:
    folder.mkdir()
    frame.to_parquet(folder / "a.parquet")
    return folder


def test_a_frame_of_pandas(spark: Any, tmp_path: Path) -> None:
    """Nanoseconds, categories, unsigned integers and an index are read as what was declared."""
    stream = stream_sql("s", write_frame(tmp_path / "s"), columns=COLUMNS)
    query = "CREATE QUERY q AS SELECT k, sum(small) AS a, sum(wide) AS b, sum(big) AS c FROM s [RANGE 1 MINUTE] GROUP BY k;"
    run = drained(spark, tmp_path / "ck", stream + query, flush=True)
    found = multiset(run.results("q").arrow(), ["k", "a", "b", "c"])
    assert found == {("a", 1, 1, 1): 1, ("b", 5, 5, 5): 1, ("a", 9, 9, 9): 1, ("b", 255, 2**32 - 1, 6): 1}


def test_types_that_cannot_be_read(spark: Any, tmp_path: Path) -> None:
    """A column of a type that is not the declared one is named with both, and no file is advised to be skipped."""
    write_frame(tmp_path / "s", FRAME.assign(k=pd.to_timedelta(range(6), "s")))
    run = session(
        spark, tmp_path / "ck",
        stream_sql("s", tmp_path / "s", columns=COLUMNS) + "CREATE QUERY q AS SELECT max(k) AS k FROM s [RANGE 1 MINUTE];",
    ).start(available_now=True)  # fmt: skip
    with pytest.raises(SourceError, match=r"a\.parquet: column \[k\] is duration\[ns\], but declared as string") as error:
        run.wait()
    assert "ignore" not in str(error.value) and "skip" not in str(error.value)


QUERY = "CREATE QUERY q AS SELECT {k} AS k, sum(small) AS a, sum(wide) AS b, sum(big) AS c, max(ts) AS t FROM s [RANGE 1 MINUTE] GROUP BY {k};"


def test_a_frame_of_pandas_through_spark(spark: Any, tmp_path: Path) -> None:
    """Where Spark must compute it reads too, nanoseconds and microseconds file by file, and gives what the tasks' reader gives."""
    odd = FRAME.assign(ts=FRAME["ts"] + pd.to_timedelta(999, "ns"))
    write_frame(tmp_path / "s", odd)
    FRAME.assign(ts=FRAME["ts"].astype("datetime64[us]"), big=FRAME["big"] + 100).to_parquet(tmp_path / "s/b.parquet")
    odd.assign(ts=odd["ts"] - pd.to_timedelta(60 * 365, "D"), big=7).to_parquet(tmp_path / "s/c.parquet")  # of 1964
    stream = stream_sql("s", tmp_path / "s", columns=COLUMNS, slack="SLACK 40000 DAYS", maxFilesPerTrigger=3)
    runs = [
        drained(spark, tmp_path / f"ck{i}", stream + QUERY.format(k=k), flush=True) for i, k in enumerate(("k", "lower(k)"))
    ]
    assert [run.scans is None for run in runs] == [False, True]
    found = multiset(runs[1].results("q").arrow())
    assert len(found) == 8 and found == multiset(runs[0].results("q").arrow())


def test_times_without_zone_through_spark(spark: Any, tmp_path: Path) -> None:
    """TIMESTAMP_NTZ in nanoseconds, in one of two streams."""
    write_frame(tmp_path / "s")
    write_frame(tmp_path / "r", FRAME.assign(ts=FRAME["ts"].astype("datetime64[us]")))
    columns = COLUMNS.replace("ts TIMESTAMP", "ts TIMESTAMP_NTZ")
    streams = "".join(stream_sql(n, tmp_path / n, columns=columns) for n in "sr")
    queries = "".join(f"CREATE QUERY q{n} AS SELECT upper(k) AS k, max(ts) AS t FROM {n} [RANGE 1 HOUR] GROUP BY upper(k);" for n in "sr")
    run = drained(spark, tmp_path / "ck", streams + queries, flush=True)
    found = [multiset(run.results(q).arrow()) for q in ("qs", "qr")]
    assert len(found[0]) == 2 and found[0] == found[1]


def test_integers_too_large_through_spark(spark: Any, tmp_path: Path) -> None:
    """An unsigned value that does not fit BIGINT ends the run by a sentence, and no file is advised to be skipped."""
    write_frame(tmp_path / "s", FRAME.assign(big=np.array([2**63] * 6, "uint64")))
    script = stream_sql("s", tmp_path / "s", columns=COLUMNS) + QUERY.format(k="upper(k)")
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(SourceError, match=r"(?s)column \[big\] is uint64 and has values too large.*DECIMAL\(20,0\)") as error:
        run.wait()
    assert "ignore" not in str(error.value) and "skip" not in str(error.value)


def test_unsigned_integers_through_spark(spark: Any, tmp_path: Path) -> None:
    """Declared as Spark reads them, and with times in microseconds, both ways give the same."""
    write_frame(tmp_path / "s", FRAME.assign(ts=FRAME["ts"].astype("datetime64[us]")))
    columns = COLUMNS.replace("big BIGINT", "big DECIMAL(20,0)")
    queries = "CREATE QUERY q AS SELECT {k} AS k, sum(wide) AS b, sum(big) AS c FROM s [RANGE 1 MINUTE] GROUP BY {k};"
    runs = [
        drained(spark, tmp_path / f"ck{i}", stream_sql("s", tmp_path / "s", columns=columns) + queries.format(k=k), flush=True)
        for i, k in enumerate(("k", "lower(k)"))
    ]
    assert [run.scans is None for run in runs] == [False, True]
    assert multiset(runs[0].results("q").arrow()) == multiset(runs[1].results("q").arrow())
