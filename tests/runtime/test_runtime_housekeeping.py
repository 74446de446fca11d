"""Compaction beside a run: in the background, without ending the run when it fails, and ended with it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.coordinator import housekeeping
from headrace.errors import CheckpointError
from headrace.program.limits import Limits
from headrace.runtime.spark import SETTINGS
from headrace.state import ManifestLog, Retention
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 0 SECONDS FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
"""


@pytest.fixture
def run(tmp_path: Path) -> LocalRun:
    """A run that compacts in the background after every second batch."""
    limits = Limits(compact_every=2, compaction=Retention(keep=3, step=2, fanout=2, grace=-1.0))
    return LocalRun(SCRIPT, path=str(tmp_path / "ck"), limits=limits, in_background=True)


def push(run: LocalRun, batches: int) -> None:
    for _ in range(batches):
        start = (run.manifest.version + 1) * 60_000_000
        run.push(s=[(start, "a"), (start + 1, "b")])


def test_a_run_compacts_in_the_background(run: LocalRun) -> None:
    """Pages appear and manifests go while batches are committed; the run's own log forgets what has moved."""
    push(run, 20)
    end = time.monotonic() + 30
    while not run.driver.housekeeping.changed.is_set() and time.monotonic() < end:
        time.sleep(0.01)
    push(run, 2)
    run.close()
    assert run.store.list("history")
    assert len(run.store.list("manifests")) < 22
    assert len(run.log._outputs) < 22
    assert len(run.rows("q")) == 2 * 21
    assert not any(thread.name == "headrace-compaction" for thread in threading.enumerate())
    again = LocalRun(SCRIPT, path=run.store.uri)
    push(again, 1)
    assert len(again.rows("q")) == 2 * 22


def test_a_compaction_that_fails_does_not_end_the_run(run: LocalRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once, however often it fails, and works again when the cause is gone."""

    def full(*_: Any, **__: Any) -> None:
        raise CheckpointError("the disk is full")

    def fail_often() -> None:
        with monkeypatch.context() as broken:
            broken.setattr(housekeeping, "compact_checkpoint", full)
            for _ in range(4):
                push(run, 2)
                time.sleep(0.05)
            wait_until_quiet(run)

    with pytest.warns(RuntimeWarning, match="not compacted: the disk is full") as said:
        fail_often()
    assert sum("not compacted" in str(warning.message) for warning in said) == 1
    push(run, 2)
    wait_until_quiet(run)
    run.close()
    assert ManifestLog(run.store).history()


def wait_until_quiet(run: LocalRun) -> None:
    end = time.monotonic() + 10
    while run.driver.housekeeping._wake.is_set() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.3)


def test_closing_ends_a_compaction(run: LocalRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends does not wait for a long compaction: it is cut off at the next file."""
    steps: list[int] = []

    def long(store: Any, policy: Any, check: Any, **_: Any) -> None:
        for step in range(10_000):
            steps.append(step)
            check()
            time.sleep(0.01)

    monkeypatch.setattr(housekeeping, "compact_checkpoint", long)
    push(run, 2)
    while not steps:
        time.sleep(0.01)
    run.close()
    assert len(steps) < 1000


def test_a_run_that_finds_nothing_sleeps() -> None:
    """Long enough to cost nothing, and short enough to see a file within half a second."""
    assert SETTINGS["spark.sql.streaming.pollingDelay"] == "400ms"
