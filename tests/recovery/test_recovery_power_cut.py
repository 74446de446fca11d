"""What a manifest names is on the disk before the manifest is: a power cut, too, neither loses nor doubles a row."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import CheckpointError
from headrace.sinks.sinks import Callback
from headrace.state import Retention, Store, compact_checkpoint
from headrace.state.disk import LocalDisk
from headrace.state.local_files import LocalFiles
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM a (ts TIMESTAMP, k INT, x INT) PROGRESSING ON ts SLACK 1 SECOND FROM 'memory';
CREATE STREAM b (ts TIMESTAMP, k INT, y INT) PROGRESSING ON ts SLACK 1 SECOND FROM 'memory';
CREATE QUERY large AS SELECT ts, x FROM a WHERE x > 2;
CREATE QUERY counts AS SELECT k, count(*) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k;
CREATE QUERY pairs AS SELECT a.ts, a.x, b.y FROM a JOIN b WITHIN 2 SECONDS ON a.k = b.k;
"""
SECOND = 1_000_000


def test_all_that_a_manifest_names_was_flushed_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results, late rows and state, of several slots, with a segment that several batches were merged into."""
    flushed: set[str] = set()
    named: list[str] = []
    sync, publish = LocalDisk.sync, LocalDisk.publish

    def note_sync(disk: LocalDisk, rels: Sequence[str]) -> None:
        sync(disk, rels)
        flushed.update(rels)

    def check(disk: LocalDisk, rel: str, data: bytes) -> bool:
        if rel.startswith("manifests/"):
            text = data.decode()
            there = [f"{p.parent.relative_to(tmp_path)}/{p.name}" for p in tmp_path.rglob("*") if p.suffix in (".arrow", ".parquet")]
            named.extend(path for path in there if path in text)
            assert [path for path in named if path not in flushed] == []
        return publish(disk, rel, data)

    monkeypatch.setattr(LocalDisk, "sync", note_sync)
    monkeypatch.setattr(LocalDisk, "publish", check)
    run = LocalRun(SCRIPT, 3, path=str(tmp_path))
    for n in range(10):
        rows = [((n + i % 3) * SECOND, i, n) for i in range(5)]
        run.push(a=[*rows, (0, 1, 5)], b=rows)
    run.close()
    assert {path.split("/")[0] for path in named} == {"segments", "results", "late"}


class _FailingFiles(LocalFiles):
    """The `at`-th flush fails; what the others flushed is kept."""

    def __init__(self, at: int) -> None:
        self.left, self.flushed = at, set[str]()

    def flush_all(self, paths: Sequence[str]) -> None:  # one after the other, so that it is known which fails
        for path in paths:
            self.flush(path)

    def flush(self, path: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        self.flushed.add(path)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_what_is_tried_again_after_a_flush_that_failed_flushes_all_folders(tmp_path: Path, at: int) -> None:
    """The file, its folder, the one above and the checkpoint: whichever fails, another attempt's file is under durable names."""
    files = _FailingFiles(at)
    store = Store(str(tmp_path), files)

    def make(path: str) -> None:
        with store.open_output(path) as out:
            out.write(b"rows")
        store.sync([path])

    with pytest.raises(CheckpointError):
        make("late/d/first")
    files.flushed.clear()
    make("late/d/second")
    assert files.flushed == {str(tmp_path / name) for name in ("", "late", "late/d", "late/d/second")}
    files.flushed.clear()
    make("late/d/third")
    assert files.flushed == {str(tmp_path / name) for name in ("late/d", "late/d/third")}  # the others are durable by now


class _NotingFiles(_FailingFiles):
    """What was flushed when the first manifest is removed."""

    def __init__(self) -> None:
        super().__init__(0)
        self.durable: set[str] | None = None

    def remove(self, path: str) -> None:
        if self.durable is None and "/manifests/" in path:
            self.durable = set(self.flushed)
        super().remove(path)


@pytest.mark.parametrize("at", [1, 2])
def test_what_a_page_supersedes_is_deleted_when_the_page_is_durable(tmp_path: Path, at: int) -> None:
    """Whoever published the page ended when its name was there, before its folder (1) or the checkpoint (2) was flushed."""
    run = LocalRun(SCRIPT, 1, path=str(tmp_path))
    for n in range(6):
        run.push(a=[(n * SECOND, 1, n)])
    run.close()
    policy = Retention(keep=2, step=1, grace=0.0)
    with pytest.raises(CheckpointError):
        compact_checkpoint(Store(str(tmp_path), _FailingFiles(at)), policy)
    assert [path.name[:3] for path in (tmp_path / "history").iterdir()] == ["000"]
    files = _NotingFiles()
    assert compact_checkpoint(Store(str(tmp_path), files), policy).deleted
    assert files.durable is not None
    assert files.durable >= {str(tmp_path), str(tmp_path / "history")}


class _ArmedFiles(_FailingFiles):
    """Once armed, the folder of manifests cannot be flushed."""

    armed = False

    def flush(self, path: str) -> None:
        if self.armed and path.endswith("/manifests"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        super().flush(path)


def test_what_a_sink_is_given_after_a_restart_is_durable(tmp_path: Path) -> None:
    """Whoever committed a batch ended when its manifest was there, before the folder of manifests was flushed."""
    given: list[int] = []
    first = _ArmedFiles(0)
    run = LocalRun(SCRIPT, 1, path=Store(str(tmp_path), first), sinks=[Callback(lambda query, batch, rows: given.append(batch))])
    run.push(a=[(SECOND, 1, 5)])
    first.armed = True
    with pytest.raises(CheckpointError):
        run.push(a=[(2 * SECOND, 1, 5)])
    run.close()
    assert given == [1]
    files = _FailingFiles(0)

    def take(query: str, batch: int, rows: pa.Table) -> None:
        given.append(batch)
        assert str(tmp_path / "manifests") in files.flushed

    LocalRun(SCRIPT, 1, path=Store(str(tmp_path), files), sinks=[Callback(take)]).close()
    assert given == [1, 2]
