"""Sources with columns of their own: nothing need be declared, and what is declared is picked by name."""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource
from test_runtime_sources import TicksReader, until

import headrace as hr
from headrace.errors import SourceError
from spark_kit import session


class Beats(DataSource):
    """A Python data source with columns of its own."""

    @classmethod
    def name(cls) -> str:
        return "beats"

    def schema(self) -> str:
        return "ts timestamp, n int"

    def simpleStreamReader(self, schema: Any) -> TicksReader:
        return TicksReader()


@pytest.fixture
def beats(spark: Any) -> None:
    for name in (__name__, TicksReader.__module__):
        cloudpickle.register_pickle_by_value(sys.modules[name])  # workers cannot import a test
    spark.dataSource.register(Beats)


def count_until(spark: Any, checkpoint: Path, script: str, rows: int) -> Any:
    """A run that has read so many rows, stopped and flushed."""
    run = session(spark, checkpoint, script).start(trigger="0 seconds", flush=True)
    until(lambda: sum(r.rows for r in run.reports) >= rows, run)
    run.stop()
    return run


@pytest.mark.parametrize("columns", ["", "(Value BIGINT, timestamp TIMESTAMP)"])
@pytest.mark.parametrize("kind", ["rate", "rate-micro-batch"])
def test_rate(spark: Any, tmp_path: Path, kind: str, columns: str) -> None:
    """Spark's rates have a time and a number; declared in another order and case, they are the same."""
    options = "rowsPerSecond 50" if kind == "rate" else "rowsPerBatch 50, startTimestamp 1700000000000"
    script = (
        f"CREATE STREAM s {columns} PROGRESSING ON timestamp SLACK 1 SECOND FROM '{kind}' OPTIONS ({options});"
        "CREATE QUERY q AS SELECT count(*) AS n, min(value) AS lo FROM s [RANGE 1 SECOND];"
    )
    run = count_until(spark, tmp_path / "ck", script, 50)
    found = run.results("q").arrow().to_pydict()
    assert sum(found["n"]) == sum(r.rows for r in run.reports)
    assert min(found["lo"]) == 0


def test_socket(spark: Any, tmp_path: Path) -> None:
    """Lines from a socket, with the time they came."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"a\nb\na\n")
                done.wait(60)

        done = threading.Event()
        threading.Thread(target=serve, daemon=True).start()
        script = (
            "CREATE STREAM s PROGRESSING ON timestamp SLACK 1 SECOND FROM 'socket' "
            f"OPTIONS (host '127.0.0.1', port {server.getsockname()[1]}, includeTimestamp true);"
            "CREATE QUERY q AS SELECT value, count(*) AS n FROM s [RANGE 1 DAY] GROUP BY value;"
        )
        run = count_until(spark, tmp_path / "ck", script, 3)
        done.set()
    found = run.results("q").arrow().to_pylist()
    assert {(r["value"], r["n"]) for r in found} == {("a", 2), ("b", 1)}


@pytest.mark.usefixtures("beats")
@pytest.mark.parametrize("columns", ["", "(n BIGINT, ts TIMESTAMP)"])
def test_a_python_data_source(spark: Any, tmp_path: Path, columns: str) -> None:
    """Spark is asked for the columns of a source that nobody else knows."""
    script = (
        f"CREATE STREAM s {columns} PROGRESSING ON ts ORDERED FROM 'beats';"
        "CREATE QUERY q AS SELECT sum(n) AS total FROM s [RANGE 10 SECONDS];"
    )
    run = count_until(spark, tmp_path / "ck", script, 30)
    assert sorted(run.results("q").arrow().column("total").to_pylist()) == [45, 145, 245]


@pytest.mark.usefixtures("beats")
def test_columns_the_source_does_not_have(spark: Any, tmp_path: Path) -> None:
    """They are named, with those it has, before anything runs."""
    script = (
        "CREATE STREAM s (ts TIMESTAMP, m INT) PROGRESSING ON ts ORDERED FROM 'beats';"
        "CREATE QUERY q AS SELECT sum(m) AS total FROM s [RANGE 10 SECONDS];"
    )
    with pytest.raises(SourceError, match="stream s: the beats source has no column m; it has ts, n"):
        session(spark, tmp_path / "ck", script).start(available_now=True)


@pytest.mark.parametrize("columns", ["", "(ts TIMESTAMP)"])
def test_a_source_spark_does_not_have(spark: Any, tmp_path: Path, columns: str) -> None:
    """It is named, and how such sources come to Spark."""
    script = (
        f"CREATE STREAM s {columns} PROGRESSING ON ts ORDERED FROM 'nowhere';"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS];"
    )
    with pytest.raises(SourceError, match="stream s: Spark has no source 'nowhere'.*--packages"):
        session(spark, tmp_path / "ck", script).start(available_now=True)


def test_settings_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a session is given for Spark reaches the Spark it starts."""
    seen: dict[str, Any] = {}
    monkeypatch.setattr("headrace.runtime.spark.make_session", lambda master, **given: seen.update(given))
    monkeypatch.setattr("headrace.runtime.warm.warm_up", lambda spark: None)
    _ = hr.Session(checkpoint=tmp_path / "ck", conf={"spark.jars.packages": "g:a:1"}).spark
    assert seen == {"rows": True, "spark.jars.packages": "g:a:1"}
