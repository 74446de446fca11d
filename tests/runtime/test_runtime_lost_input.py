"""Input on Spark that is gone or unusable: nothing of it is lost without a word."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import CheckpointError
from headrace.report import checkpoint as summary
from spark_kit import events, session, stream_sql, write

Q = "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;"
COLUMNS = "ts TIMESTAMP, k STRING, v INT"


def write_lines(folder: Path, number: int, times: list[Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:05d} a.json"
    path.write_text("".join(json.dumps({"ts": t, "k": "a", "v": 1}) + "\n" for t in times))
    return path


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_file_that_vanishes_after_it_was_listed(spark: Any, tmp_path: Path, kind: str) -> None:
    """Read by tasks or by Spark: a warning names it, the batch and the checkpoint count it, and the run goes on."""
    folder = tmp_path / "s o"
    if kind == "parquet":
        files = [write(folder, events(10, seconds=60, start=60 * n), n) for n in range(4)]
        script = stream_sql("s", folder) + Q
    else:
        files = [write_lines(folder, n, [f"2024-03-09T22:0{n}:00Z"] * 10) for n in range(4)]
        options = f"path '{folder}', maxFilesPerTrigger 1"
        script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts ORDERED FROM 'json' OPTIONS ({options});" + Q
    lost: list[Path] = []

    def lose(report: Any) -> None:
        if not lost:
            lost.append(next(f for f in reversed(files) if f.exists()))
            lost[0].unlink()

    run = session(spark, tmp_path / "ck", script).start(available_now=True, on_batch=lose)
    with pytest.warns(RuntimeWarning, match="1 files of stream s were listed, and are gone") as said:
        run.wait()
    assert any(str(lost[0]) in str(one.message) for one in said)
    assert sum(r.rows for r in run.reports) == 30
    assert [r.streams["s"].vanished for r in run.reports if r.streams["s"].vanished] == [1]
    (found,) = summary.summarize(run.driver.log)["streams"]
    assert found["vanished"] == 1


def test_milliseconds_declared_as_a_time(spark: Any, tmp_path: Path) -> None:
    """JSON numbers of milliseconds: Spark makes times of the year 55969 of them, and the late table keeps these."""
    millis = 1_704_067_200_000
    write_lines(tmp_path / "s", 0, [millis + n for n in range(60)])
    script = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts ORDERED FROM 'json' OPTIONS (path '{tmp_path}/s');" + Q
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.warns(RuntimeWarning, match="60 of 60 rows of stream s are rejected: their ts are numbers of milliseconds"):
        run.wait()
    late = run.late("s").arrow()
    assert sorted(late["ts"].cast("int64").to_pylist()) == [(millis + n) * 1_000_000 for n in range(60)]
    assert set(late["_reason"].to_pylist()) == {"implausible"}


def test_spark_checks_results_too(spark: Any, tmp_path: Path) -> None:
    """A flipped bit in a page, or in the footer, of a result file that Spark reads is an error and no other row."""
    write(tmp_path / "s", events(200, seconds=400))
    run = session(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q).start(available_now=True, flush=True)
    run.wait()
    results = run.results("q")
    rows = results.spark().count()
    assert rows > 0
    file = tmp_path / "ck" / run.driver.log.results("q")[0].path
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    file.write_bytes(flip(content, footer + 5))
    with pytest.raises(CheckpointError, match="of its footer, its content does not have the checksum"):
        results.spark()
    column = pq.read_metadata(pa.BufferReader(content))
    chunk = column.row_group(0).column(column.schema.names.index("n"))
    file.write_bytes(flip(content, chunk.data_page_offset + chunk.total_compressed_size - 3))
    with pytest.raises(CheckpointError, match="cannot be read"):
        results.arrow()
    with pytest.raises(Exception, match="(?i)checksum|crc|corrupt"):
        results.spark().collect()


def flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_spark_reads_a_query_of_a_file_that_several_share(spark: Any, tmp_path: Path) -> None:
    """Each frame has its query's rows and columns; what a flipped bit of the file spoils is an error."""
    write(tmp_path / "s", events(200, seconds=400))
    other = "CREATE QUERY more AS SELECT k AS name, sum(v) AS n FROM s [RANGE 2 MINUTES] GROUP BY k;"
    run = session(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q + other).start(available_now=True, flush=True)
    run.wait()
    parts = run.driver.log.results("q")
    assert any(not part.is_whole for part in parts)
    for query in ("q", "more"):
        results = run.results(query)
        frame = results.spark()
        assert frame.columns == results.schema.names
        counts = [Counter(zip(t[0].to_pylist(), t["n"].to_pylist(), strict=True)) for t in (frame.toArrow(), results.arrow())]
        assert counts[0] == counts[1] and counts[0]
    file = tmp_path / "ck" / next(part for part in parts if not part.is_whole).path
    content = file.read_bytes()
    frame = run.results("q").spark()
    file.write_bytes(flip(content, 20))
    with pytest.raises(Exception, match="cannot be read"):
        frame.collect()
