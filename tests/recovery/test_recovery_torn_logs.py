"""Spark's log after a power cut: entries of the last batch that were not flushed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.sources.offset_log import drop_torn_logs, flush_offset_log
from headrace.state import ManifestLog, Store
from headrace.state.disk import LocalDisk
from spark_kit import drained, events, stream_sql, tables, write, write_batches

Q = "CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 1 MINUTE] GROUP BY k;\n"
ROWS = events(300, seconds=600, disorder=15)


@pytest.mark.parametrize(
    "torn", [["offsets", "sources/0"], *(pytest.param([log], marks=pytest.mark.slow) for log in ("offsets", "sources/0"))]
)
def test_a_torn_entry_is_planned_anew(spark: Any, tmp_path: Path, torn: list[str]) -> None:
    """Entries without content, of a batch that was not committed, do not stop the next run; nothing is lost or doubled."""
    source, checkpoint = tmp_path / "s", tmp_path / "ck"
    write_batches(source, ROWS[:200], 2)
    text = stream_sql("s", source) + Q
    drained(spark, checkpoint, text, 2)
    for log in torn:
        folder = checkpoint / "spark" / log
        last = max(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
        (folder / str(last + 1)).touch()
    write(source, ROWS[200:], 2)
    resumed = tables(drained(spark, checkpoint, text, 2, flush=True))
    whole = tables(drained(spark, tmp_path / "whole", text, 2, flush=True))
    assert resumed == whole


def test_what_a_batch_read_is_flushed_before_it_is_committed(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a manifest is published, Spark's offsets of its batch and the list of its files are on the disk."""
    flushed: list[str] = []
    missing: list[tuple[str, int]] = []
    sync, publish = LocalDisk.sync, LocalDisk.publish

    def check(disk: LocalDisk, rel: str, data: bytes) -> bool:
        if rel.startswith("manifests/"):
            batch = ManifestLog(Store.open(str(tmp_path / "ck"))).latest()
            number = 0 if batch is None else batch.batch_id + 1
            missing.extend((kind, number) for kind in ("offsets", "sources/0") if f"spark/{kind}/{number}" not in flushed)
        return publish(disk, rel, data)

    monkeypatch.setattr(LocalDisk, "sync", lambda disk, rels: (flushed.extend(rels), sync(disk, rels)))
    monkeypatch.setattr(LocalDisk, "publish", check)
    write_batches(tmp_path / "s", ROWS, 3)
    drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q, 2)
    assert len([path for path in flushed if path.startswith("spark/offsets/")]) >= 3
    assert missing == []


def test_only_what_is_torn_goes(tmp_path: Path) -> None:
    """Whole entries stay, of batches that were not committed too, unless one of them is torn."""
    store = Store.open(str(tmp_path))
    for path in ("offsets/4", "offsets/5", "sources/0/9.compact", "sources/0/10", "sources/1/3", "commits/4"):
        store.write(f"spark/{path}", b"v1")
    assert drop_torn_logs(store, 4) == []
    store.write("spark/sources/0/11", b"")
    store.write("spark/sources/0/.11.crc", b"crc")
    assert drop_torn_logs(store, 4) == ["spark/offsets/5", "spark/sources/0/11"]
    assert not store.exists("spark/sources/0/.11.crc")
    assert store.exists("spark/offsets/4") and store.exists("spark/sources/0/10")


def test_the_last_entry_of_every_source_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number, not by name; offsets not beyond the batch."""
    store, flushed = Store.open(str(tmp_path)), list[str]()
    for path in ("offsets/9", "offsets/10", "offsets/11", "sources/0/9.compact", "sources/0/10", "sources/1/3"):
        store.write(f"spark/{path}", b"v1")
    monkeypatch.setattr(LocalDisk, "sync", lambda _, rels: flushed.extend(rels))
    flush_offset_log(store, 10)
    assert sorted(flushed) == ["spark/offsets/10", "spark/sources/0/10", "spark/sources/1/3"]
