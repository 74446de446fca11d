"""Which version of a table a batch uses, and what becomes of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.errors import CheckpointError, OptionError, SourceError
from headrace.state import collect_garbage
from headrace.testing import LocalRun

HOUR = 3_600_000_000
STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';"
TABLE = "CREATE TABLE t (k STRING, name STRING) FROM 'memory' REFRESH EVERY 1 HOUR;"
QUERY = "CREATE QUERY q AS SELECT s.ts, t.name FROM s JOIN t ON s.k = t.k;"


class World:
    """A table that changes, a clock, and runs on one checkpoint."""

    def __init__(self, path: Path) -> None:
        self.rows: list[tuple[Any, ...]] = [("a", "one")]
        self.clock, self.read, self.path = 1000 * HOUR, 0, str(path)

    def look(self) -> list[tuple[Any, ...]]:
        self.read += 1
        return self.rows

    def start(self, script: str = STREAM + TABLE + QUERY) -> LocalRun:
        return LocalRun(script, path=self.path, clock=lambda: self.clock, tables={"t": self.look})


def test_a_table_is_read_again_when_its_time_has_come(tmp_path: Path) -> None:
    """It is read at the start and at the first batch an hour after; a batch between uses the old version."""
    world = World(tmp_path / "c")
    run = world.start()
    world.rows = [("a", "two")]
    world.clock += HOUR - 1
    run.push(s=[(1, "a")])
    assert (run.rows("q"), world.read) == ([(1, "one")], 1)
    world.clock += 1
    run.push(s=[(2, "a")])
    assert (run.rows("q"), world.read) == ([(1, "one"), (2, "two")], 2)
    assert run.manifest.tables["t"].read_at == world.clock


def test_rows_that_have_not_changed_make_no_new_file(tmp_path: Path) -> None:
    """A refresh, or a new start, that brings the same rows goes on with the same file."""
    world = World(tmp_path / "c")
    run = world.start()
    first = run.push(s=[(1, "a")]).tables["t"]
    world.clock += HOUR
    second = run.push(s=[(2, "a")]).tables["t"]
    assert (second.path, second.read_at) == (first.path, world.clock)
    run.close()
    assert world.start().push(s=[(3, "a")]).tables["t"].path == first.path
    assert world.read == 3


def test_old_versions_are_deleted_when_two_manifests_do_not_name_them(tmp_path: Path) -> None:
    """The version of the last batch but one is kept, to go back to; older ones go."""
    world = World(tmp_path / "c")
    run = world.start()
    paths = []
    for i in range(4):
        world.rows, world.clock = [("a", f"name {i}")], world.clock + HOUR * (i > 0)
        paths.append(run.push(s=[(i, "a")]).tables["t"].path)
    assert run.store.list("tables") == paths[-2:]


def test_a_batch_that_was_not_committed_is_done_with_the_table_of_its_last_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash before the manifest leaves no result of the version it used, and its file is garbage."""
    world = World(tmp_path / "c")
    run = world.start()
    run.push(s=[(1, "a")])
    world.rows, world.clock = [("a", "lost")], world.clock + HOUR
    monkeypatch.setattr(run.driver.log, "publish", lambda manifest: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run.push(s=[(2, "a")])
    run.close()
    world.rows = [("a", "found")]
    run = world.start()
    run.push(s=[(2, "a")])
    assert run.rows("q") == [(1, "one"), (2, "found")]
    run.push(s=[(3, "a")])
    collect_garbage(run.store, run.log, -10.0)
    assert run.store.list("tables") == [run.manifest.tables["t"].path]


def test_a_table_whose_columns_change_their_types_is_refused(tmp_path: Path) -> None:
    """Results of before and of now would not fit together; a new column, or another table, does no harm."""
    world = World(tmp_path / "c")
    run = world.start()
    run.push(s=[(1, "a")])
    run.close()
    with pytest.raises(CheckpointError, match="column name of table t was STRING and is INT"):
        world.start(STREAM + TABLE.replace("name STRING", "name INT") + QUERY)
    world.rows = [("a", "one", 1)]
    more = TABLE.replace("name STRING", "name STRING, size INT") + TABLE.replace("TABLE t", "TABLE other")
    assert world.start(STREAM + more + QUERY).push(s=[(2, "a")]).version == 2


def test_a_query_on_a_table_may_be_removed_with_it(tmp_path: Path) -> None:
    """The checkpoint still knows the query; nobody reads the table any more."""
    world = World(tmp_path / "c")
    both = QUERY + "CREATE QUERY n AS SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k;"
    run = world.start(STREAM + TABLE + both)
    run.push(s=[(1, "a")])
    run.close()
    run = world.start(STREAM + both.removeprefix(QUERY))
    assert run.push(s=[(2, "a")]).tables == {}
    assert (run.rows("q"), world.read) == ([(1, "one")], 1)


def test_a_table_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    """The message names the table and what went wrong; in a test without rows, what to give."""
    world = World(tmp_path / "c")
    with pytest.raises(OptionError, match="table t: give its rows"):
        LocalRun(STREAM + TABLE + QUERY)

    def fail() -> list[tuple[Any, ...]]:
        raise RuntimeError("the disk is on fire")

    with pytest.raises(SourceError, match="table t cannot be read: the disk is on fire"):
        LocalRun(STREAM + TABLE + QUERY, path=world.path, tables={"t": fail})
