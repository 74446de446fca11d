"""Bad input gets a clear error, and no committed result is lost or doubled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import CheckpointError, HeadraceError, SourceError, SqlError
from headrace.state import ManifestLog, Store
from headrace.state.disk import LocalDisk
from spark_kit import (
    EVENTS,
    drained,
    events,
    multiset,
    place,
    same,
    session,
    stream_sql,
    tables,
    write,
    write_batches,
)

Q = "CREATE QUERY q AS SELECT k, count(*) AS n, sum(price) AS sp FROM s [RANGE 1 MINUTE] GROUP BY k;"
ROWS = events(200, seconds=400)


def clean(error: pytest.ExceptionInfo[HeadraceError]) -> str:
    """The message, which must not be a Java stack."""
    said = str(error.value)
    assert "\tat " not in said
    assert "JVM stacktrace" not in said
    assert "Traceback" not in said
    return said


def test_a_number_no_type_holds(spark: Any, tmp_path: Path) -> None:
    """What Spark raises when it reads a query is a mistake in the query, whatever Spark calls it."""
    write(tmp_path / "s", ROWS[:10], 0)
    script = stream_sql("s", tmp_path / "s") + f"CREATE QUERY q AS SELECT ts, k FROM s WHERE v < {'9' * 47};"
    with pytest.raises(SqlError, match="query q: .*precision 47 exceeds max precision 38") as error:
        session(spark, tmp_path / "ck", script).start(available_now=True)
    clean(error)


def test_what_py4j_says_is_left_out(spark: Any, tmp_path: Path) -> None:
    """A message begins with what is wrong, not with the name of a call between Python and Java."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.csv.gz").write_bytes(b"not packed")
    text = stream_sql("s", tmp_path / "s").replace("'parquet'", "'csv'")
    run = session(spark, tmp_path / "ck", text + Q).start(available_now=True)
    with pytest.raises(SourceError, match=r"batch 1: a source cannot be read: \[FAILED_READ_FILE.* file .*a\.csv\.gz") as error:
        run.wait()
    assert "calling" not in clean(error)


# -- files that are not what they should be ------------------------------------------------------------------------
def test_a_corrupt_file(spark: Any, tmp_path: Path) -> None:
    """The file is named, what was committed stays, and with the file mended the run goes on as if nothing had happened."""
    write(tmp_path / "s", ROWS[:100], 0)
    bad = tmp_path / "s" / ".bad"
    bad.write_bytes(b"PAR1 this is not it")
    place(bad, tmp_path / "s" / "00001.parquet", 1)
    script = stream_sql("s", tmp_path / "s") + Q
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(SourceError, match="batch 2: a source cannot be read") as error:
        run.wait()
    said = clean(error)
    assert "00001.parquet" in said
    assert "Nothing of this batch was committed" in said
    assert "ignoreCorruptFiles" not in said  # no message advises to lose rows
    kept = run.results("q").arrow()
    write(tmp_path / "s", ROWS[100:], 1)
    again = drained(spark, tmp_path / "ck", script, flush=True)
    write_batches(tmp_path / "fine", ROWS, 2)
    fine = drained(spark, tmp_path / "other", stream_sql("s", tmp_path / "fine") + Q, flush=True)
    assert tables(again) == tables(fine)
    assert not multiset(kept) - multiset(again.results("q").arrow())


def test_a_corrupt_file_may_be_skipped(spark: Any, tmp_path: Path) -> None:
    """Spark's option ignoreCorruptFiles, for who wants it, lets the same checkpoint go on without the file."""
    write(tmp_path / "s", ROWS[:100], 0)
    bad = tmp_path / "s" / ".bad"
    bad.write_bytes(b"garbage" * 100)
    place(bad, tmp_path / "s" / "00001.parquet", 1)
    write(tmp_path / "s", ROWS[100:], 2)
    run = session(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q).start(available_now=True)
    with pytest.raises(SourceError):
        run.wait()
    again = drained(
        spark, tmp_path / "ck", stream_sql("s", tmp_path / "s", ignoreCorruptFiles="true") + Q, flush=True
    )
    assert sum(again.results("q").arrow().column("n").to_pylist()) == 200


def test_a_corrupt_file_may_be_removed(spark: Any, tmp_path: Path) -> None:
    """As the message says, without the file the run goes on with the others."""
    write(tmp_path / "s", ROWS[:100], 0)
    bad = tmp_path / "s" / ".bad"
    bad.write_bytes(b"garbage" * 100)
    place(bad, tmp_path / "s" / "00001.parquet", 1)
    write(tmp_path / "s", ROWS[100:], 2)
    script = stream_sql("s", tmp_path / "s") + Q
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(SourceError):
        run.wait()
    (tmp_path / "s" / "00001.parquet").unlink()
    again = drained(spark, tmp_path / "ck", script, flush=True)
    assert sum(again.results("q").arrow().column("n").to_pylist()) == 200


def test_a_column_of_another_type(spark: Any, tmp_path: Path) -> None:
    """A file whose column has another type than declared: the column and the types are named."""
    schema = EVENTS.set(EVENTS.get_field_index("v"), pa.field("v", pa.string()))
    write(tmp_path / "s", [{**r, "v": "seven"} for r in ROWS], 0, schema)
    script = (
        stream_sql("s", tmp_path / "s") + "CREATE QUERY q AS SELECT sum(v) AS sv FROM s [RANGE 1 MINUTE];"
    )
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(SourceError, match="batch 1: a source cannot be read") as error:
        run.wait()
    assert "[v]" in clean(error)


def test_a_missing_column_is_null(spark: Any, tmp_path: Path) -> None:
    """A file without a declared column gives NULLs for it, as in Spark."""
    write(tmp_path / "s", ROWS, 0, EVENTS.remove(EVENTS.get_field_index("price")))
    run = drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q, flush=True)
    assert run.results("q").arrow().column("sp").null_count == run.results("q").arrow().num_rows > 0


def text_file(folder: Path, name: str, lines: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text("\n".join(lines) + "\n")
    place(folder / f".{name}", folder / name, 0)


LINES = {
    "csv": [
        "2024-03-09T22:00:01Z,a,1",
        "not a time,b,2",
        "2024-03-09T22:00:02Z,c,three",
        "2024-03-09T22:02:00Z",
        "",
        ",d,4",
    ],
    "json": [
        '{"ts": "2024-03-09T22:00:01Z", "k": "a", "v": 1}',
        '{"ts": "not a time", "k": "b", "v": 2}',
        '{"ts": "2024-03-09T22:00:02Z", "k": "c", "v": "three"}',
        '{"ts": "2024-03-09T22:02:00Z"}',
        '{"ts": "2024-03-09T22:0',
        '{"k": "d", "v": 4}',
    ],
}


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_rows_that_do_not_parse(spark: Any, tmp_path: Path, kind: str) -> None:
    """A line that does not parse in some field, or has too few or too many of them, is in the late table with its text;
    so is a row without a time. JSON may leave fields out."""
    text_file(tmp_path / "s", f"a.{kind}", LINES[kind])
    script = (
        f"CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) PROGRESSING ON ts ORDERED FROM '{kind}' OPTIONS (path '{tmp_path}/s');"
        "CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 1 MINUTE] GROUP BY k;"
    )
    run = drained(spark, tmp_path / "ck", script, flush=True)
    rows = {(r["k"], r["n"], r["sv"]) for r in run.results("q").arrow().to_pylist()}
    assert rows == ({("a", 1, 1)} if kind == "csv" else {("a", 1, 1), (None, 1, None)})
    late = run.late("s").arrow().to_pylist()
    lines = LINES[kind]
    broken = lines[1:4] if kind == "csv" else [*lines[1:3], lines[4]]
    assert {(r["_text"], r["_reason"]) for r in late} == {(line, "malformed") for line in broken} | {(None, "null")}
    assert {r["k"] for r in late} >= {"b", "c", "d"}  # what did parse is there too
    report = run.reports[0].streams["s"]
    assert report.rejected == len(late) == report.rows - len(rows)


def test_strict_parsing(spark: Any, tmp_path: Path) -> None:
    """With Spark's mode FAILFAST such a row stops the run, and the message says which file and why."""
    text_file(tmp_path / "s", "a.csv", LINES["csv"])
    script = (
        "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) PROGRESSING ON ts ORDERED FROM 'csv' "
        f"OPTIONS (path '{tmp_path}/s', mode 'FAILFAST'); CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE];"
    )
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(SourceError, match="batch 1: a source cannot be read") as error:
        run.wait()
    assert "Malformed" in clean(error) or "a.csv" in clean(error)


# -- values that cannot be -----------------------------------------------------------------------------------------
def test_the_horizon_is_the_users(spark: Any, tmp_path: Path) -> None:
    """HORIZON says how far ahead of the clock a value may be; a wrong one never moves the low-watermark."""
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    write(tmp_path / "s", [{"ts": t, "k": "a"} for t in (1, 5, 12)], 0, schema)
    write(tmp_path / "s", [{"ts": t, "k": "a"} for t in (10**15, 14, 20)], 1, schema)
    write(tmp_path / "s", [{"ts": t, "k": "a"} for t in (25, 31)], 2, schema)
    stream = stream_sql("s", tmp_path / "s", "SLACK 5 HORIZON 1000", columns="ts BIGINT, k STRING")
    run = drained(
        spark,
        tmp_path / "ck",
        stream + "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10];",
        flush=True,
    )
    assert multiset(run.results("q").arrow()) == {
        (2, 0, 10): 1,
        (2, 10, 20): 1,
        (2, 20, 30): 1,
        (1, 30, 40): 1,
    }
    assert run.late("s").arrow().to_pylist() == [{"ts": 10**15, "k": "a", "_reason": "implausible"}]


def test_a_landmark_and_1970(spark: Any, tmp_path: Path) -> None:
    """A wrong year would make a landmark report every minute since: refused, with the reason, and nothing is committed."""
    from datetime import UTC, datetime

    write(tmp_path / "s", [{**ROWS[0], "ts": datetime(1970, 1, 2, tzinfo=UTC)}, *ROWS], 0)
    script = (
        stream_sql("s", tmp_path / "s")
        + "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE ALL SLIDE 1 SECOND];"
    )
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(
        HeadraceError, match=r"batch 1: RANGE ALL SLIDE .* check the stream for a wrong progressing value"
    ) as error:
        run.wait()
    clean(error)
    assert ManifestLog(Store.open(tmp_path / "ck")).latest() is None


# -- disks ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB."""
    path = tmp_path / "disk"
    path.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(path)], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs more rights than this user has")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.parametrize("room", [0, 40_000])
def test_a_full_disk(spark: Any, tmp_path: Path, small_disk: Path, room: int) -> None:
    """Full for Spark's own log, or in the middle of a batch: it is said, and with room made the run goes on exactly."""
    wide = (
        stream_sql("s", tmp_path / "s")
        + Q
        + "CREATE QUERY raw AS SELECT ts, repeat(k, 500) AS wide, x FROM s;"
    )
    write(tmp_path / "s", ROWS[:50], 0)
    first = drained(spark, small_disk / "ck", wide)
    kept = tables(first)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as out, suppress(OSError):
        while True:
            out.write(bytes(4096))
    os.truncate(filler, filler.stat().st_size - room)
    many = [
        {**r, "k": f"{i}{r['k']}", "x": i * 0.1} for i, r in enumerate(events(8000, seconds=100, start=100))
    ]
    write(tmp_path / "s", many, 1)
    with pytest.raises(CheckpointError, match="full") as error:
        drained(spark, small_disk / "ck", wide)
    assert str(small_disk) in clean(error) or "No space left" in clean(error)
    assert "start again" in clean(error)
    assert {
        n: multiset(hr.Session(spark, checkpoint=small_disk / "ck").results(n).arrow()) for n in kept
    } == kept
    filler.unlink()
    os.sync()
    subprocess.run(["mount", "-o", "remount,size=60m", str(small_disk)], check=True)
    again = drained(spark, small_disk / "ck", wide, flush=True)
    undisturbed = drained(spark, tmp_path / "other", wide, flush=True)
    assert tables(again) == tables(undisturbed)


def test_a_commit_on_a_full_disk(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one step that commits fails: the batch is not there, and is done again at the next start."""
    write_batches(tmp_path / "s", ROWS, 2)
    script = stream_sql("s", tmp_path / "s") + Q

    def full(self: LocalDisk, rel: str, data: bytes) -> bool:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(LocalDisk, "publish", full)
        with pytest.raises(
            CheckpointError,
            match=r"the disk of .* is full: cannot publish manifests/000000000001.json; free some",
        ):
            drained(spark, tmp_path / "ck", script)
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert sum(run.results("q").arrow().column("n").to_pylist()) == 200


def test_a_read_only_disk(spark: Any, tmp_path: Path, small_disk: Path) -> None:
    """A checkpoint that cannot be written is refused before anything runs; its results can still be read."""
    write_batches(tmp_path / "s", ROWS, 2)
    script = stream_sql("s", tmp_path / "s") + Q
    first = drained(spark, small_disk / "ck", script)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(
        CheckpointError, match=r"cannot be written.*Read-only file system.*use another checkpoint"
    ) as error:
        drained(spark, small_disk / "ck", script)
    clean(error)
    same(hr.Session(spark, checkpoint=small_disk / "ck").results("q").arrow(), first.results("q").arrow())


@pytest.mark.parametrize("place_", ["file/ck", "file"])
def test_a_checkpoint_that_cannot_be(spark: Any, tmp_path: Path, place_: str) -> None:
    """A checkpoint under, or at, a file is refused with the path."""
    write_batches(tmp_path / "s", ROWS, 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=rf"{tmp_path}/{place_}"):
        drained(spark, tmp_path / place_, stream_sql("s", tmp_path / "s") + Q)


def test_a_lost_result_file(spark: Any, tmp_path: Path) -> None:
    """A result file somebody deleted: reading says which one; nothing else is touched."""
    write_batches(tmp_path / "s", ROWS, 2)
    run = drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q)
    lost = next((tmp_path / "ck" / "results" / "q").iterdir())
    lost.unlink()
    with pytest.raises(CheckpointError, match=rf"results/q/{lost.name} is missing"):
        run.results("q").arrow()


def test_a_lost_segment(spark: Any, tmp_path: Path) -> None:
    """State somebody deleted: the next batch says so and commits nothing."""
    write_batches(tmp_path / "s", ROWS, 2)
    script = stream_sql("s", tmp_path / "s") + Q
    drained(spark, tmp_path / "ck", script)
    for segment in (tmp_path / "ck" / "segments").rglob("*.arrow"):
        segment.unlink()
    write(tmp_path / "s", events(50, start=400), 5)
    run = session(spark, tmp_path / "ck", script).start(available_now=True)
    with pytest.raises(CheckpointError, match=r"batch 3: .*segments/.* is missing") as error:
        run.wait()
    clean(error)
    assert ManifestLog(Store.open(tmp_path / "ck")).latest().version == 2  # type: ignore[union-attr]


def test_an_empty_file(spark: Any, tmp_path: Path) -> None:
    """An empty file among the sources has no rows and does no harm."""
    (tmp_path / "s").mkdir()
    pq.write_table(EVENTS.empty_table(), tmp_path / "s" / "00000.parquet")
    write(tmp_path / "s", ROWS, 1)
    run = drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q, flush=True)
    assert sum(run.results("q").arrow().column("n").to_pylist()) == 200
