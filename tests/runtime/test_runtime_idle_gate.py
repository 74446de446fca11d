"""Spark is kept from listing folders in which nothing has changed, and misses nothing."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.program.limits import SHIPPED, Limits
from headrace.runtime.idle_gate import FolderTimes, is_settled
from spark_kit import at, session, stream_sql, write

QUERY = "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 DAY];"


def test_what_changes_a_state(tmp_path: Path) -> None:
    """A file that comes, goes or is renamed, at any depth, and a new folder; not what is written into a file."""
    watch, deep = FolderTimes([str(tmp_path)]), tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    states = [watch.read()]

    def differs() -> bool:
        states.append(watch.read())
        for folder in (tmp_path, tmp_path / "a", deep):
            os.utime(folder, (1, 1))  # so that the next change shows whatever the grain of times
        watch.read()
        return states[-1] != states[-2]

    differs()
    for change in (
        lambda: (deep / "x").write_text("1"),
        lambda: (deep / "x").rename(deep / "y"),
        lambda: (deep / "y").unlink(),
        lambda: (tmp_path / "new").mkdir(),
        lambda: (tmp_path / "new" / "z").write_text("1"),
    ):
        before = watch.read()
        change()
        assert watch.read() != before
        differs()
    before = watch.read()
    (tmp_path / "new" / "z").write_text("longer than before")
    assert watch.read() == before
    assert FolderTimes([str(tmp_path / "absent")]).read() is None


def test_too_many_folders_are_not_watched(tmp_path: Path) -> None:
    """Then Spark looks as it always did."""
    for i in range(3):
        (tmp_path / str(i)).mkdir()
    assert FolderTimes([str(tmp_path)], 3).read() is None
    (tmp_path / "2").rmdir()
    state = FolderTimes([str(tmp_path)], 3).read()
    assert state is not None and len(state) == 3


def test_a_change_of_just_now_is_not_trusted() -> None:
    """Another within the grain of times would not show; nor is a time that is still to come."""
    state = (("a", int(100e9), 1), ("b", int(107e9), 2))
    assert [is_settled(state, now, SHIPPED.folder_grain) for now in (100.0, 109.9, 110.1)] == [False, False, True]


def until(what: Any, seconds: float = 20) -> float:
    started = time.monotonic()
    while not what():
        assert time.monotonic() < started + seconds
        time.sleep(0.01)
    return time.monotonic() - started


def test_files_come_while_spark_is_held(spark: Any, tmp_path: Path) -> None:
    """Files at any moment, also in new folders, are each read once and soon; a stop does not wait for the gate."""
    soon = Limits(folder_grain=0.05, quiet=0.2)
    write(tmp_path / "s", [{"ts": at(0)}], 0)
    text = stream_sql("s", tmp_path / "s", maxFilesPerTrigger=None, recursiveFileLookup="true") + QUERY
    run = session(spark, tmp_path / "ck", text, limits=soon).start(flush=True)
    rows = lambda: sum(r.rows for r in run.reports)  # noqa: E731
    until(lambda: rows() == 1)
    assert run._gate is not None
    lock = run._query._jsq.streamingQuery().awaitProgressLock()
    rng, before = random.Random(3), 0
    for number in range(1, 5):
        if number % 2:  # held for certain; else at any moment
            until(lambda: run._gate.held > before and lock.isLocked())  # noqa: B023
        else:
            time.sleep(rng.random())
        before = run._gate.held
        write(tmp_path / "s" / f"{number // 3}", [{"ts": at(number)}], number)
        until(lambda: rows() == number + 1)  # noqa: B023
    until(lambda: run._gate.held > before and lock.isLocked())
    time.sleep(0.3)
    assert lock.hasQueuedThreads()
    started = time.monotonic()
    run.stop()
    assert time.monotonic() - started < 5
    assert run.results("q").arrow().column("n").to_pylist() == [5]


def test_a_query_that_somebody_else_stops(spark: Any, tmp_path: Path) -> None:
    """Whoever stops Spark's query while it is held gets through."""
    soon = Limits(folder_grain=0.0, quiet=0.2)
    write(tmp_path / "s", [{"ts": at(0)}], 0)
    run = session(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + QUERY, limits=soon).start()
    until(lambda: run._gate is not None and run._gate.held > 0)
    run._query.stop()
    assert run.wait(10)


@pytest.mark.parametrize(
    ("stream", "options"),
    [("SLACK 1 SECOND IDLE AFTER 10 SECONDS", {}), ("SLACK 1 SECOND", {"trigger": "2 seconds"}), ("SLACK 1 SECOND", {"available_now": True})],
)  # fmt: skip
def test_runs_that_are_not_held(spark: Any, tmp_path: Path, stream: str, options: dict[str, Any]) -> None:
    """Where silence has a meaning Spark looks itself; a run that waits by a trigger, or ends, costs little anyway."""
    write(tmp_path / "s", [{"ts": at(0)}], 0)
    run = session(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s", slack=stream) + QUERY).start(**options)
    try:
        assert run._gate is None
    finally:
        run.stop()
