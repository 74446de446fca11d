"""The examples, run from the command line, give what plain Spark batch SQL gives over the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import headrace as hr
from batch_sql import batch_results
from headrace.cli import main
from headrace.errors import SourceError
from headrace.generate import nycflights
from headrace.state import ManifestLog, Store
from spark_kit import same

EXAMPLES = Path(__file__).parents[2] / "examples"


def headrace(*arguments: object) -> str:
    """Run a command in this process, which has a Spark already."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def example(spark: Any, folder: Path, script: str, times: dict[str, str]) -> dict[str, int]:
    """Run a script as the README says and compare every query; rows per query."""
    path = folder / "queries.sql"
    path.write_text(script)
    said = headrace(
        "run", path, "--checkpoint", folder / "ck", "--available-now", "--master", "local[2]", "--slots", 2
    )
    assert "batch=1 " in said
    latest = ManifestLog(Store.open(folder / "ck")).latest()
    assert latest is not None
    assert {name: s.late + s.rejected for name, s in latest.streams.items()} == dict.fromkeys(times, 0)
    upto = {name: s.low_watermark for name, s in latest.streams.items() if s.low_watermark is not None}
    inputs = {}
    for name in times:
        path_ = next(
            (folder / "data").glob({"tcp": "packets", "flights": "flights", "weather": "weather"}[name])
        )
        inputs[name] = spark.read.parquet(str(path_))
    expected = batch_results(spark, script, inputs, times, upto)
    session = hr.Session(spark, checkpoint=folder / "ck")
    for name, table in expected.items():
        same(session.results(name).arrow(), table)
    return {name: table.num_rows for name, table in expected.items()}


def test_network_monitoring(spark: Any, tmp_path: Path) -> None:
    """Eight queries over packets with disorder and a lull, two files a batch; few packets, so low thresholds."""
    data = tmp_path / "data" / "packets"
    options = "--rows 12000 --groups 600 --files 4 --disorder band --lulls 1 --suspicious 0.3"
    headrace("generate", "packets", *options.split(), "--out", data)
    script = (EXAMPLES / "netmon" / "queries.sql").read_text()
    script = script.replace(">= 200;", ">= 3;").replace(">= 10 + 3 *", ">= 1 +").replace(">= 6;", ">= 3;")
    rows = example(spark, tmp_path, script, {"tcp": "ts"})
    assert len(rows) == 8
    assert min(rows.values()) > 0, rows


def test_airline_board_with_made_up_flights(spark: Any, tmp_path: Path) -> None:
    """Eight queries over two streams in several batches, with slack for the longest delay."""
    options = ["--rows", 3000, "--duration", "20 days", "--files", 3]
    headrace("generate", "flights", *options, "--out", tmp_path / "data")
    script = (EXAMPLES / "airline" / "queries.sql").read_text()
    for name in ("flights", "weather"):
        script = script.replace(f"(path 'data/{name}')", f"(path 'data/{name}', maxFilesPerTrigger 1)")
    script = script.replace("SLACK 3 HOURS", "SLACK 2 DAYS").replace("count(*) >= 50", "count(*) >= 5")
    rows = example(spark, tmp_path, script, {"flights": "sched", "weather": "time_hour"})
    assert len(rows) == 8
    assert min(rows.values()) > 0, rows


def compare_joins(
    spark: Any, folder: Path, script: str, times: dict[str, str], batch: str | None = None
) -> dict[str, int]:
    """Run a script of joins to the end and compare every query; rows per query. `times` names the progressing columns of
    streams and of queries that give rows; `batch` is the script for Spark, where it is written otherwise.
    """
    path = folder / "joins.sql"
    path.write_text(script)
    options = ["--available-now", "--flush", "--master", "local[2]", "--slots", 2]
    assert "batch=2 " in headrace("run", path, "--checkpoint", folder / "ck", *options)
    folders = {"tcp": "packets"}
    inputs = {
        name: spark.read.parquet(str(folder / "data" / folders.get(name, name)))
        for name in times
        if (folder / "data" / folders.get(name, name)).exists()
    }
    latest = ManifestLog(Store.open(folder / "ck")).latest()
    assert latest is not None
    assert {name: s.late + s.rejected for name, s in latest.streams.items()} == dict.fromkeys(inputs, 0)
    expected = batch_results(spark, batch or script, inputs, times)
    session = hr.Session(spark, checkpoint=folder / "ck")
    for name, table in expected.items():
        same(session.results(name).arrow(), table)
    return {name: table.num_rows for name, table in expected.items()}


def test_packets_that_belong_together(spark: Any, tmp_path: Path) -> None:
    """SYN with SYN-ACK, SYN without, jitter by a self-join, heavy flows of one minute beside those of the next."""
    data = tmp_path / "data" / "packets"
    options = "--rows 6000 --groups 10 --files 4 --disorder band --lulls 1 --replies --duration"
    headrace("generate", "packets", *options.split(), "10 minutes", "--lull", "1 minute", "--out", data)
    script = (EXAMPLES / "netmon" / "joins.sql").read_text()
    minute = "CAST(floor(unix_seconds(ts) / 60) AS BIGINT)"
    flows = f"SELECT {minute} AS tb, srcIP, destIP, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY {minute}, srcIP, destIP"
    written = "SELECT tb, srcIP, destIP, count(*) AS cnt FROM tcp GROUP BY ts/60 AS tb, srcIP, destIP"
    batch = script.replace(written, flows)
    assert batch != script
    rows = compare_joins(spark, tmp_path, script, {"tcp": "ts", "connections": "ts"}, batch)
    assert len(rows) == 8
    assert min(rows.values()) > 0, rows


def test_flights_with_weather_and_check_ins(spark: Any, tmp_path: Path) -> None:
    """Outer, inner and anti-joins of three streams in several batches, and aggregates over them; some hours have no weather."""
    options = ["--rows", 3000, "--duration", "20 days", "--files", 3]
    headrace("generate", "flights", *options, "--checkins", "--out", tmp_path / "data")
    for path in (tmp_path / "data" / "weather").glob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.not_equal(pc.hour(table["time_hour"]), 17)), path)
    script = (EXAMPLES / "airline" / "joins.sql").read_text()
    for name in ("flights", "weather", "checkins"):
        script = script.replace(f"(path 'data/{name}')", f"(path 'data/{name}', maxFilesPerTrigger 1)")
    script = script.replace("SLACK 3 HOURS", "SLACK 2 DAYS")
    times = {"flights": "sched", "weather": "time_hour", "checkins": "ts"}
    rows = compare_joins(spark, tmp_path, script, {**times, "flight_weather": "sched", "boarding": "sched"})
    assert len(rows) == 5
    assert min(rows.values()) > 0, rows
    assert rows["flight_weather"] == 3000
    without = (
        hr.Session(spark, checkpoint=tmp_path / "ck")
        .results("flight_weather")
        .arrow()["wind_speed"]
        .null_count
    )
    assert 0 < without < 3000


@pytest.mark.slow
def test_airline_board_with_the_real_flights(spark: Any, tmp_path: Path) -> None:
    """All 336,776 flights of 2013 and their weather, as the example has it: in one batch nobody is late."""
    try:
        nycflights.load()
    except SourceError as error:
        pytest.skip(str(error))
    headrace("generate", "flights", "--out", tmp_path / "data")
    script = (EXAMPLES / "airline" / "queries.sql").read_text()
    rows = example(spark, tmp_path, script, {"flights": "sched", "weather": "time_hour"})
    assert min(rows.values()) > 0, rows


@pytest.mark.slow
def test_the_real_flights_meet_their_weather(spark: Any, tmp_path: Path) -> None:
    """Of the 336,776 flights of 2013, 335,220 have a weather row of their airport and hour; all are there once."""
    try:
        nycflights.load()
    except SourceError as error:
        pytest.skip(str(error))
    headrace("generate", "flights", "--checkins", "--out", tmp_path / "data")
    script = (EXAMPLES / "airline" / "joins.sql").read_text()
    path = tmp_path / "joins.sql"
    path.write_text(script)
    headrace(
        "run", path, "--checkpoint", tmp_path / "ck", "--available-now", "--flush", "--master", "local[2]"
    )
    found = hr.Session(spark, checkpoint=tmp_path / "ck").results("flight_weather").arrow()
    assert (found.num_rows, found["visib"].null_count) == (336_776, 1_556)
