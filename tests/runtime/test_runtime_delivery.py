"""What sinks get of versions that were compacted before they were given to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from headrace.cli import main
from headrace.coordinator import delivery
from headrace.coordinator.delivery import Delivery
from headrace.errors import CheckpointError, OptionError, SinkError
from headrace.program.limits import Limits
from headrace.sinks.sinks import Callback, Directory, make_sink
from headrace.state import Clock, Retention, Store, compact_checkpoint
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 0 SECONDS FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY raw AS SELECT ts, k FROM s WHERE k = 'a';
"""


@pytest.fixture
def run(tmp_path: Path) -> LocalRun:
    """A run that compacts after every second batch and deletes at once."""
    limits = Limits(compact_every=2, compaction=Retention(keep=3, step=2, fanout=2, grace=-1.0))
    return LocalRun(SCRIPT, path=str(tmp_path / "ck"), limits=limits)


def push(run: LocalRun, batches: int) -> None:
    for _ in range(batches):
        start = (run.manifest.version + 1) * 60_000_000
        run.push(s=[(start, "a"), (start + 1, "b"), (start + 2, "a")])


def hear(run: LocalRun, name: str) -> dict[tuple[str, int], list[Any]]:
    """What a sink that begins now, or goes on, is given."""
    heard: dict[tuple[str, int], list[Any]] = {}

    def take(query: str, version: int, table: pa.Table) -> None:
        assert (query, version) not in heard
        heard[query, version] = table.to_pylist()

    given = Delivery(run.store, run.log, [Callback(take, name)])
    if not run.store.exists(given._path(name)):
        given._remember(name, 0)
    given.catch_up()
    return heard


def test_a_sink_that_was_away_gets_each_version_once(run: LocalRun) -> None:
    """Versions that were merged into one file meanwhile are cut out again, under their own numbers."""
    push(run, 5)
    first = hear(run, "x")
    push(run, 30)
    second = hear(run, "x")
    assert not run.store.exists("manifests/000000000010.json")
    assert not first.keys() & second.keys()
    whole = {**first, **second}
    assert [v for q, v in whole if q == "raw"] == list(range(1, 36))
    assert [v for q, v in whole if q == "q"] == list(range(2, 36))
    assert all(len(rows) == 2 for rows in whole.values())
    assert hear(run, "x") == {}
    assert hear(run, "y") == whole


def test_a_folder_that_was_away_has_a_file_for_each_version(run: LocalRun, tmp_path: Path) -> None:
    """A directory sink's file names follow from the versions, compacted or not."""
    push(run, 20)
    Delivery(run.store, run.log, [Directory(str(tmp_path / "out"), "csv")]).catch_up()
    assert sorted(p.name for p in (tmp_path / "out" / "raw").iterdir()) == [f"{v:012d}.csv" for v in range(1, 21)]


def test_results_of_a_log_whose_files_have_gone(tmp_path: Path) -> None:
    """A program that has held its results for long lists them again; a file that is really lost is an error, not a loop."""
    run = LocalRun(SCRIPT, path=str(tmp_path / "ck"))
    push(run, 12)
    held = run.driver.results("raw")
    assert held.arrow().num_rows == 24
    compact_checkpoint(run.store, Retention(keep=3, step=2, fanout=2, grace=-1.0))
    assert held.arrow().num_rows == 24
    run.store.delete(run.log.results("raw")[0].path)
    with pytest.raises(CheckpointError, match="is missing"):
        held.arrow()


def test_a_damaged_version_is_passed_over(tmp_path: Path) -> None:
    """A sink gets all versions that can be read."""
    run = LocalRun(SCRIPT, path=str(tmp_path / "ck"))
    push(run, 6)
    (tmp_path / "ck" / "manifests" / "000000000003.json").write_bytes(b"")
    run.log = type(run.log)(run.store)
    assert [v for q, v in hear(run, "x") if q == "raw"] == [1, 2, 4, 5, 6]


class Failing:
    """A sink that raises the first so many times."""

    name = "failing"

    def __init__(self, times: int, sink: Any = None) -> None:
        self.left, self.sink = times, sink
        self.calls: list[tuple[str, int]] = []

    def write(self, query: str, batch_id: int, table: pa.Table) -> None:
        self.calls.append((query, batch_id))
        if self.sink is not None:
            self.sink.write(query, batch_id, table)
        if self.left:
            self.left -= 1
            raise ConnectionError("the other side is gone")


@pytest.fixture
def pauses() -> list[float]:
    """How long was waited, without waiting."""
    return []


def test_a_sink_that_raises_is_called_again(run: LocalRun, tmp_path: Path, pauses: list[float]) -> None:
    """With the same batch, after a pause, and a warning; the run goes on, and a directory has every row once."""
    out = Directory(str(tmp_path / "out"), "parquet")
    sink = Failing(2, out)
    run.driver.delivery = Delivery(run.store, run.log, [sink], Clock(sleep=pauses.append))
    run.driver.delivery.catch_up()
    with pytest.warns(RuntimeWarning, match=r"batch 1: sink failing failed: ConnectionError: the other side is gone.*again in 0.2 s"):
        push(run, 3)
    assert pauses == [0.2, 1.0]
    assert [call for call in sink.calls if call[0] == "raw"] == [("raw", 1)] * 3 + [("raw", 2), ("raw", 3)]
    given = [row for path in sorted((tmp_path / "out" / "raw").iterdir()) for row in pq.read_table(path).to_pylist()]
    assert given == run.driver.results("raw").arrow().to_pylist()


def test_a_sink_that_keeps_failing_ends_the_run(run: LocalRun, pauses: list[float]) -> None:
    """After as many calls as there are pauses and one; the next run delivers the batch."""
    sink = Failing(1 + len(delivery.PAUSES))
    run.driver.delivery = Delivery(run.store, run.log, [sink], Clock(sleep=pauses.append))
    run.driver.delivery.catch_up()
    with (
        pytest.warns(RuntimeWarning, match="failing failed"),
        pytest.raises(SinkError, match=r"(?s)batch 1: sink failing failed: ConnectionError.*sinks are given what they have missed"),
    ):
        push(run, 1)
    assert pauses == list(delivery.PAUSES)
    assert run.manifest.version == 1
    Delivery(run.store, run.log, [sink]).catch_up()
    assert sink.calls[len(delivery.PAUSES) + 1 :] == [("raw", 1)]


def test_a_sink_by_its_uri(run: LocalRun, tmp_path: Path) -> None:
    """file:// and what `pyarrow.fs` opens; files of batches are found there."""
    push(run, 3)
    for uri, store in ((f"file://{tmp_path}/a b", Store.open(str(tmp_path / "a b"))), ("mock:///out", None)):
        sink = make_sink(f"json:{uri}", None)
        Delivery(run.store, run.log, [sink]).catch_up()
        written = (store or sink._store).list("raw")
        assert written == [f"raw/{v:012d}.json" for v in (1, 2, 3)]


@pytest.mark.parametrize("uri", ["s3a://bucket/out", "s3a:/bucket/out", "hdfs:/out", "ftp://host/out", "kafka://topic"])
def test_a_uri_that_nobody_opens_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    """As a sink, as a checkpoint, and for what is written to this machine: no folder of that name is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=r"sink parquet: .* cannot be opened: expected a local path.*s3://bucket/dir"):
        make_sink(f"parquet:{uri}", None)
    with pytest.raises(CheckpointError, match="cannot be opened: expected a local path"):
        Store.open(uri)
    (tmp_path / "q.sql").write_text("CREATE STREAM s")
    local = [("run", "q.sql", "--checkpoint", "c", "--report"), ("generate", "packets", "--out"), ("results", "c", "q", "--output")]
    for command in (("run", "q.sql", "--checkpoint"), ("run", "q.sql", "--checkpoint", "c", "--sink"), *local):
        value = f"csv:{uri}" if command[-1] == "--sink" else uri
        result = CliRunner().invoke(main, [*command, value])
        assert result.exit_code == 2, command
        assert "cannot be opened" in result.output or "is a URI" in result.output, command
    assert [p.name for p in tmp_path.iterdir()] == ["q.sql"]


def test_a_damaged_memory_of_a_sink(run: LocalRun) -> None:
    """What it was given is not guessed: an error says what deleting the file means."""
    push(run, 3)
    hear(run, "x")
    (path,) = run.store.list("sinks")
    run.store.write(path, run.store.read(path).replace(b'"delivered": 3', b'"delivered": 2'))
    with pytest.raises(CheckpointError, match=r"sinks/.*what sink x was given, is damaged.*or delete it and start again"):
        hear(run, "x")
