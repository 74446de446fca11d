"""The examples, run from the command line, give what plain Spark batch SQL gives over the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
