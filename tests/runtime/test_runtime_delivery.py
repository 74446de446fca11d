"""What sinks get of versions that were compacted before they were given to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import CheckpointError
from headrace.runtime import driver
from headrace.runtime.delivery import Delivery
from headrace.runtime.sinks import Callback, Directory
from headrace.state import Retention, compact_checkpoint
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 0 SECONDS FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY raw AS SELECT ts, k FROM s WHERE k = 'a';
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalRun:
    """A run that compacts after every second batch and deletes at once."""
    monkeypatch.setattr(driver, "COLLECT_EVERY", 2)
    monkeypatch.setattr(driver, "GRACE", -1.0)
    made = LocalRun(SCRIPT, path=str(tmp_path / "ck"))
    made.driver.retention = Retention(keep=3, step=2, fanout=2)
    return made


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

    delivery = Delivery(run.store, run.log, [Callback(take, name)])
    if not run.store.exists(delivery._path(name)):
        delivery._remember(name, 0)
    delivery.catch_up()
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


def test_results_of_a_log_whose_files_have_gone(run: LocalRun) -> None:
    """A program that has held its results for long lists them again; a file that is really lost is an error, not a loop."""
    run.driver.retention = Retention()
    push(run, 12)
    held = run.driver.results("raw")
    assert held.arrow().num_rows == 24
    compact_checkpoint(run.store, Retention(keep=3, step=2, fanout=2, grace=-1.0))
    assert held.arrow().num_rows == 24
    run.store.delete(run.log.results("raw")[0].path)
    with pytest.raises(CheckpointError, match="is missing"):
        held.arrow()


def test_a_damaged_version_is_passed_over(run: LocalRun, tmp_path: Path) -> None:
    """A sink gets all versions that can be read."""
    run.driver.retention = Retention()
    push(run, 6)
    (tmp_path / "ck" / "manifests" / "000000000003.json").write_bytes(b"")
    run.log = type(run.log)(run.store)
    assert [v for q, v in hear(run, "x") if q == "raw"] == [1, 2, 4, 5, 6]
