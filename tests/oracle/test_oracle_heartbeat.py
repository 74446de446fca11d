"""Batches without rows: when the clock or what is told beside a stream completes a window, and only then."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from oracle_check import _die

from headrace.errors import CheckpointError, SourceError
from headrace.testing import LocalRun

S = 1_000_000
BASE = 1_700_000_000 * S
SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts SLACK 5 SECONDS {} FROM 'none';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k;
"""


class Clock:
    def __init__(self) -> None:
        self.now = BASE

    def __call__(self) -> int:
        return self.now


def test_beats_are_as_fine_as_windows_and_no_finer() -> None:
    """The clock closes the window when it passes its end less silence and slack; before and after there is no batch."""
    clock = Clock()
    run = LocalRun(SCRIPT.format("IDLE AFTER 20 SECONDS"), clock=clock)
    run.push(s=[(BASE + 1 * S, "a"), (BASE + 12 * S, "b")])
    for second, beats in ((19, False), (34, False), (35, True), (36, False), (44, False), (45, True), (46, False), (500, False)):
        clock.now = BASE + second * S
        assert run.beat() == beats, second
        if beats:
            assert run.manifest.clock == clock.now
            assert run.manifest.streams["s"].low_watermark == BASE + (second - 25) * S
    assert [r[:2] for r in run.rows("q")] == [("a", 1), ("b", 1)]


def test_a_restart_is_no_lull(tmp_path: Path) -> None:
    """Silence while nobody listened does not count; a beat that dies is made again."""
    clock, path = Clock(), str(tmp_path)
    run = LocalRun(SCRIPT.format("IDLE AFTER 20 SECONDS"), path=path, clock=clock)
    run.push(s=[(BASE + 1 * S, "a")])
    run.close()
    clock.now += 3600 * S
    run = LocalRun(SCRIPT.format("IDLE AFTER 20 SECONDS"), path=path, clock=clock)
    assert not run.beat()
    run.push(s=[(BASE + 2 * S, "a")])
    clock.now += 20 * S
    _die(run, {})
    run.close()
    run = LocalRun(SCRIPT.format("IDLE AFTER 20 SECONDS"), path=path, clock=clock)
    assert run.rows("q") == []
    clock.now += 20 * S
    assert run.beat()
    assert run.rows("q") == [("a", 2, BASE, BASE + 10 * S)]


def test_a_stream_that_never_came_is_not_waited_for() -> None:
    """A union closes when the clock has passed for the silent one too."""
    clock = Clock()
    run = LocalRun(
        """CREATE STREAM s (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'none';
        CREATE STREAM r (ts TIMESTAMP) PROGRESSING ON ts ORDERED IDLE AFTER 20 SECONDS FROM 'none';
        CREATE QUERY q AS SELECT count(*) AS n FROM (SELECT * FROM s UNION ALL SELECT * FROM r) [RANGE 10 SECONDS] x;""",
        clock=clock,
    )
    clock.now = BASE + 19 * S
    run.push(s=[(BASE,), (BASE + 30 * S,)])
    assert run.rows("q") == []
    clock.now = BASE + 30 * S
    run.push(s=[(BASE + 31 * S,)])
    assert run.rows("q") == [(1, BASE, BASE + 10 * S)]


def test_what_is_told_in_a_lull_binds_the_time_after() -> None:
    """A bound is read in one beat and binds in the next, if it closes anything."""
    told: list[Any] = [BASE]
    script = SCRIPT.replace("SLACK 5 SECONDS {}", "PUNCTUATED FROM 'told'")
    run = LocalRun(script, bounds={"told": lambda: told[-1]})
    run.push(s=[(BASE + 1 * S, "a")])
    told.append(BASE + 9 * S)
    assert [run.beat(), run.beat()] == [False, False]
    told.append(BASE + 10 * S)
    assert [run.beat(), run.beat(), run.beat()] == [False, True, False]
    assert run.rows("q") == [("a", 1, BASE, BASE + 10 * S)]


@pytest.mark.parametrize(
    ("told", "message"),
    [("soon", "cannot be read"), ([(BASE, "a", 1)], "got"), (True, "is no value of ts")],
)
def test_what_is_told_must_be_bounds(told: Any, message: str) -> None:
    """Anything else names the stream, the function and what was expected."""
    with pytest.raises(SourceError, match=f"stream s: the bounds in 'told'(.|\n)*{message}(.|\n)*Expected a column bound"):
        LocalRun(SCRIPT.replace("SLACK 5 SECONDS {}", "PUNCTUATED FROM 'told'"), bounds={"told": lambda: told})


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_folder_of_bounds(kind: str, tmp_path: Path) -> None:
    """The largest bound of each group counts, in files of any kind; an empty folder says nothing."""
    folder = tmp_path / "told"
    folder.mkdir()
    script = SCRIPT.replace("SLACK 5 SECONDS {}", f"PUNCTUATED FROM '{folder}' FOR (k)")
    run = LocalRun(script)
    run.push(s=[(BASE + 1 * S, "a"), (BASE + 2 * S, "b")])
    rows = f"(make_timestamp({BASE + 3 * S}), 'a'), (make_timestamp({BASE + 10 * S}), 'a'), (NULL, 'b')"
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(bound, k)) TO '{folder}/0.{kind}'")
    run.beat()
    assert run.beat()
    assert run.rows("q") == [("a", 1, BASE, BASE + 10 * S)]


def test_bounds_from_nowhere() -> None:
    """A name that nobody registered is refused, with what there is."""
    with pytest.raises(SourceError, match="there is no such file, folder, table or function. Registered as functions are: other"):
        LocalRun(SCRIPT.replace("SLACK 5 SECONDS {}", "PUNCTUATED FROM 'told'"), bounds={"other": int})


def test_groups_of_a_checkpoint_stay() -> None:
    """Another choice of groups would read the bounds of groups by other columns."""
    with tempfile.TemporaryDirectory() as path:
        run = LocalRun(SCRIPT.format("PER (k)"), path=path)
        run.push(s=[(BASE, "a")])
        run.close()
        with pytest.raises(CheckpointError, match="groups of s that make progress by themselves were by k and are by none"):
            LocalRun(SCRIPT.format(""), path=path)


def test_progress_that_closes_nothing_reads_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frontier between two ends of windows is no work."""
    read = []
    monkeypatch.setattr("headrace.kernels.node_segments.NodeSegments.read", lambda self: read.append(self.node) or [])
    run = LocalRun(SCRIPT.format(""))
    run.push(s=[(BASE + 6 * S, "a")])
    read.clear()
    run.push(s=[(BASE + 7 * S, "a")])
    assert read == []
    run.push(s=[(BASE + 15 * S, "a")])
    assert read != []
