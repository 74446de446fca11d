"""A slot over its memory limit spills into its scratch folder, still answers, and leaves nothing there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headrace.errors import OptionError
from headrace.kernels import connection
from headrace.runtime.slot_memory import count_memory, read_size
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (t BIGINT, k STRING) PROGRESSING ON t ORDERED FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n, min(t) AS first FROM s [RANGE 100] GROUP BY k;
"""
KEYS = 300_000


class Watch:
    """The largest number of bytes seen in a folder while it is watched."""

    def __init__(self, folder: str) -> None:
        self.folder, self.most, self._stop = Path(folder), 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._stop.wait(0.001):
            sizes = [p.stat().st_size for p in self.folder.rglob("*.tmp") if p.exists()]
            self.most = max(self.most, sum(sizes))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture(autouse=True)
def _fresh_connection() -> None:
    connection.reset()


def test_a_slot_over_its_limit_spills_and_answers() -> None:
    """With 40 MB for 300,000 long keys, DuckDB uses the disk; every group is counted all the same."""
    run = LocalRun(SCRIPT, slots=1, tasks=1, memory=40 << 20)
    scratch = run.driver.engine.scratch
    assert scratch is not None
    with Watch(scratch) as watch:
        run.push(s=[(i % 100, f"{i % KEYS:0100d}") for i in range(KEYS)])
        run.push(s=[(250, "end")])
    assert watch.most > 0, "nothing was spilled: the test is too small"
    (file,) = run.log.results("q")
    assert file.rows == KEYS
    assert [p for p in Path(scratch).rglob("*.tmp") if p.stat().st_size] == []
    connection.reset()


def test_the_limit_is_set_on_the_connection(tmp_path: Path) -> None:
    """What orders say is what DuckDB obeys, and a new limit replaces the old one."""
    for megabytes in (64, 128):
        con = connection.connect(memory=megabytes << 20, scratch=str(tmp_path))
        limit, folder = con.sql("SELECT current_setting('memory_limit'), current_setting('temp_directory')").fetchall()[0]
        assert limit == f"{megabytes}.0 MiB"
        assert Path(folder).parent == tmp_path
    connection.reset()


def test_sizes_as_spark_writes_them() -> None:
    """Numbers with units, and nothing else."""
    assert read_size("2g", "x") == 2 << 30
    assert read_size("512MB", "x") == 512 << 20
    assert read_size("384", "x", unit="m") == 384 << 20
    with pytest.raises(OptionError, match="x: expected a size like 512m or 2g, got 'much'"):
        read_size("much", "x")
    assert 64 << 20 < count_memory() < 1 << 50
