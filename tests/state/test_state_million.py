"""A checkpoint that ran for months: very many versions, compacted as a run compacts, and opened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from state_samples import commit_rows, manifest, segment

import headrace.state.compaction as compacting
import headrace.state.garbage as collecting
from headrace.report.export import CommittedFiles, open_log
from headrace.state import ManifestLog, Retention, Store, compact_checkpoint


def run_for_long(store: Store, versions: int) -> int:
    """Commit so many versions, results in every tenth, compacting every thousand as a run in a hurry; rows of results."""
    log, rows = ManifestLog(store), 0
    live = (segment("segments/flows/live.arrow"),)
    for version in range(1, versions + 1):
        if version % 10:
            log.publish(manifest(version, outputs=(), segments=live))
        else:
            rows += len(commit_rows(log, version, files=1, segments=live))
        if version % 1000 == 0:
            compact_checkpoint(store, Retention(grace=-1.0))
            log.refresh()
    return rows


def timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def open_after(tmp_path: Path, versions: int) -> tuple[float, float, int]:
    """Seconds to find the last version, and to read all results; and the number of files."""
    store = Store.open(tmp_path)
    rows = run_for_long(store, versions)
    found = timed(lambda: open_log(str(tmp_path)))
    log = open_log(str(tmp_path))
    assert log.latest().version == versions  # type: ignore[union-attr]
    batches = []
    read = timed(lambda: batches.extend(CommittedFiles(log, "flows").batches()))
    assert sum(batch.num_rows for batch in batches) == rows
    return found, read, len(store.list())


def test_three_thousand_versions(tmp_path: Path) -> None:
    """They leave a few files, and open in next to no time."""
    found, _, files = open_after(tmp_path, 3_000)
    assert files < 250
    assert found < 1.0


@pytest.mark.slow
def test_a_million_versions(tmp_path: Path) -> None:
    """A million batches leave a checkpoint that opens in under a second."""
    found, read, files = open_after(tmp_path, int(os.environ.get("HEADRACE_VERSIONS", "1000000")))
    print(f"opened in {found:.3f} s, results read in {read:.3f} s, {files} files")
    assert files < 500
    assert found < 1.0


class RunningClock:
    """A clock that is moved by hand, for those who take `time` from their module."""

    def __init__(self) -> None:
        self.now = 1e9

    def time(self) -> float:
        return self.now


def files_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int, looks: list[int]) -> list[int]:
    """The number of files after so many minutes of a batch every two seconds, results kept for ten minutes."""
    clock, stamped, found = RunningClock(), set[Path](), []
    for module in (compacting, collecting):
        monkeypatch.setattr(module, "time", clock)
    store = Store.open(tmp_path)
    log, live = ManifestLog(store), (segment("segments/flows/live.arrow"),)

    def stamp() -> None:
        for path in tmp_path.rglob("*"):
            if path not in stamped and path.is_file():
                stamped.add(path)
                os.utime(path, (clock.now, clock.now))

    for version in range(1, 30 * minutes + 1):
        clock.now += 2
        if version % 5:
            log.publish(manifest(version, outputs=(), segments=live, created_at=clock.now))
        else:
            commit_rows(log, version, at=clock.now, files=2, segments=live)
        if version % 50 == 0:
            stamp()
            compact_checkpoint(store, Retention(retain=600.0))
            log.refresh()
            stamp()
        if version in (30 * look for look in looks):
            found.append(len(store.list()))
    return found


@pytest.mark.slow
def test_a_steady_load_levels_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With results kept for ten minutes, a checkpoint has after hours the files it had after the first half hour."""
    hours = int(os.environ.get("HEADRACE_HOURS", "8"))
    first, *later = files_at(tmp_path, monkeypatch, hours * 60, list(range(20, hours * 60 + 1, 20)))
    print(f"{first} files after 20 minutes, then {min(later)} to {max(later)}")
    assert max(later) < first * 1.1
