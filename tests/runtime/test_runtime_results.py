"""What a run gives back: results in three shapes, the late table, progress, user-defined aggregates, sinks."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import OptionError, SinkError, SqlError
from headrace.sinks.sinks import SparkWriter
from headrace.state import ManifestLog, Store
from spark_kit import at, drained, events, multiset, same, session, stream_sql, write, write_batches

Q = "CREATE QUERY q AS SELECT k, count(*) AS n, sum(price) AS sp FROM s [RANGE 1 MINUTE] GROUP BY k;"
BLANK = events(1)[0]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events") / "s"
    write_batches(folder, events(240, seconds=400), 4)
    return folder


def test_three_shapes(spark: Any, source: Path, tmp_path: Path) -> None:
    """Results are the same rows and types as Arrow, pandas and Spark; a session on the checkpoint reads them without a run."""
    run = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q)
    arrow = run.results("q").arrow()
    assert arrow.schema.field("window_start").type == pa.timestamp("us", "UTC")
    assert arrow.schema.field("sp").type == pa.decimal128(20, 2)
    frame = run.results("q").pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["k", "n", "sp", "window_start", "window_end"]
    assert len(frame) == arrow.num_rows > 0
    same(run.results("q").spark().toArrow(), arrow)
    later = hr.Session(spark, checkpoint=tmp_path / "ck")
    same(later.results("q").arrow(), arrow)
    with pytest.raises(OptionError, match="there is no query 'qq'"):
        run.results("qq")
    with pytest.raises(OptionError, match="has no query 'qq'"):
        later.results("qq")


def test_no_results_yet(spark: Any, tmp_path: Path) -> None:
    """A query that has answered nothing has an empty table of the right columns, and a run without rows no progress."""
    (tmp_path / "s").mkdir()
    run = drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q, flush=True)
    assert run.results("q").arrow().column_names == ["k", "n", "sp", "window_start", "window_end"]
    assert run.results("q").spark().count() == run.late("s").arrow().num_rows == 0
    assert run.progress() is None


def test_progress_tells_what_a_batch_did(spark: Any, source: Path, tmp_path: Path) -> None:
    """Rows, watermarks, results, state: each batch's report adds up to what was committed, and is in its manifest."""
    seen = []
    run = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q, on_batch=seen.append)
    assert seen == list(run.reports)
    assert run.progress() == seen[-1]
    assert [r.rows for r in seen] == [60] * 4
    assert sum(r.queries["q"].results for r in seen) == run.results("q").arrow().num_rows
    last = seen[-1]
    stream = last.streams["s"]
    assert stream.low_watermark == stream.max_value - 30_000_000
    assert (stream.late, stream.rejected, last.slots) == (0, 0, 2)
    assert last.state_rows > 0
    assert last.state_bytes > 0
    assert last.segments > 0
    assert last.open_windows >= 1
    assert last.seconds >= last.phases["job"] > 0
    manifests = list(ManifestLog(Store.open(tmp_path / "ck")).since(0))
    assert [m.report for m in manifests] == [r.to_json() for r in seen]


def test_late_and_unusable_rows(spark: Any, tmp_path: Path) -> None:
    """A row that missed a window, one without a time and one from the year 9999 are kept with the reason, as they came."""

    def row(ts: datetime | None, k: str) -> dict[str, Any]:
        return {**BLANK, "ts": ts, "k": k, "price": Decimal("1.50")}

    far = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    write(tmp_path / "s", [row(at(10), "a"), row(None, "none"), row(at(200), "a"), row(far, "far")], 0)
    write(
        tmp_path / "s",
        [row(at(15), "late"), row(at(165), "in time"), row(datetime(1970, 1, 1, tzinfo=UTC), "old")],
        1,
    )
    write(tmp_path / "s", [row(at(500), "a")], 2)
    run = drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q, flush=True)
    kept = run.late("s").arrow()
    assert Counter(zip(kept.column("k").to_pylist(), kept.column("_reason").to_pylist(), strict=True)) == {
        ("none", "null"): 1,
        ("far", "implausible"): 1,
        ("late", "late"): 1,
        ("old", "late"): 1,
    }
    assert kept.schema.remove(kept.schema.get_field_index("_reason")).types == [
        pa.timestamp("us", "UTC"), pa.string(), pa.int32(), pa.decimal128(10, 2), pa.date32(), pa.float64(), pa.bool_()
    ]  # fmt: skip
    assert {r["k"]: r["ts"] for r in kept.to_pylist()}["far"] == far
    assert {r["price"] for r in kept.to_pylist()} == {Decimal("1.50")}
    counted = Counter({r["k"]: r["n"] for r in run.results("q").arrow().to_pylist() if r["k"] != "a"})
    assert counted == {"in time": 1}
    assert sum(r["n"] for r in run.results("q").arrow().to_pylist()) == 4
    assert [(r.streams["s"].late, r.streams["s"].rejected) for r in run.reports] == [
        (0, 2),
        (2, 0),
        (0, 0),
        (0, 0),
    ]
    same(run.late("s").spark().toArrow(), kept)
    with pytest.raises(OptionError, match="there is no stream 'q'"):
        run.late("q")


def test_1970_in_the_first_batch(spark: Any, tmp_path: Path) -> None:
    """A row of 1970 among the first is in a window of its own and holds nothing up."""
    rows = [
        {**BLANK, "ts": t, "k": "a"} for t in (datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), at(10), at(100))
    ]
    write(tmp_path / "s", rows)
    script = (
        stream_sql("s", tmp_path / "s")
        + "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 MINUTES SLIDE 1 MINUTE];"
    )
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert sum(run.results("q").arrow().column("n").to_pylist()) == 30
    assert run.late("s").arrow().num_rows == 0


# -- user-defined aggregates ---------------------------------------------------------------------------------------
def test_user_defined_aggregate(spark: Any, source: Path, tmp_path: Path) -> None:
    """A geometric mean in Python, as a sub/super pair over sliding windows, next to built-in aggregates and in HAVING."""
    one = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2).sql(stream_sql("s", source))
    one.aggregate("sum_of_squares", sub=lambda values: sum(v * v for v in values if v is not None), super=sum)
    one.aggregate(
        "spread",
        sub=lambda values: (
            [min(v for v in values if v is not None), max(v for v in values if v is not None)]
            if any(v is not None for v in values)
            else None
        ),
        super=lambda states: (
            [min(s[0] for s in states if s), max(s[1] for s in states if s)] if any(states) else None
        ),
        final=lambda state: state[1] - state[0],
        argument="INTEGER",
        state="INTEGER[]",
        returns="INTEGER",
    )
    one.query(
        "q",
        "SELECT k, sum_of_squares(v) AS ss, sum(v * v) AS check_, spread(v) AS sp, max(v) - min(v) AS check_sp "
        "FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY k HAVING sum_of_squares(v) > 100",
    )
    one.query("over", "SELECT max(ss) AS top, sum_of_squares(ss) AS again FROM q")
    run = one.start(available_now=True, flush=True)
    run.wait()
    rows = run.results("q").arrow().to_pylist()
    assert len(rows) > 20
    assert all(r["ss"] == r["check_"] and r["sp"] == r["check_sp"] for r in rows)
    over = {r["window_end"]: r["again"] for r in run.results("over").arrow().to_pylist()}
    for end, again in over.items():
        assert again == pytest.approx(sum(r["ss"] ** 2 for r in rows if r["window_end"] == end))


def test_a_failing_aggregate_says_so(spark: Any, source: Path, tmp_path: Path) -> None:
    """An error inside of a user's function names the function, and the lock is free again."""
    one = hr.Session(spark, checkpoint=tmp_path / "ck", slots=1).sql(stream_sql("s", source))
    one.aggregate("broken", sub=lambda values: 1 / 0, super=sum)
    one.query("q", "SELECT broken(v) AS b FROM s [RANGE 1 MINUTE]")
    run = one.start(available_now=True)
    with pytest.raises(SqlError, match="aggregate broken: ZeroDivisionError: division by zero"):
        run.wait()
    again = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q)
    assert again.results("q").arrow().num_rows


# -- sinks ---------------------------------------------------------------------------------------------------------
def test_every_sink_gets_every_row_once(
    spark: Any, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Directories of three formats, the console, a callback and a Spark writer all get what was committed, with its batch id."""
    called: list[tuple[str, int, pa.Table]] = []
    written: list[tuple[int, str, int]] = []
    out = {kind: tmp_path / kind for kind in ("csv", "json", "parquet")}
    run = drained(
        spark,
        tmp_path / "ck",
        stream_sql("s", source)
        + Q
        + "CREATE QUERY pairs AS SELECT ts, array(v, 1) AS a, named_struct('k', k) AS o FROM s WHERE v > 30;",
        flush=True,
        sinks=[
            "console",
            *(f"{kind}:{path}" for kind, path in out.items()),
            lambda query, batch, table: called.append((query, batch, table)),
            SparkWriter(lambda frame, batch, query: written.append((batch, query, frame.count()))),
        ],
    )
    ours = run.results("q").arrow()
    same(pa.concat_tables(t for q, _, t in called if q == "q"), ours)
    assert sum(n for _, q, n in written if q == "q") == ours.num_rows
    assert {b for q, b, _ in called} == {r.batch_id for r in run.reports}
    files = sorted((out["parquet"] / "q").iterdir())
    assert [f.name for f in files] == [
        f"{b:012d}.parquet" for b in sorted({b for q, b, _ in called if q == "q"})
    ]
    same(pa.concat_tables(pq.read_table(f) for f in files), ours)
    lines = [json.loads(line) for f in (out["json"] / "q").iterdir() for line in f.read_text().splitlines()]
    assert Counter((r["k"], r["n"]) for r in lines) == Counter((r["k"], r["n"]) for r in ours.to_pylist())
    assert datetime.fromisoformat(lines[0]["window_start"]) in ours.column("window_start").to_pylist()
    read = [row for f in (out["csv"] / "q").iterdir() for row in csv.DictReader(f.open())]
    assert sum(int(r["n"]) for r in read) == sum(ours.column("n").to_pylist())
    nested = [
        json.loads(line) for f in (out["json"] / "pairs").iterdir() for line in f.read_text().splitlines()
    ]
    assert all(r["a"][1] == 1 and set(r["o"]) == {"k"} for r in nested)
    assert (
        len(nested) == sum(len(f.read_text().splitlines()) - 1 for f in (out["csv"] / "pairs").iterdir()) > 0
    )
    assert "q, batch 1" in capsys.readouterr().out


def test_sinks_catch_up_after_a_crash(spark: Any, source: Path, tmp_path: Path) -> None:
    """A sink that dies between commit and delivery stops the run; started again, it gets what it missed, nobody gets twice."""
    script = stream_sql("s", source) + Q
    first, second, fine = [], [], []

    def dies(query: str, batch: int, table: pa.Table) -> None:
        if batch == 1:
            raise ConnectionError("the other side is gone")
        first.append((batch, multiset(table)))

    def counts(query: str, batch: int, table: pa.Table) -> None:
        fine.append((batch, multiset(table)))

    one = session(spark, tmp_path / "ck", script).start(available_now=True, sinks=[counts, dies])
    with pytest.raises(
        SinkError,
        match=r"(?s)batch 1: sink callback#2 failed: ConnectionError: the other side is gone.*committed",
    ):
        one.wait()
    assert one.results("q").arrow().num_rows
    run = drained(
        spark, tmp_path / "ck", script, sinks=[counts, lambda q, b, t: second.append((b, multiset(t)))]
    )
    assert first == []
    assert fine == second
    assert [b for b, _ in second] == sorted({b for b, _ in second})
    assert sum((c for _, c in second), Counter()) == multiset(run.results("q").arrow())


def test_a_new_directory_gets_everything(spark: Any, source: Path, tmp_path: Path) -> None:
    """A directory given to a checkpoint with a past gets the past too; a new callback only hears what comes."""
    script = stream_sql("s", source) + Q
    drained(spark, tmp_path / "ck", script)
    heard: list[int] = []
    run = drained(
        spark,
        tmp_path / "ck",
        script,
        flush=True,
        sinks=[f"parquet:{tmp_path / 'out'}", lambda q, b, t: heard.append(b)],
    )
    same(
        pa.concat_tables(pq.read_table(f) for f in (tmp_path / "out" / "q").iterdir()),
        run.results("q").arrow(),
    )
    assert heard == [5]


@pytest.mark.parametrize("sink", ["cvs:out", "csv", "csv:", 7])
def test_a_sink_nobody_knows(spark: Any, source: Path, tmp_path: Path, sink: Any) -> None:
    """What cannot be a sink is refused before anything runs, and the checkpoint is free."""
    with pytest.raises(OptionError, match=r"sink: expected"):
        drained(spark, tmp_path / "ck", stream_sql("s", source) + Q, sinks=[sink])
    assert not (tmp_path / "ck" / "spark").exists()


def test_on_batch_may_fail(spark: Any, source: Path, tmp_path: Path) -> None:
    """A failing on_batch stops the run after its batch was committed; the next run goes on from there."""

    def fails(report: Any) -> None:
        raise KeyError("nobody")

    run = session(spark, tmp_path / "ck", stream_sql("s", source) + Q).start(
        available_now=True, on_batch=fails
    )
    with pytest.raises(SinkError, match="batch 1: on_batch failed: KeyError: 'nobody'"):
        run.wait()
    again = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q)
    assert [r.batch_id for r in again.reports] == [2, 3, 4]
