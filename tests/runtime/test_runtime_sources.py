"""Any Spark streaming DataFrame can be a stream: files of several formats, rate, Python data sources, integers."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

import headrace as hr
from batch_sql import batch_results
from headrace.errors import OptionError, SourceError, SqlError
from spark_kit import COLUMNS, drained, events, multiset, place, same, write, write_batches

ROWS = events(200, seconds=300)
PER_MINUTE = "SELECT k, count(*) AS n, sum(v) AS sv, sum(price) AS sp, max(day) AS d FROM s [RANGE 1 MINUTE] GROUP BY k"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows") / "s"
    write_batches(folder, ROWS, 2)
    return folder


def write_text(folder: Path, kind: str, batches: int = 2) -> Path:
    """The rows as CSV or JSON lines."""
    folder.mkdir()
    for number in range(batches):
        lines = []
        for row in ROWS[number::batches]:
            told = {k: v if k in ("v", "x", "ok") or v is None else str(v) for k, v in row.items()}
            told["ts"] = row["ts"].isoformat()
            if kind == "json":
                lines.append(json.dumps(told))
            else:
                quoted = [
                    f'"{told["k"]}"' if told["k"] is not None else "",
                    *(told[c] for c in ("v", "price", "day", "x", "ok")),
                ]
                lines.append(",".join([told["ts"], *("" if v is None else str(v) for v in quoted)]))
        hidden = folder / f".{number}"
        hidden.write_text("\n".join(lines) + "\n")
        place(hidden, folder / f"{number}.{kind}", number)
    return folder


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_text_files(spark: Any, tmp_path: Path, kind: str) -> None:
    """CSV and JSON streams give what Spark reads of the same files in one batch."""
    folder = write_text(tmp_path / "in", kind)
    options = f"OPTIONS (path '{folder}', maxFilesPerTrigger 1)"
    script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts SLACK 5 MINUTES FROM '{kind}' {options};"
    query = f"CREATE QUERY q AS {PER_MINUTE};"
    run = drained(spark, tmp_path / "ck", script + query, flush=True)
    batch = spark.read.format(kind).schema(COLUMNS).load(str(folder))
    same(run.results("q").arrow(), batch_results(spark, query, {"s": batch}, {"s": "ts"})["q"])
    assert run.results("q").arrow().num_rows > 10


def test_a_given_frame(spark: Any, rows: Path, tmp_path: Path) -> None:
    """A streaming DataFrame with a projection of its own is a stream; progress is declared beside it."""
    frame = (
        spark.readStream.schema(COLUMNS)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(rows))
        .where("v > 0 OR v IS NULL")
    )
    session = hr.Session(checkpoint=tmp_path / "ck", slots=2)
    session.stream("s", frame, progress=hr.slack("1 minute", on="ts")).query("q", PER_MINUTE)
    run = session.start(available_now=True, flush=True)
    run.wait()
    batch = spark.read.parquet(str(rows)).where("v > 0 OR v IS NULL")
    same(
        run.results("q").arrow(),
        batch_results(spark, f"CREATE QUERY q AS {PER_MINUTE};", {"s": batch}, {"s": "ts"})["q"],
    )


def test_ordered_integers(spark: Any, tmp_path: Path) -> None:
    """An integer attribute makes progress by its own values; windows are in its unit."""
    schema = pa.schema([("seq", pa.int64()), ("k", pa.string())])
    for number in range(3):
        write(
            tmp_path / "s",
            [{"seq": i - 30, "k": "ab"[i % 2]} for i in range(number * 40, number * 40 + 40)],
            number,
            schema,
        )
    frame = (
        spark.readStream.schema("seq BIGINT, k STRING")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "s"))
    )
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2)
    session.stream("s", frame, progress=hr.ordered(on="seq"))
    session.query("q", "SELECT k, count(*) AS n, min(seq) AS lo FROM s [RANGE 20 SLIDE 10] GROUP BY k")
    session.query("gsql", "SELECT tb, count(*) AS n FROM s GROUP BY seq/25 AS tb")
    run = session.start(available_now=True)
    run.wait()
    seq = [i - 30 for i in range(120)]
    expected = {}
    for start in range(-50, 90, 10):
        for k in (0, 1):
            held = [s for s in seq if start <= s < start + 20 and s % 2 == k]
            if held and start + 20 <= 89:
                expected["ab"[k], len(held), min(held), start, start + 20] = 1
    assert multiset(run.results("q").arrow()) == expected
    gsql = {(b, sum(b * 25 <= s < b * 25 + 25 for s in seq), b * 25, b * 25 + 25): 1 for b in range(-2, 3)}
    assert multiset(run.results("gsql").arrow()) == gsql
    report = run.progress()
    assert report is not None
    assert (report.streams["s"].unit, report.streams["s"].max_value, report.streams["s"].low_watermark) == (
        "int",
        89,
        89,
    )


class Ticks(DataSource):
    """A Python data source: three batches of ten rows, a second apart."""

    @classmethod
    def name(cls) -> str:
        return "ticks"

    def schema(self) -> str:
        return "ts timestamp, n int"

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
        return TicksReader()


class TicksReader(SimpleDataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, int]], dict[str, int]]:
        end = min(start["n"] + 10, 30)
        return self.readBetweenOffsets(start, {"n": end}), {"n": end}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[Any, int]]:
        from datetime import UTC, datetime, timedelta

        return iter(
            [
                (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=n), n)
                for n in range(start["n"], end["n"])
            ]
        )


def test_python_data_source(spark: Any, tmp_path: Path) -> None:
    """A stream written in Python by the user, run until it has shown all it has."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test
    spark.dataSource.register(Ticks)
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2)
    session.stream("s", spark.readStream.format("ticks").load(), progress=hr.ordered(on="ts"))
    session.query("q", "SELECT count(*) AS n, sum(n) AS total FROM s [RANGE 10 SECONDS]")
    run = session.start(trigger="0 seconds")
    until(lambda: sum(r.rows for r in run.reports) == 30, run)
    run.stop()
    ours = sorted((r["n"], r["total"]) for r in run.results("q").arrow().to_pylist())
    assert ours == [(10, 45), (10, 145)]


def test_rate_trigger_and_stop(spark: Any, tmp_path: Path) -> None:
    """A run on a trigger goes on until it is stopped, finishes its batch, and flushes if asked to; nothing is missed."""
    frame = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2)
    session.stream("s", frame, progress=hr.slack("1 second", on="timestamp"))
    session.query("q", "SELECT count(*) AS n, min(value) AS lo, max(value) AS hi FROM s [RANGE 1 SECOND]")
    seen = []
    run = session.start(trigger="500 milliseconds", flush=True, on_batch=seen.append)
    assert run.active
    assert run.wait(0.1) is False
    until(lambda: len(run.results("q").arrow()) >= 2, run)
    run.stop()
    run.stop()  # once is enough, twice is no error
    assert not run.active
    rows = sum(r.rows for r in run.reports)
    assert rows > 0
    assert sum(run.results("q").arrow().column("n").to_pylist()) == rows
    assert [r.batch_id for r in seen] == [r.batch_id for r in run.reports] == list(range(1, len(seen) + 1))


def until(done: Any, run: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it took too long"
        assert not run.wait(0.1), "the run ended by itself"


def test_two_runs_side_by_side(spark: Any, rows: Path, tmp_path: Path) -> None:
    """One process may run several sets at once, each on its own checkpoint."""
    runs = []
    for name in ("one", "two"):
        frame = spark.readStream.schema(COLUMNS).parquet(str(rows))
        session = hr.Session(spark, checkpoint=tmp_path / name, slots=2)
        session.stream("s", frame, progress=hr.slack("1 minute", on="ts")).query("q", PER_MINUTE)
        runs.append(session.start(available_now=True, flush=True))
    for run in runs:
        run.wait()
    same(runs[0].results("q").arrow(), runs[1].results("q").arrow())


def test_relative_paths(spark: Any, rows: Path, tmp_path: Path) -> None:
    """Paths in a script are relative to the folder it is said to be in; odd letters in paths are no trouble."""
    base = tmp_path / "a b [c] ü%20"
    base.mkdir()
    os.symlink(rows, base / "in")
    script = (
        f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet' OPTIONS (path 'in');"
    )
    session = hr.Session(spark, checkpoint=base / "ck", slots=1).sql(
        script, base=tmp_path / "x" / ".." / base.name
    )
    session.query("q", PER_MINUTE)
    run = session.start(available_now=True)
    run.wait()
    assert run.progress() is not None
    assert run.results("q").spark().count() == run.results("q").arrow().num_rows > 0


# -- registering ---------------------------------------------------------------------------------------------------
def test_a_script_is_registered_whole_or_not_at_all(rows: Path) -> None:
    """After an error in its last statement a mended script can be given again: no name of the first try is taken."""
    session = hr.Session()
    script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet' OPTIONS (path '{rows}');"
    with pytest.raises(SqlError, match="no stream or query"):
        session.sql(
            script + f"CREATE QUERY q AS {PER_MINUTE}; CREATE QUERY p AS SELECT count(*) AS n FROM nobody;"
        )
    session.sql(script + f"CREATE QUERY q AS {PER_MINUTE};")
    assert list(session.graph.queries) == ["q"]


def test_a_trigger_that_is_none(spark: Any, rows: Path, tmp_path: Path) -> None:
    """A trigger that is no length of time is refused with an example."""
    script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet' OPTIONS (path '{rows}');"
    session = hr.Session(spark, checkpoint=tmp_path / "ck").sql(script).query("q", PER_MINUTE)
    with pytest.raises(
        OptionError, match="trigger: duration: expected numbers with units such as '5 seconds'"
    ):
        session.start(trigger="now and then")


def test_a_data_source_that_fails(spark: Any, tmp_path: Path) -> None:
    """An error inside of a user's data source is told with its own words, and is the source's."""

    class BrokenReader(TicksReader):
        def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, int]], dict[str, int]]:
            raise LookupError("the sensor is not plugged in")

    class Broken(Ticks):
        @classmethod
        def name(cls) -> str:
            return "broken"

        def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
            return BrokenReader()

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(Broken)
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2)
    session.stream("s", spark.readStream.format("broken").load(), progress=hr.ordered(on="ts"))
    session.query("q", "SELECT count(*) AS n FROM s [RANGE 10 SECONDS]")
    with pytest.raises(SourceError, match="LookupError: the sensor is not plugged in") as error:
        session.start(available_now=True).wait()
    assert "\tat " not in str(error.value)


# -- what cannot be a stream ---------------------------------------------------------------------------------------
def test_a_batch_frame_is_refused(spark: Any, rows: Path) -> None:
    """A batch DataFrame never ends a window; the message names readStream."""
    with pytest.raises(SourceError, match=r"stream s: expected a streaming DataFrame \(spark.readStream"):
        hr.Session(spark).stream("s", spark.read.parquet(str(rows)), progress=hr.ordered(on="ts"))


def test_a_path_with_nothing_is_refused(spark: Any, tmp_path: Path) -> None:
    """An unknown path is an error before anything runs, and the checkpoint stays usable."""
    script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet' OPTIONS (path '{tmp_path}/in');"
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=1).sql(script).query("q", PER_MINUTE)
    with pytest.raises(SourceError, match=rf"stream s: there is nothing at {tmp_path}/in"):
        session.start(available_now=True)
    write_batches(tmp_path / "in", ROWS, 1)
    run = session.start(available_now=True)
    run.wait()
    assert run.results("q").arrow().num_rows


def test_an_unknown_format_is_refused(spark: Any, tmp_path: Path) -> None:
    """A format Spark does not have: the stream is named, and no Java stack is shown."""
    script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parkuet' OPTIONS (x 'y');"
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=1).sql(script).query("q", PER_MINUTE)
    with pytest.raises(SourceError, match=r"stream s: .*parkuet") as error:
        session.start(available_now=True)
    assert "\tat " not in str(error.value)
    assert "JVM stacktrace" not in str(error.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("ts TIMESTAMP, k STRNG", "column k: STRNG is not a type Headrace knows. Did you mean 'STRING'"),
        (
            "ts DOUBLE, k STRING",
            "ts is DOUBLE, but a progressing attribute is a TIMESTAMP, a DATE or an integer",
        ),
        ("ts TIMESTAMP, k STRING, K INT", "stream s: column 'k' is declared twice"),
        ("at TIMESTAMP, k STRING", r"stream s: the progressing attribute 'ts' is not a column"),
        ("ts TIMESTAMP, window_start INT", "stream s: 'window_start' is the name of a result column"),
    ],
)
def test_columns_that_cannot_be(spark: Any, tmp_path: Path, columns: str, said: str) -> None:
    """Unknown types, unusable progressing attributes and doubled names are refused with the stream's name."""
    (tmp_path / "in").mkdir()
    script = f"CREATE STREAM s ({columns}) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet' OPTIONS (path '{tmp_path}/in');"
    with pytest.raises(SqlError, match=said):
        hr.Session(spark, checkpoint=tmp_path / "ck").sql(script).query(
            "q", "SELECT count(*) n FROM s [RANGE 1 MINUTE]"
        ).start()
