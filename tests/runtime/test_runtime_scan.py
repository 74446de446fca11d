"""Files read in the tasks give what Spark's reader gives: the same results, the same late rows.

An option that Spark's Parquet reader has and we do not know of makes Spark read the stream; that is the other side.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.runtime.loop import Run
from headrace.runtime.source_frame import find_owners
from spark_kit import (
    EVENTS,
    at,
    drained,
    events,
    multiset,
    place,
    session,
    stream_sql,
    tables,
    write,
    write_batches,
)

QUERIES = """
CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv, min(price) AS mp, max(x) AS mx, first(day) AS fd
  FROM s [RANGE 2 MINUTES SLIDE 30 SECONDS] GROUP BY k;
CREATE QUERY odd AS SELECT v & 7 AS low, ok, count(DISTINCT k) AS ks, sum(CASE WHEN v > 0 THEN v DIV 3 ELSE v % 5 END) AS s
  FROM s [RANGE 1 MINUTE] WHERE k IN ('a', 'b', 'ä') AND (ok IS NOT NULL OR v * 3 >= -20) GROUP BY v & 7, ok;
CREATE QUERY over_ AS SELECT sum(n) AS n, count(*) AS ks FROM q;
CREATE QUERY raw AS SELECT ts, k, price, x FROM s WHERE v > 40;
"""
BY_SPARK = {"mergeSchema": "false"}


def both(spark: Any, tmp_path: Path, folder: Path, script: str = QUERIES, **options: Any) -> Run:
    """Run the set twice; results and late rows must be equal."""
    ours = drained(spark, tmp_path / "ours", stream_sql("s", folder, **options) + script, flush=True)
    theirs = drained(
        spark, tmp_path / "theirs", stream_sql("s", folder, **options, **BY_SPARK) + script, flush=True
    )
    assert ours.scans is not None
    assert theirs.scans is None
    assert tables(ours) == tables(theirs)
    assert multiset(ours.late("s").arrow()) == multiset(theirs.late("s").arrow())
    assert [b.rows for b in ours.reports] == [b.rows for b in theirs.reports]
    return ours


def test_the_same_rows_whoever_reads(spark: Any, tmp_path: Path) -> None:
    """Disorder beyond the slack, NULLs, nulls and absurd values in the progressing attribute, an empty file."""
    rows = events(900, seconds=1500, disorder=120)
    for i, ts in enumerate((None, at(10**9), datetime(1970, 1, 1, tzinfo=UTC), None)):
        rows[200 * i + 100]["ts"] = ts
    write_batches(tmp_path / "s", rows, 6)
    write(tmp_path / "s", [], 6)
    run = both(spark, tmp_path, tmp_path / "s")
    late = run.late("s").arrow().column("_reason").to_pylist()
    assert late.count("null") == 2
    assert late.count("implausible") == 1
    assert late.count("late") > 10
    assert min(len(t) for t in tables(run).values()) > 0


def test_files_as_others_write_them(spark: Any, tmp_path: Path) -> None:
    """Columns in another order, case and width, missing or more; old timestamps; small row groups; names of all kinds."""
    folder = tmp_path / "a b%20[x]"
    write(folder, events(100, disorder=0), 0)
    rows = pa.Table.from_pylist(events(100, start=600, disorder=0), EVENTS)
    changed = rows.select(["x", "k", "ts", "v", "day"]).append_column("more", rows.column("v"))
    changed = changed.set_column(3, "V", changed.column("v").cast(pa.int8()))
    for number, (table, how) in enumerate(
        [
            (changed, {}),
            (rows, {"use_deprecated_int96_timestamps": True}),
            (rows, {"row_group_size": 7, "compression": "zstd"}),
            (rows.set_column(0, "ts", rows.column("ts").cast(pa.timestamp("ms", "UTC"), safe=False)), {}),
        ],
        start=1,
    ):
        hidden = folder / ".hidden"
        pq.write_table(table, hidden, **how)
        place(hidden, folder / f"{number} ü=%2F+{{}}.parquet", number)
    run = both(spark, tmp_path, folder, slack="SLACK 1 HOUR")
    assert sum(n for *_, n in multiset(run.results("over_").arrow(), ["n"])) > 0


def test_folders_that_name_columns(spark: Any, tmp_path: Path) -> None:
    """A column whose value is the name of the folder, as Hive and Spark write partitions."""
    folder = tmp_path / "s"
    for number, key in enumerate(["a", "b", "a"]):
        rows = events(50, start=100 * number, disorder=0, seconds=100)
        write(folder / f"k={key}", rows, number, EVENTS.remove(EVENTS.get_field_index("k")))
    run = both(spark, tmp_path, folder)
    assert {key for (key,) in multiset(run.results("q").arrow(), ["k"])} == {"a", "b"}


def test_whose_a_file_is() -> None:
    """The folder a file is in tells its stream, unless another stream reads it too."""
    assert find_owners(["/a/1", "/ab/2", "/a/x/3"], ["/a", "/ab/"]) == [0, 1, 0]
    assert find_owners(["/a/1", "/a/b/2"], ["/a", "/a/b"]) is None
    assert find_owners(["/a/1"], ["/a", "/a"]) is None
    assert find_owners(["/c/1"], ["/a", "/b"]) is None
    assert find_owners(["/a/1", "/c/2"], ["/a"]) == [0, 0]
    assert find_owners(["/c/1"], ["/a", ""]) == [1]  # one that reads no folder


@pytest.mark.parametrize(("of_a", "of_b"), [(3, 2), (2, 4)])
def test_two_streams_of_files(spark: Any, tmp_path: Path, of_a: int, of_b: int) -> None:
    """Batches read files of both, and at the end of either alone."""
    write_batches(tmp_path / "a", events(300, seconds=600), of_a)
    write_batches(tmp_path / "b", events(400, seconds=600, seed=2), of_b)
    query = """CREATE QUERY u AS SELECT k, sum(v) AS sv, count(*) AS n
      FROM (SELECT ts, k, v FROM a UNION ALL SELECT ts, k, v FROM b) [RANGE 1 MINUTE] GROUP BY k;"""
    runs = []
    for options in ({}, BY_SPARK):
        script = stream_sql("a", tmp_path / "a", **options) + stream_sql("b", tmp_path / "b", **options)
        runs.append(drained(spark, tmp_path / f"ck{len(runs)}", script + query, flush=True))
    assert runs[0].scans is not None
    assert tables(runs[0]) == tables(runs[1])
    assert sum(multiset(runs[0].results("u").arrow()).values()) > 0
    assert [{n: s.rows for n, s in b.streams.items()} for b in runs[0].reports] == [
        {n: s.rows for n, s in b.streams.items()} for b in runs[1].reports
    ]


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_readers_may_change_on_a_checkpoint(spark: Any, tmp_path: Path, first: str) -> None:
    """A query that only Spark can compute is added, or removed: no file is read twice, none is left out."""
    rows = events(600, seconds=900, disorder=10)
    step = 100
    added = (
        "CREATE QUERY up_{} AS SELECT upper(k) AS u, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY upper(k);"
    )
    q = "CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 1 MINUTE] GROUP BY k;"
    sets = [q, q + added] if first == "ours" else [q + added, q]
    for part, script in enumerate([*sets, sets[0]]):
        for number in range(2 * part, 2 * part + 2):
            write(tmp_path / "s", rows[number * step : (number + 1) * step], number)
        text = stream_sql("s", tmp_path / "s") + script.replace("up_{}", f"up_{part}")
        run = drained(spark, tmp_path / "ck", text, flush=part == 2)
        assert (run.scans is None) == (added in script)
    fine = drained(spark, tmp_path / "fine", stream_sql("s", tmp_path / "s") + q, flush=True)
    assert tables(run, "q") == tables(fine, "q")


def test_a_file_that_is_gone(spark: Any, tmp_path: Path) -> None:
    """Files that were read may be removed."""
    write(tmp_path / "s", events(50), 0)
    script = stream_sql("s", tmp_path / "s") + QUERIES
    drained(spark, tmp_path / "ck", script)
    (tmp_path / "s" / "00000.parquet").unlink()
    write(tmp_path / "s", events(50, start=600), 1)
    again = session(spark, tmp_path / "ck", script).start(available_now=True, flush=True)
    again.wait()
    assert (
        sum(
            n for (n,), count in multiset(again.results("over_").arrow(), ["n"]).items() for _ in range(count)
        )
        > 0
    )


def test_a_session_in_which_expressions_mean_something_else(spark: Any, tmp_path: Path) -> None:
    """In ANSI mode an overflow is an error, and that is for Spark to say."""
    write(tmp_path / "s", events(50), 0)
    ansi = spark.newSession()
    ansi.conf.set("spark.sql.ansi.enabled", "true")
    script = stream_sql("s", tmp_path / "s") + QUERIES
    assert drained(ansi, tmp_path / "ansi", script).scans is None
    assert drained(spark, tmp_path / "not", script).scans is not None
