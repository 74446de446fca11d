"""A query set run on Spark gives what plain Spark batch SQL gives over the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batch_sql import batch_results
from spark_kit import at, drained, events, multiset, same, stream_sql, tables, write_batches

QUERIES = """
CREATE QUERY tumbling AS
  SELECT k, count(*) AS n, count(v) AS nv, sum(v) AS sv, sum(price) AS sp, avg(price) AS ap, min(day) AS d0, max(day) AS d1,
         min(k) AS k0, max(price) AS p1, avg(x) AS ax, bool_or(ok) AS any_ok, count(DISTINCT day) AS days
  FROM s [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY sliding AS
  SELECT day, ok, count(*) AS n, sum(price) AS sp, stddev(x) AS sx, median(v) AS mv
  FROM s [RANGE 100 SECONDS SLIDE 40 SECONDS] WHERE v IS NULL OR v > -30 GROUP BY day, ok;
CREATE QUERY sparse AS SELECT count(*) AS n, max(upper(k)) AS k FROM s [RANGE 20 SECONDS SLIDE 70 SECONDS];
CREATE QUERY aligned AS
  SELECT coalesce(k, '-') AS k, count(*) AS n FROM s [RANGE 70 SECONDS SLIDE 30 SECONDS ALIGN END] GROUP BY coalesce(k, '-');
CREATE QUERY landmark AS
  SELECT k, count(*) AS n, sum(price) AS sp FROM s [RANGE ALL SLIDE 2 MINUTES ORIGIN '2024-03-09 22:01:00'] GROUP BY k;
CREATE QUERY cumulative AS
  SELECT ok, count(*) AS n, max(v) AS mv FROM s [RANGE ALL SLIDE 1 MINUTE RESET 5 MINUTES] GROUP BY ok;
CREATE QUERY sparkish AS
  SELECT k, count(*) AS n, sum(v) AS sv FROM s GROUP BY window(ts, '2 minutes', '45 seconds', '10 seconds'), k;
CREATE QUERY local_day AS
  SELECT date_trunc('DAY', ts) AS d, date(ts) AS dd, hour(ts) AS h, count(*) AS n
  FROM s [RANGE 5 MINUTES] GROUP BY date_trunc('DAY', ts), date(ts), hour(ts);
CREATE QUERY seen AS SELECT ts, upper(k) AS k, price * 2 AS twice, date_add(day, 1) AS next FROM s WHERE ok;
CREATE QUERY by_ok AS SELECT k, count(*) AS n FROM seen [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY chain AS SELECT k, max(n) AS m, sum(sp) AS sp FROM tumbling WHERE n > 1 GROUP BY k HAVING max(n) > 2;
CREATE QUERY total AS SELECT sum(n) AS n, count(*) AS groups FROM tumbling;
CREATE QUERY longer AS SELECT k, sum(n) AS n, max(sp) AS sp FROM tumbling [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY k;
CREATE QUERY busy AS SELECT k, n FROM tumbling WHERE n > 5;
CREATE QUERY kinds AS SELECT DISTINCT k, ok FROM s [RANGE 2 MINUTES];
"""
TIMES = {"s": "ts", "seen": "ts"}
ROWS = events(900, seconds=700, disorder=25)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events") / "s"
    write_batches(folder, ROWS, 4)
    return folder


def test_a_set_equals_batch_sql(spark: Any, source: Path, tmp_path: Path) -> None:
    """Windows of every kind, chains, strings, decimals, dates and NULLs: after a flush, as if it had been one batch query."""
    script = stream_sql("s", source) + QUERIES
    run = drained(spark, tmp_path / "ck", script, flush=True)
    expected = batch_results(spark, script, {"s": spark.read.parquet(str(source))}, TIMES)
    for name, table in expected.items():
        ours = run.results(name).arrow()
        assert ours.num_rows, f"{name} must have something to compare"
        same(ours, table)
    assert run.late("s").arrow().num_rows == 0


def test_without_flush_only_complete_windows_are_there(spark: Any, source: Path, tmp_path: Path) -> None:
    """A drained run has reported exactly the windows that end at or before the low-watermark."""
    script = stream_sql("s", source) + "\n".join(
        q + ";" for q in QUERIES.split(";") if " tumbling AS" in q or " sliding AS" in q
    )
    run = drained(spark, tmp_path / "ck", script)
    report = run.progress()
    assert report is not None
    upto = {"s": report.streams["s"].low_watermark or 0}
    expected = batch_results(spark, script, {"s": spark.read.parquet(str(source))}, TIMES, upto)
    for name, table in expected.items():
        same(run.results(name).arrow(), table)


def test_batches_and_slots_do_not_matter(spark: Any, source: Path, tmp_path: Path) -> None:
    """Four batches on two slots and one batch on three give the same rows."""
    script = stream_sql("s", source) + QUERIES
    many = drained(spark, tmp_path / "many", script, flush=True)
    one = drained(
        spark,
        tmp_path / "one",
        script.replace("maxFilesPerTrigger 1", "maxFilesPerTrigger 100"),
        slots=3,
        flush=True,
    )
    assert (len(many.reports), len(one.reports)) == (5, 2)
    assert tables(many) == tables(one)


@pytest.mark.parametrize("zone", ["America/New_York", pytest.param("Asia/Kolkata", marks=pytest.mark.slow)])
def test_session_time_zone(spark: Any, source: Path, tmp_path: Path, zone: str) -> None:
    """Days and hours are those of the session's time zone, as in Spark; windows stay where they are."""
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", zone)
    wanted = ("local_day", "tumbling", "seen")
    script = stream_sql("s", source) + "\n".join(
        q + ";" for q in QUERIES.split(";") if any(f" {w} AS" in q for w in wanted)
    )
    run = drained(other, tmp_path / "ck", script, flush=True)
    expected = batch_results(other, script, {"s": other.read.parquet(str(source))}, TIMES)
    for name in wanted:
        same(run.results(name).arrow(), expected[name])
    same(run.results("local_day").spark().toArrow(), expected["local_day"])
    hours = set(run.results("local_day").arrow().column("h").to_pylist())
    assert hours == {h for (h,) in other.sql(f"SELECT DISTINCT hour(ts) FROM parquet.`{source}`").collect()}


def test_union_of_two_streams(spark: Any, source: Path, tmp_path: Path) -> None:
    """A union makes progress with the slower of its streams and loses nothing of either."""
    others = events(300, seconds=700, disorder=5, seed=7)
    write_batches(tmp_path / "r", others, 4)
    script = stream_sql("s", source) + stream_sql("r", tmp_path / "r", slack="SLACK 10 SECONDS")
    script += """
    CREATE QUERY both_ AS SELECT ts, k, v FROM s UNION ALL SELECT ts, lower(k), v + 1000 FROM r WHERE v IS NOT NULL;
    CREATE QUERY counted AS SELECT k, count(*) AS n, sum(v) AS sv, min(v) AS lo
      FROM both_ [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY k;
    CREATE QUERY alone AS SELECT count(*) AS n FROM r [RANGE 1 MINUTE];
    """
    run = drained(spark, tmp_path / "ck", script, flush=True)
    inputs = {"s": spark.read.parquet(str(source)), "r": spark.read.parquet(str(tmp_path / "r"))}
    for name, table in batch_results(spark, script, inputs, {"s": "ts", "r": "ts", "both_": "ts"}).items():
        same(run.results(name).arrow(), table)


def test_types_of_results_are_sparks(spark: Any, source: Path, tmp_path: Path) -> None:
    """Every column of a result has the type the same SQL has in Spark."""
    script = stream_sql("s", source) + QUERIES
    run = drained(spark, tmp_path / "ck", script, slots=1)
    for name, table in batch_results(spark, script, {"s": spark.read.parquet(str(source))}, TIMES).items():
        ours = {f.name: f.type for f in run.results(name).arrow().schema}
        assert ours == {f.name: f.type for f in table.schema}, name


def test_bytes_lists_and_structs(spark: Any, tmp_path: Path) -> None:
    """Columns of nested types pass through stateless queries and group-bys."""
    rows = events(60, seconds=200)
    write_batches(tmp_path / "s", rows, 2)
    script = (
        stream_sql("s", tmp_path / "s")
        + """
    CREATE QUERY raw AS SELECT ts, named_struct('k', k, 'v', v) AS pair, array(v, v + 1) AS both_, CAST(k AS BINARY) AS b FROM s;
    CREATE QUERY grouped AS SELECT named_struct('ok', ok) AS o, CAST(k AS BINARY) AS b, count(*) AS n
      FROM s [RANGE 1 MINUTE] GROUP BY named_struct('ok', ok), CAST(k AS BINARY);
    """
    )
    run = drained(spark, tmp_path / "ck", script, flush=True)
    ours = run.results("raw").arrow().to_pylist()
    expected = batch_results(
        spark, script, {"s": spark.read.parquet(str(tmp_path / "s"))}, {"s": "ts", "raw": "ts"}
    )
    assert sorted(map(repr, ours)) == sorted(map(repr, expected["raw"].to_pylist()))
    grouped = run.results("grouped").arrow().to_pylist()
    assert sorted(map(repr, grouped)) == sorted(
        repr({c: r[c] for c in grouped[0]}) for r in expected["grouped"].to_pylist()
    )


def test_windows_start_on_the_epoch(spark: Any, tmp_path: Path) -> None:
    """A window's start is a multiple of the slide from the epoch; a row at an end belongs to the next one."""
    rows = [{**events(1)[0], "ts": at(s), "k": "a"} for s in (0, 59.999999, 60)]
    write_batches(tmp_path / "s", rows, 1)
    script = (
        stream_sql("s", tmp_path / "s") + "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE];"
    )
    run = drained(spark, tmp_path / "ck", script, flush=True)
    micros = [int(at(s).timestamp()) * 1_000_000 for s in (0, 60, 120)]
    assert multiset(run.results("q").arrow()) == {(2, micros[0], micros[1]): 1, (1, micros[1], micros[2]): 1}


def test_a_session_of_the_user(spark: Any, source: Path, tmp_path: Path) -> None:
    """A session that re-plans while it runs (AQE) and is strict about errors (ANSI) gives the same results."""
    other = spark.newSession()
    other.conf.set("spark.sql.adaptive.enabled", "true")
    other.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
    other.conf.set("spark.sql.ansi.enabled", "true")
    other.conf.set("spark.sql.shuffle.partitions", "7")
    script = stream_sql("s", source) + QUERIES
    run = drained(other, tmp_path / "ck", script, slots=3, flush=True)
    for name, table in batch_results(other, script, {"s": other.read.parquet(str(source))}, TIMES).items():
        same(run.results(name).arrow(), table)
