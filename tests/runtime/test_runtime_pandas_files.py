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


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, r"(?s)Expected Spark type timestamp, actual Parquet type INT64.*does not read times in nanoseconds.*coerce_timestamps='us'"),
        ({"ts": FRAME["ts"].astype("datetime64[us]")}, r"(?s)those of 64 bits as DECIMAL\(20,0\).*Declare the stream as its files are"),
    ],
)  # fmt: skip
def test_what_sparks_reader_cannot_read(spark: Any, tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    """Where Spark must compute, it reads too, and does not read all that pandas writes: the message says what to do."""
    write_frame(tmp_path / "s", FRAME.assign(**changed))
    query = "CREATE QUERY q AS SELECT upper(k) AS k, sum(big) AS n FROM s [RANGE 1 MINUTE] GROUP BY upper(k);"
    run = session(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s", columns=COLUMNS) + query).start(available_now=True)
    with pytest.raises(SourceError, match=said) as error:
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
