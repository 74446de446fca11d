"""A checkpoint that ran for months: very many versions, compacted as a run compacts, and opened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from state_samples import commit_rows, manifest, segment

from headrace.report.export import CommittedFiles, open_log
from headrace.state import ManifestLog, Retention, Store, compact_checkpoint


def run_for_long(store: Store, versions: int) -> int:
    """Commit so many versions, results in every tenth, compacting every thousand as a run in a hurry; rows of results."""
    log, rows = ManifestLog(store), 0
    live = (segment("segments/flows/live.arrow"),)
    for version in range(1, versions + 1):
        if version % 10:
            log.publish(manifest(version, results={}, late={}, segments=live))
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


def test_three_thousand_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They leave a few files, and open in next to no time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    found, _, files = open_after(tmp_path, 3_000)
    assert files < 250
    assert found < 1.0


@pytest.mark.slow
def test_a_million_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million batches leave a checkpoint that opens in under a second."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    found, read, files = open_after(tmp_path, int(os.environ.get("HEADRACE_VERSIONS", "1000000")))
    print(f"opened in {found:.3f} s, results read in {read:.3f} s, {files} files")
    assert files < 500
    assert found < 1.0
