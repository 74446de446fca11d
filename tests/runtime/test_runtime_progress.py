"""Progress on Spark: punctuation in rows that Spark or the tasks read, beside the stream, partitions, and lulls."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import HeadraceError, SourceError
from spark_kit import at, drained, stream_sql, write

MARKED = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("mark", pa.bool_())])
COLUMNS = "ts TIMESTAMP, k STRING, mark BOOLEAN"
PER_MINUTE = "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"


def row(seconds: float, k: str, mark: bool = False) -> dict[str, Any]:
    return {"ts": at(seconds), "k": k, "mark": mark}


def counts(run: Any) -> list[tuple[Any, ...]]:
    return sorted((r["k"], r["n"], int((r["window_start"] - at(0)).total_seconds())) for r in run.results("q").arrow().to_pylist())


@pytest.mark.parametrize("reader", ["in the tasks", "by Spark"])
def test_groups_close_by_their_own_marks(reader: str, spark: Any, tmp_path: Path) -> None:
    """Who reads the rows does not matter: a group that is ahead is closed, one that contradicts is kept as late."""
    write(tmp_path / "s", [row(1, "a"), row(2, "b"), row(70, "a", True)], 0, MARKED)
    write(tmp_path / "s", [row(3, "a"), row(4, "b"), row(5, "b", True)], 1, MARKED)
    options = {} if reader == "in the tasks" else {"mergeSchema": "false"}
    script = stream_sql("s", tmp_path / "s", "PUNCTUATED BY (mark) FOR (k)", COLUMNS, **options)
    run = drained(spark, tmp_path / "ck", script + f"CREATE QUERY q AS {PER_MINUTE};")
    assert all(r.in_tasks == (reader == "in the tasks") for r in run.driver.plan.readings.values())
    assert counts(run) == [("a", 1, 0)]
    assert [(r["k"], r["_reason"]) for r in run.late("s").arrow().to_pylist()] == [("a", "contradicts")]
    assert run.manifest.streams["s"].low_watermark == int(at(5).timestamp() * 1e6)


def test_marks_that_are_no_data_in_json(spark: Any, tmp_path: Path) -> None:
    """Rows that only punctuate are in no result, whichever query asks."""
    (tmp_path / "s").mkdir()
    lines = [f'{{"ts": "{at(s).isoformat()}", "kind": "{kind}"}}' for s, kind in ((1, "x"), (2, "y"), (61, "mark"))]
    (tmp_path / "s" / "0.json").write_text("\n".join(lines))
    script = f"""CREATE STREAM s (ts TIMESTAMP, kind STRING) PROGRESSING ON ts PUNCTUATED BY (upper(kind) = 'MARK') NOT DATA
      FROM 'json' OPTIONS (path '{tmp_path / "s"}');
    CREATE QUERY q AS SELECT kind AS k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY kind;
    CREATE QUERY r AS SELECT kind FROM s;"""
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert counts(run) == [("x", 1, 0), ("y", 1, 0)]
    assert sorted(r["kind"] for r in run.results("r").arrow().to_pylist()) == ["x", "y"]


def test_partitions_by_folder(spark: Any, tmp_path: Path) -> None:
    """Folders of a Hive layout are partitions with a low-watermark each; windows wait for the last, or for their own."""
    plain = pa.schema([("ts", pa.timestamp("us", "UTC"))])
    write(tmp_path / "s" / "k=a", [{"ts": at(s)} for s in (1, 2, 200)], 0, plain)
    write(tmp_path / "s" / "k=b", [{"ts": at(s)} for s in (3, 70)], 1, plain)
    script = stream_sql("s", tmp_path / "s", "SLACK 5 SECONDS PER (k)", "ts TIMESTAMP, k STRING", maxFilesPerTrigger=2)
    script += f"CREATE QUERY q AS {PER_MINUTE};\nCREATE QUERY a AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE];"
    run = drained(spark, tmp_path / "ck", script)
    assert counts(run) == [("a", 2, 0), ("b", 1, 0)]
    assert [r["n"] for r in run.results("a").arrow().to_pylist()] == [3]
    assert run.manifest.streams["s"].low_watermark == int(at(65).timestamp() * 1e6)


def test_bounds_in_a_folder_and_from_a_function(spark: Any, tmp_path: Path) -> None:
    """What is told before the first batch binds at its end; a function is called by the name it is registered under."""
    write(tmp_path / "s", [row(1, "a"), row(62, "a")], 0, MARKED)
    write(tmp_path / "s", [row(63, "a")], 1, MARKED)
    (tmp_path / "told").mkdir()
    pq.write_table(pa.table({"bound": pa.array([at(10), at(60)], MARKED[0].type)}), tmp_path / "told" / "0.parquet")
    for name, source in (("folder", str(tmp_path / "told")), ("function", "tell")):
        script = stream_sql("s", tmp_path / "s", f"PUNCTUATED FROM '{source}'", COLUMNS)
        session = hr.Session(spark, checkpoint=tmp_path / name, slots=2).bounds("tell", lambda: at(60))
        run = session.sql(script).query("q", PER_MINUTE).start(available_now=True)
        run.wait()
        assert counts(run) == [("a", 1, 0)]
    frame = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "s"))
    session = hr.Session(spark, checkpoint=tmp_path / "frame", slots=2)
    session.stream("s", frame, hr.punctuated(on="ts", source=lambda: [(at(60), "a")], groups="k")).query("q", PER_MINUTE)
    run = session.start(available_now=True)
    run.wait()
    assert counts(run) == [("a", 1, 0)]


def test_bounds_that_cannot_be_read(spark: Any, tmp_path: Path) -> None:
    """A table that is not there, and a function that fails, are named with what was expected."""
    write(tmp_path / "s", [row(1, "a")], 0, MARKED)
    script = stream_sql("s", tmp_path / "s", "PUNCTUATED FROM 'no/such'", COLUMNS)
    with pytest.raises(SourceError, match="there is no such file, folder, table or function"):
        hr.Session(spark, checkpoint=tmp_path / "a").sql(script).query("q", PER_MINUTE).start(available_now=True)
    script = stream_sql("s", tmp_path / "s", "PUNCTUATED FROM 'tell'", COLUMNS)
    session = hr.Session(spark, checkpoint=tmp_path / "b").sql(script).query("q", PER_MINUTE).bounds("tell", lambda: "soon")
    with pytest.raises(HeadraceError, match="the bounds in 'tell' cannot be read(.|\n)*a column bound that is a time"):
        session.start(available_now=True)


def test_a_lull_closes_windows_by_the_clock(spark: Any, tmp_path: Path) -> None:
    """Nothing comes, and the window closes all the same; what comes after is read on, a restart repeats nothing."""
    now = datetime.now(UTC)
    folder = tmp_path / "s"
    write(folder, [{"ts": now - timedelta(seconds=30), "k": "a", "mark": False}], 0, MARKED)
    script = stream_sql("s", folder, "SLACK 1 SECOND IDLE AFTER 2 SECONDS", COLUMNS)
    script += "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k;"
    session = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2).sql(script)
    run = session.start(trigger="0 seconds")
    _wait(lambda: run.results("q").arrow().num_rows == 1)
    version = run.manifest.version
    assert version == 2, "one batch with rows, one heartbeat"
    assert run.manifest.batch_id == 0
    low = run.manifest.streams["s"].low_watermark
    assert low is not None
    assert low <= run.manifest.clock - 3_000_000 < run.manifest.clock
    time.sleep(1.5)
    assert run.manifest.version == version, "a clock that closes no window is no news"
    write(folder, [{"ts": datetime.now(UTC), "k": "b", "mark": False}], 1, MARKED)
    _wait(lambda: run.results("q").arrow().num_rows == 2)
    run.stop()
    again = session.start(available_now=True)
    again.wait()
    assert sorted(r["k"] for r in again.results("q").arrow().to_pylist()) == ["a", "b"]


def _wait(reached: Any, seconds: float = 60) -> None:
    until = time.time() + seconds
    while not reached():
        assert time.time() < until, "nothing happened"
        time.sleep(0.2)
