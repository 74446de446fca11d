"""What a checkpoint belongs to, what may change about it, and what happens when parts of it are lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from batch_sql import batch_results
from headrace.errors import CheckpointError
from headrace.program.limits import Limits
from headrace.state import CheckpointLock, ManifestLog, Retention, Store, collect_garbage
from spark_kit import drained, events, multiset, same, session, stream_sql, tables, write, write_batches

Q = "CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 1 MINUTE] GROUP BY k;\n"
SLIDING = "CREATE QUERY slid AS SELECT k, count(*) AS n FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY k;\n"
OVER = "CREATE QUERY over_ AS SELECT sum(n) AS n, count(*) AS ks FROM q;\n"
WIDE = "CREATE QUERY wide AS SELECT k, sum(n) AS n FROM q [RANGE 3 MINUTES] GROUP BY k;\n"
RAW = "CREATE QUERY raw AS SELECT ts, v FROM s WHERE v > 0;\n"
ROWS = events(300, seconds=600, disorder=15)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_batches(tmp_path / "s", ROWS[:150], 3)
    return tmp_path / "s"


def more(source: Path) -> None:
    """Three more batches."""
    for number in range(3):
        write(source, ROWS[150 + number * 50 : 200 + number * 50], 3 + number)


def whole(spark: Any, tmp_path: Path, source: Path, queries: str, slots: int = 2) -> dict[str, Any]:
    """The results of an undisturbed run over all that is there."""
    return tables(drained(spark, tmp_path / "whole", stream_sql("s", source) + queries, slots, flush=True))


# -- another set ---------------------------------------------------------------------------------------------------
REFUSED = {
    "another set": (
        lambda s: s.replace("QUERY q ", "QUERY p "),
        r"belongs to another query set: it has q, this one has p\. Use a new checkpoint",
    ),
    "another text": (
        lambda s: s.replace("sum(v)", "max(v)"),
        r"(?s)query q has changed\.\n  before: .*sum\(v\).*\n  now:    .*max\(v\).*another name, or use a new checkpoint",
    ),
    "another window": (
        lambda s: s.replace("1 MINUTE]", "2 MINUTES]"),
        r"(?s)query q has changed.*1 MINUTE.*2 MINUTES",
    ),
    "another stream": (
        lambda s: s.replace("STREAM s ", "STREAM r ").replace("FROM s ", "FROM r "),
        r"belongs to other streams: stream s is gone; stream r is new\. Use a new checkpoint",
    ),
    "another column": (
        lambda s: s.replace("v INT,", "v BIGINT,").replace("x DOUBLE, ", "y FLOAT, "),
        r"column s.x is gone; column s.y is new; column s.v was INT and is BIGINT",
    ),
    "another attribute": (
        lambda s: s.replace("ON ts SLACK", "ON day SLACK"),
        r"s was PROGRESSING ON ts and is on day",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_continued(spark: Any, tmp_path: Path, source: Path, case: str) -> None:
    """The message says exactly what differs; the checkpoint is untouched, and its own set goes on with it."""
    change, said = REFUSED[case]
    script = stream_sql("s", source) + Q
    first = drained(spark, tmp_path / "ck", script)
    before = {p: p.read_bytes() for p in (tmp_path / "ck").rglob("*") if p.is_file() and p.name != "lock"}
    with pytest.raises(CheckpointError, match=said) as error:
        drained(spark, tmp_path / "ck", change(script))
    assert str(tmp_path / "ck") in str(error.value)
    assert {p: p.read_bytes() for p in before} == before
    again = drained(spark, tmp_path / "ck", script)
    same(again.results("q").arrow(), first.results("q").arrow())


def test_another_time_zone(spark: Any, tmp_path: Path, source: Path) -> None:
    """Half a window's days in one time zone and half in another would be wrong: refused."""
    script = stream_sql("s", source) + Q
    drained(spark, tmp_path / "ck", script)
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with pytest.raises(
        CheckpointError,
        match=r"time zone UTC, this session has Asia/Tokyo.*Set spark.sql.session.timeZone to UTC",
    ):
        drained(other, tmp_path / "ck", script)


def test_spaces_comments_and_order_do_not_matter(spark: Any, tmp_path: Path, source: Path) -> None:
    """Another layout of the same text, and streams and queries in another order, are the same set."""
    write_batches(tmp_path / "r", ROWS[:60], 3)
    r = stream_sql("r", tmp_path / "r")
    other = "CREATE QUERY p AS SELECT count(*) AS n FROM r [RANGE 1 MINUTE];\n"
    drained(spark, tmp_path / "ck", stream_sql("s", source) + r + Q + other)
    more(source)
    write(tmp_path / "r", ROWS[60:], 7)
    shuffled = r + stream_sql("s", source) + other + Q.replace("SELECT k,", "SELECT  -- the key\n k,")
    again = drained(spark, tmp_path / "ck", shuffled, flush=True)
    assert tables(again, "q", "p") == tables(
        drained(spark, tmp_path / "whole", stream_sql("s", source) + r + Q + other, flush=True), "q", "p"
    )


def test_a_checkpoint_where_nothing_was_committed(spark: Any, tmp_path: Path, source: Path) -> None:
    """A run that failed before its first commit binds nobody: another set takes the checkpoint over."""
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "0.parquet").write_bytes(b"no")
    with pytest.raises(hr.errors.SourceError):
        drained(spark, tmp_path / "ck", stream_sql("r", bad) + Q.replace("FROM s", "FROM r"))
    run = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q, flush=True)
    assert sum(run.results("q").arrow().column("n").to_pylist()) == 150


# -- adding and removing queries -----------------------------------------------------------------------------------
def test_adding_queries(spark: Any, tmp_path: Path, source: Path) -> None:
    """New queries answer from the first window that begins after what was read, each answer complete; the old go on exactly.

    A query over an old query in its windows answers at once, as those windows are complete; a stateless one from the next row.
    """
    first = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q)
    seen = first.progress().streams["s"].max_value  # type: ignore[union-attr]
    more(source)
    script = stream_sql("s", source) + SLIDING + Q + OVER + WIDE + RAW
    run = drained(spark, tmp_path / "ck", script, flush=True)
    expected = batch_results(spark, script, {"s": spark.read.parquet(str(source))}, {"s": "ts", "raw": "ts"})
    same(run.results("q").arrow(), expected["q"])

    def after(name: str, column: str, bound: int) -> Any:
        table = expected[name].select(run.results(name).arrow().column_names)
        return {row: n for row, n in multiset(table).items() if row[table.column_names.index(column)] > bound}

    for name in ("slid", "wide"):
        assert multiset(run.results(name).arrow()) == after(name, "window_start", seen) != {}
    low_watermark = first.progress().streams["s"].low_watermark  # type: ignore[union-attr]
    assert multiset(run.results("over_").arrow()) == after("over_", "window_end", low_watermark) != {}
    added = (
        spark.read.parquet(*(str(source / f"{n:05d}.parquet") for n in (3, 4, 5)))
        .selectExpr("ts", "v")
        .where("v > 0")
    )
    same(run.results("raw").arrow(), added.toArrow())


def test_added_queries_survive_another_restart(spark: Any, tmp_path: Path, source: Path) -> None:
    """What a query was born with is kept: a restart in the middle changes none of its answers."""
    script = stream_sql("s", source) + Q + SLIDING
    for folder in ("once", "twice"):
        drained(spark, tmp_path / folder, stream_sql("s", source) + Q)
    write(source, ROWS[150:220], 3)
    drained(spark, tmp_path / "twice", script)
    write(source, ROWS[220:], 4)
    twice = drained(spark, tmp_path / "twice", script, flush=True)
    once = drained(spark, tmp_path / "once", script, flush=True)
    assert tables(twice) == tables(once)


def test_adding_to_a_flushed_checkpoint(spark: Any, tmp_path: Path, source: Path) -> None:
    """A flush has moved progress beyond the rows; a new query over an old one starts after it, with complete windows."""
    drained(spark, tmp_path / "ck", stream_sql("s", source) + Q, flush=True)
    for number in range(3):
        write(source, events(60, seconds=400, start=600 + 400 * number, seed=number), 3 + number)
    run = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q + WIDE, flush=True)
    expected: dict[Any, int] = {}
    for row in run.results("q").arrow().to_pylist():
        start = int(row["window_start"].timestamp()) // 180 * 180
        expected[row["k"], start] = expected.get((row["k"], start), 0) + row["n"]
    wide = run.results("wide").arrow().to_pylist()
    assert wide
    assert all(r["n"] == expected[r["k"], int(r["window_start"].timestamp())] for r in wide)


def test_a_landmark_cannot_be_added(spark: Any, tmp_path: Path, source: Path) -> None:
    """A landmark that has begun would never be complete: refused, with the ways out; with a RESET it is taken."""
    script = stream_sql("s", source) + Q
    drained(spark, tmp_path / "ck", script)
    landmark = "CREATE QUERY lm AS SELECT count(*) AS n FROM s [RANGE ALL SLIDE 1 MINUTE];"
    with pytest.raises(
        CheckpointError, match=r"landmark window \(RANGE ALL\).*ORIGIN after the rows read so far or a RESET"
    ):
        drained(spark, tmp_path / "ck", script + landmark)
    more(source)
    run = drained(
        spark, tmp_path / "ck", script + landmark.replace("MINUTE]", "MINUTE RESET 4 MINUTES]"), flush=True
    )
    assert run.results("lm").arrow().num_rows
    assert sum(run.results("q").arrow().column("n").to_pylist()) == 300


def test_removing_queries(spark: Any, tmp_path: Path, source: Path) -> None:
    """The others go on exactly, also those that shared state with it or read it; its results stay readable."""
    queries = Q + SLIDING + OVER
    first = drained(spark, tmp_path / "ck", stream_sql("s", source) + queries)
    slid = first.results("slid").arrow()
    more(source)
    run = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q + OVER, flush=True)
    expected = whole(spark, tmp_path, source, queries)
    assert tables(run, "q", "over_") == {n: expected[n] for n in ("q", "over_")}
    same(run.results("slid").arrow(), slid)
    same(hr.Session(spark, checkpoint=tmp_path / "ck").results("slid").arrow(), slid)
    with pytest.raises(
        CheckpointError, match="query slid was removed from this checkpoint before; add it under another name"
    ):
        drained(spark, tmp_path / "ck", stream_sql("s", source) + queries)


def test_replacing_a_query(spark: Any, tmp_path: Path, source: Path) -> None:
    """Removing one and adding another in one step works; what it reads cannot be removed from under a query."""
    drained(spark, tmp_path / "ck", stream_sql("s", source) + Q + OVER)
    more(source)
    with pytest.raises(hr.errors.SqlError, match="no stream or query 'q'"):
        session(spark, tmp_path / "ck", stream_sql("s", source) + OVER)
    run = drained(spark, tmp_path / "ck", stream_sql("s", source) + Q + SLIDING, flush=True)
    assert tables(run, "q") == {"q": whole(spark, tmp_path, source, Q)["q"]}
    assert run.results("slid").arrow().num_rows


# -- one run at a time ---------------------------------------------------------------------------------------------
def test_two_runs_on_one_checkpoint(spark: Any, tmp_path: Path, source: Path) -> None:
    """The second is told who has the checkpoint; the first is not disturbed, and the checkpoint is free when it ends."""
    script = stream_sql("s", source) + Q
    first = session(spark, tmp_path / "ck", script).start(trigger="100 milliseconds")
    with pytest.raises(
        CheckpointError,
        match=rf"checkpoint {tmp_path}/ck is in use by process {os.getpid()} on .* stop it, or use",
    ):
        session(spark, tmp_path / "ck", script).start(available_now=True)
    first.stop()
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert sum(run.results("q").arrow().column("n").to_pylist()) == 150


def test_a_failed_start_frees_the_checkpoint(spark: Any, tmp_path: Path, source: Path) -> None:
    """Whatever start refuses, the lock is given back and no Spark query is left."""
    with pytest.raises(hr.errors.HeadraceError):
        session(spark, tmp_path / "ck", stream_sql("s", source) + Q).start(trigger="every now and then")
    with CheckpointLock(Store.open(tmp_path / "ck")):
        assert not spark.streams.active


# -- parts that are lost -------------------------------------------------------------------------------------------
def test_dropped_commits_of_spark(spark: Any, tmp_path: Path, source: Path) -> None:
    """Without the last entry of Spark's commit log its batch is replayed, found committed, and nothing doubles."""
    script = stream_sql("s", source) + Q + RAW
    first = drained(spark, tmp_path / "ck", script)
    before = tables(first)
    drop(tmp_path / "ck" / "spark" / "commits", 2)
    replayed = drained(spark, tmp_path / "ck", script)
    assert not replayed.reports
    assert tables(replayed) == before
    drop(tmp_path / "ck" / "spark" / "commits", 2)
    more(source)
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert tables(run) == whole(spark, tmp_path, source, Q + RAW)


def drop(folder: Path, number: int) -> None:
    """The last entry of one of Spark's logs."""
    entries = sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())
    assert entries[-1] == number
    (folder / str(number)).unlink()
    (folder / f".{number}.crc").unlink(missing_ok=True)


def test_a_manifest_cut_short(spark: Any, tmp_path: Path, source: Path) -> None:
    """A damaged manifest is never guessed at: the message says what to do, and doing it loses and doubles nothing."""
    script = stream_sql("s", source) + Q + RAW
    drained(spark, tmp_path / "ck", script)
    last = tmp_path / "ck" / "manifests" / "000000000003.json"
    content = last.read_bytes()
    last.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        CheckpointError, match=r"manifests/000000000003.json is damaged: it is cut short.*you can delete it"
    ):
        drained(spark, tmp_path / "ck", script)
    last.unlink()
    more(source)
    with pytest.raises(
        CheckpointError, match="says that batch 2 is done, but the last batch committed here is 1"
    ):
        drained(spark, tmp_path / "ck", script)
    assert ManifestLog(Store.open(tmp_path / "ck")).latest().version == 2  # type: ignore[union-attr]
    commits = tmp_path / "ck" / "spark" / "commits"
    drop(commits, 2)
    offsets = tmp_path / "ck" / "spark" / "offsets"
    for number in sorted((int(p.name) for p in offsets.iterdir() if p.name.isdigit()), reverse=True):
        if number > 2:
            drop(offsets, number)
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert tables(run) == whole(spark, tmp_path, source, Q + RAW)


def test_a_lost_offset_log(spark: Any, tmp_path: Path, source: Path) -> None:
    """Without Spark's offsets it would begin again and be skipped: refused instead of losing rows."""
    import shutil

    script = stream_sql("s", source) + Q
    drained(spark, tmp_path / "ck", script)
    shutil.move(tmp_path / "ck" / "spark", tmp_path / "kept")
    with pytest.raises(
        CheckpointError,
        match=r"spark/offsets has no batch 2, the last one committed.*Restore the folder spark",
    ):
        drained(spark, tmp_path / "ck", script)
    shutil.move(tmp_path / "kept", tmp_path / "ck" / "spark")
    more(source)
    run = drained(spark, tmp_path / "ck", script, flush=True)
    assert tables(run) == whole(spark, tmp_path, source, Q)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_lost_plan(spark: Any, tmp_path: Path, source: Path, damage: str) -> None:
    """Without its plan a checkpoint is not continued by guessing."""
    script = stream_sql("s", source) + Q
    drained(spark, tmp_path / "ck", script)
    (plan,) = (tmp_path / "ck" / "epochs").iterdir()
    content = plan.read_text()
    assert json.loads(content)["queries"]["q"]["cohort"] == 0
    if damage == "cut":
        plan.write_text(content[:100])
    else:
        plan.unlink()
    with pytest.raises(
        CheckpointError, match=r"epochs/\S+ (cannot be read|is missing).*restore it, or use a new checkpoint"
    ):
        drained(spark, tmp_path / "ck", script)
    plan.write_text(content)
    drained(spark, tmp_path / "ck", script)


def test_garbage_is_never_read_and_collected(
    spark: Any, tmp_path: Path, source: Path
) -> None:
    """Files a dead attempt left are no results and no state; they go when they are old, and nothing else goes."""
    script = stream_sql("s", source) + Q
    drained(spark, tmp_path / "ck", script)
    store = Store.open(tmp_path / "ck")
    named = sorted(ManifestLog(store).named())
    left = []
    for path in named:
        folder, name = os.path.split(path)
        left.append(f"{folder}/000000000009-dead{len(left)}{os.path.splitext(name)[1]}")
        store.write(left[-1], store.read(path))
    store.write("late/s/000000000009-dead.parquet", b"half a fi")
    left.append("late/s/000000000009-dead.parquet")
    more(source)
    young = drained(spark, tmp_path / "ck", script, limits=Limits(compact_every=1))
    assert all(store.exists(path) for path in left)
    at_once = Limits(compact_every=1, compaction=Retention(grace=-1.0))
    run = drained(spark, tmp_path / "ck", script, flush=True, limits=at_once)
    assert not any(store.exists(path) for path in left)
    assert tables(run) == whole(spark, tmp_path, source, Q)
    assert young.driver.epoch.path == run.driver.epoch.path == run.manifest.epoch
    assert collect_garbage(store, ManifestLog(store), -1.0) == []


# -- another number of slots ---------------------------------------------------------------------------------------
def test_other_numbers_of_slots(spark: Any, tmp_path: Path, source: Path) -> None:
    """Two slots, then five, then one: state moves to its new owners, and the results are those of an undisturbed run."""
    queries = (
        Q
        + SLIDING
        + OVER
        + WIDE
        + RAW
        + "CREATE QUERY lm AS SELECT ok, sum(v) AS sv FROM s [RANGE ALL SLIDE 5 MINUTES] GROUP BY ok;"
    )
    script = stream_sql("s", source) + queries
    first = drained(spark, tmp_path / "ck", script, slots=2)
    write(source, ROWS[150:230], 3)
    second = drained(spark, tmp_path / "ck", script, slots=5)
    write(source, ROWS[230:], 4)
    third = drained(spark, tmp_path / "ck", script, slots=1, flush=True)
    assert [r.reports[-1].slots for r in (first, second, third)] == [2, 5, 1]
    assert tables(third) == whole(spark, tmp_path, source, queries, slots=3)
