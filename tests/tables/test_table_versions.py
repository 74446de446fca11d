"""Which version of a table a batch uses, and what becomes of the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import CheckpointError, OptionError, SourceError
from headrace.kernels import divide_table
from headrace.optimizer.explain_plan import explain_plan
from headrace.program.limits import Limits
from headrace.state import TableFile, TableVersion, collect_garbage
from headrace.state.arrow_blocks import forget_checks
from headrace.state.sealed_lines import decode_line, open_lines, seal_lines
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
    assert (second.paths, second.read_at) == (first.paths, world.clock)
    run.close()
    assert world.start().push(s=[(3, "a")]).tables["t"].paths == first.paths
    assert world.read == 3


def test_a_damaged_file_is_written_anew(tmp_path: Path) -> None:
    """A lookup that meets it says what to do, and a new start does it: the same rows in another file."""
    world = World(tmp_path / "c")
    run = world.start()
    (path,) = run.push(s=[(1, "a")]).tables["t"].paths
    content = bytearray(run.store.read(path))
    content[len(content) // 3] ^= 1
    run.store.write(path, bytes(content))
    forget_checks()
    with pytest.raises(CheckpointError, match="is not the table it was .*start again: the table is then read anew"):
        run.push(s=[(2, "a")])
    run.close()
    again = world.start()
    assert again.push(s=[(2, "a")]).tables["t"].paths != [path]
    assert again.rows("q") == [(1, "one"), (2, "one")]


def test_old_versions_are_deleted_when_two_manifests_do_not_name_them(tmp_path: Path) -> None:
    """The version of the last batch but one is kept, to go back to; older ones go."""
    world = World(tmp_path / "c")
    run = world.start()
    paths: list[str] = []
    for i in range(4):
        world.rows, world.clock = [("a", f"name {i}")], world.clock + HOUR * (i > 0)
        paths += run.push(s=[(i, "a")]).tables["t"].paths
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
    assert run.store.list("tables") == run.manifest.tables["t"].paths


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


def list_files(run: LocalRun) -> list[str]:
    return run.store.list("tables")


def test_a_table_over_the_limit_is_divided_and_one_under_it_is_not(tmp_path: Path) -> None:
    """Refreshes cross the limit in both directions; what no manifest needs goes, and the report says which way it was."""
    world, ways, small = World(tmp_path / "c"), [], [("a", "one")]
    large = [(f"key{i}", f"name {i}") for i in range(300)] + small
    run = LocalRun(
        STREAM + TABLE + QUERY, path=world.path, clock=lambda: world.clock, tables={"t": world.look}, limits=Limits(broadcast_bytes=5000, piece_bytes=1000)
    )
    for i, rows in enumerate([small, large, small, large, large]):
        world.rows, world.clock = rows, world.clock + HOUR
        version = run.push(s=[(i, "a"), (i, "key7")]).tables["t"]
        ways.append((version.divided, version.rows, len(version.files) > 1))
        said = run.manifest.report["static_tables"]["t"]
        assert (said["divided"], said["rows"], said["bytes"]) == (version.divided, version.rows, version.bytes)
    assert ways == [(False, 1, False), (True, 301, True), (False, 1, False), (True, 301, True), (True, 301, True)]
    assert run.rows("q") == sorted([*((i, "one") for i in range(5)), (1, "name 7"), (3, "name 7"), (4, "name 7")])
    assert set(list_files(run)) == set(run.manifest.tables["t"].paths)  # the last two batches used the same files


def test_a_query_with_other_keys_has_its_own_copy_at_the_next_start(tmp_path: Path) -> None:
    """The rows are the same, but not what they are divided by; a start with the same keys goes on with the same files."""
    world = World(tmp_path / "c")
    world.rows = [("a", "one"), ("b", "a")]
    script = STREAM + TABLE + QUERY

    def start(script: str) -> LocalRun:
        return LocalRun(script, path=world.path, clock=lambda: world.clock, tables={"t": world.look}, limits=Limits(broadcast_bytes=0))

    run = start(script)
    first = run.push(s=[(1, "a")]).tables["t"].paths
    run.close()
    run = start(script)
    assert run.push(s=[(2, "a")]).tables["t"].paths == first
    run.close()
    run = start(script + "CREATE QUERY p AS SELECT s.ts, t.k FROM s JOIN t ON s.k = t.name;")
    version = run.push(s=[(3, "a")]).tables["t"]
    assert len({file.copy for file in version.files}) == 2
    assert (run.rows("q"), run.rows("p")) == ([(i, "one") for i in (1, 2, 3)], [(3, "b")])
    run.close()


def test_a_lookup_without_keys_in_a_large_table_is_answered_with_a_note(tmp_path: Path) -> None:
    """Every slot reads all of it; who reads the report is told so."""
    tables = {"t": [("a", "one"), ("b", "two"), (None, "three")]}
    script = STREAM + TABLE + QUERY + "CREATE QUERY p AS SELECT s.ts, t.name FROM s LEFT JOIN t ON s.k < t.k;"
    run = LocalRun(script, tables=tables, limits=Limits(broadcast_bytes=0))
    run.push(s=[(1, "a"), (2, "b")])
    assert (run.rows("q"), run.rows("p")) == ([(1, "one"), (2, "two")], [(1, "two"), (2, None)])
    (note,) = run.manifest.report["notes"]
    assert "looks it up without equal keys" in note
    assert LocalRun(script, tables=tables).push(s=[(1, "a")]).report["notes"] == []


@pytest.mark.parametrize("broken", ["write_sorted", "write_whole"])
def test_a_refresh_that_dies_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Whether pieces or divided files were being written: nothing is committed, and what was written is garbage."""
    world = World(tmp_path / "c")
    world.rows = [(k, f"old {k}") for k in "abcdef"]

    def start() -> LocalRun:
        return LocalRun(
            STREAM + TABLE + QUERY, path=world.path, clock=lambda: world.clock, tables={"t": world.look}, limits=Limits(broadcast_bytes=0, piece_bytes=10)
        )

    run = start()
    run.push(s=[(1, "a")])
    kept = set(run.manifest.tables["t"].paths)
    whole, written = getattr(divide_table, broken), []

    def die(*given: Any) -> Any:
        if written:
            raise KeyboardInterrupt
        written.append(given)
        return whole(*given)

    monkeypatch.setattr(divide_table, broken, die)
    world.rows, world.clock = [(k, f"new {k}") for k in "abcdef"], world.clock + HOUR
    with pytest.raises(KeyboardInterrupt):
        run.push(s=[(2, "a")])
    run.close()
    assert set(list_files(run)) > kept
    monkeypatch.undo()
    run = start()
    run.push(s=[(2, "a")])
    run.push(s=[(3, "f")])
    assert run.rows("q") == [(1, "old a"), (2, "new a"), (3, "new f")]
    collect_garbage(run.store, run.log, -10.0)
    assert set(list_files(run)) == set(run.manifest.tables["t"].paths)


def test_a_version_survives_json() -> None:
    """With its files and their checksums."""
    version = TableVersion((TableFile("tables/t/1.arrow", "c", 1, 2, 3, 4, 5),), 7, "d", 1, 2, True)
    assert decode_line(open_lines(seal_lines(version), 1)[0], TableVersion) == version


def test_explain_says_by_which_keys_a_table_would_be_divided() -> None:
    """By each set of keys it is looked up by; what is looked up without keys is never divided."""
    more = "CREATE QUERY p AS SELECT t.k FROM s JOIN t ON s.k = t.name; CREATE QUERY o AS SELECT t.k FROM s JOIN t ON s.k < t.k;"
    run = LocalRun(STREAM + TABLE + QUERY + more, tables={"t": []})
    (line,) = (line for line in explain_plan(run.plan).splitlines() if line.startswith("table t"))
    assert line == (
        "table t: 2 columns; read by Spark at the start, and again every 1 h; broadcast to every slot, or divided by (k) and "
        "(name) if it is large, and all of it read by lookups without equal keys"
    )
    assert json.loads(explain_plan(run.plan, "json"))["static_tables"]["t"]["keys"] == ["k", "name", ""]
    alone = LocalRun(STREAM + TABLE + "CREATE QUERY o AS SELECT t.k FROM s JOIN t ON s.k < t.k;", tables={"t": []})
    assert "every 1 h; broadcast to every slot\n" in explain_plan(alone.plan)
