"""The SQL of docs/sources.md is run; its Python is run with that of other pages (`tests/test_snippets.py`)."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headrace.session import Session

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"
BLOCKS = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
TRIPS = [("2024-03-09T22:00:01Z", "Bern", 1.5), ("2024-03-09T22:10:00Z", "Kyiv", 2.0), ("2024-03-09T22:20:00Z", "Bern", 0.5)]


def sql_from(source: str) -> str:
    """The example of a source."""
    (found,) = (text for text in BLOCKS if f"FROM '{source}'" in text)
    return found


@pytest.fixture(scope="module")
def data(spark_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same trips in every format."""
    place = tmp_path_factory.mktemp("sources")
    rows = [(datetime.fromisoformat(ts).astimezone(UTC), city, km) for ts, city, km in TRIPS]
    frame = spark_session.createDataFrame(rows, "ts timestamp, city string, km double").coalesce(1)
    for kind in ("parquet", "json", "orc"):
        frame.write.format(kind).save(f"{place}/data/{kind}")
    frame.select("km", "city", "ts").write.option("header", True).csv(f"{place}/data/csv")
    return place


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "orc"])
def test_files(spark: Any, data: Path, tmp_path: Path, kind: str) -> None:
    """A folder of files of each format."""
    session = Session(spark, checkpoint=tmp_path / "ck", slots=2).sql(sql_from(kind), base=data)
    run = session.start(available_now=True, flush=True)
    run.wait()
    found = run.results(f"per_city_{kind}").arrow().to_pylist()
    assert {(r["city"], r["n"]) for r in found} == {("Bern", 2), ("Kyiv", 1)}


def run_until_rows(spark: Any, checkpoint: Path, script: str, rows: int) -> Any:
    run = Session(spark, checkpoint=checkpoint, slots=2).sql(script).start(trigger="0 seconds", flush=True)
    for _ in range(600):
        if run.wait(0.1) or sum(r.rows for r in run.reports) >= rows:
            break
    run.stop()
    return run


def test_rate(spark: Any, tmp_path: Path) -> None:
    """Rows by the clock."""
    run = run_until_rows(spark, tmp_path / "ck", sql_from("rate"), 10)
    assert sum(run.results("per_second").arrow().column("n").to_pylist()) == sum(r.rows for r in run.reports)


def test_socket(spark: Any, tmp_path: Path) -> None:
    """Lines from a socket."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"a\nb\na\n")
                ended.wait(60)

        threading.Thread(target=serve, daemon=True).start()
        script = sql_from("socket").replace("9999", str(server.getsockname()[1]))
        run = run_until_rows(spark, tmp_path / "ck", script, 3)
        ended.set()
    assert {(r["value"], r["n"]) for r in run.results("per_word").arrow().to_pylist()} == {("a", 2), ("b", 1)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "settings", "table"),
    [
        (
            "io.delta:delta-spark_2.13:4.0.0",
            ["spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
             "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"],
            ".write.format('delta').save('data/delta')",
        ),
        (
            "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
            ["spark.sql.catalog.local=org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.local.type=hadoop",
             "spark.sql.catalog.local.warehouse=warehouse"],
            ".writeTo('local.db.orders').create()",
        ),
    ],
)  # fmt: skip
@pytest.mark.xfail(reason="no version of it that was tried works with Spark 4.3", strict=True)
def test_packages(tmp_path: Path, package: str, settings: list[str], table: str) -> None:
    """Tables of Delta and Iceberg, with packages that are fetched; when this passes, the page has to say so."""
    kind = "delta" if "delta" in package else "iceberg"
    statements = [s for s in sql_from(kind).split(";") if f"_{kind}" in s]
    conf = dict(one.split("=", 1) for one in settings) | {"spark.jars.packages": package}
    program = (
        f"import headrace as hr\nsession = hr.Session(checkpoint='ck', master='local[2]', conf={conf!r})\n"
        f"rows = session.spark.range(10).selectExpr('timestamp_seconds(id) AS ts', 'id')\nrows{table}\n"
        f"session.sql({';'.join(statements)!r})\n"
        "run = session.start(available_now=True, flush=True)\nrun.wait()\n"
        f"print('rows', run.results('per_minute_{kind}').arrow().column('n').to_pylist())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=300
    )
    assert "rows [10]" in ran.stdout, ran.stderr[-2000:]
