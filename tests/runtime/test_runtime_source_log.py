"""Spark's list of files read, trimmed of what Spark itself forgets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from headrace.sources.source_log import sum_blocks, trim_source_logs
from headrace.state import Store
from spark_kit import drained, events, multiset, stream_sql, write

DAY = 86_400
Q = "CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 1 MINUTE] GROUP BY k;\n"
ROWS = events(260, seconds=600, disorder=15)


def write_dated(folder: Path, number: int, days: float) -> None:
    path = write(folder, ROWS[number * 10 : number * 10 + 10], number)
    os.utime(path, (1.7e9 + number + days * DAY,) * 2)


def compact_file(checkpoint: Path) -> Path:
    return max((checkpoint / "spark/sources/0").glob("*.compact"), key=lambda p: int(p.stem))


def entries(checkpoint: Path) -> list[Any]:
    return [json.loads(line) for line in compact_file(checkpoint).read_text().splitlines()[1:]]


def test_old_entries_go_and_no_file_is_read_twice(spark: Any, tmp_path: Path) -> None:
    """Files read a month before the newest are forgotten when a run starts; they stay in the folder and are not read again,
    neither by that run nor by the next, and new files are.
    """
    for number in range(22):
        write_dated(tmp_path / "s", number, 0 if number < 8 else 30)
    script = stream_sql("s", tmp_path / "s") + Q
    drained(spark, tmp_path / "ck", script)
    assert len(entries(tmp_path / "ck")) == 20
    write_dated(tmp_path / "s", 22, 31)
    first = drained(spark, tmp_path / "ck", script)
    assert [r.rows for r in first.reports] == [10]
    assert len(entries(tmp_path / "ck")) == 12
    for number in (23, 24, 25):
        write_dated(tmp_path / "s", number, 31)
    second = drained(spark, tmp_path / "ck", script, flush=True)
    assert [r.rows for r in second.reports] == [10, 10, 10, 0]
    whole = drained(spark, tmp_path / "whole", script, flush=True)
    assert multiset(second.results("q").arrow()) == multiset(whole.results("q").arrow())


def make_log(tmp_path: Path, days: list[float], head: str = "v1") -> Store:
    folder = tmp_path / "spark/sources/0"
    folder.mkdir(parents=True)
    lines = [json.dumps({"path": f"f{i}", "timestamp": int(d * DAY * 1000), "batchId": i}) for i, d in enumerate(days)]
    (folder / "19.compact").write_text("\n".join([head, *lines]))
    (folder / "9.compact").write_text("v1\nolder")
    (folder / ".19.compact.crc").write_bytes(sum_blocks((folder / "19.compact").read_bytes()))
    return Store.open(tmp_path)


def test_only_what_is_more_than_a_week_behind_the_newest_goes(tmp_path: Path) -> None:
    """A day more than the week is kept, in case; only the last compact file is touched, with its checksums."""
    store = make_log(tmp_path, [0, 40, 91.9, 92, 95, 100, 50])
    assert trim_source_logs(store, [{"path": "x"}]) == 4
    assert [one["path"] for one in entries(tmp_path)] == ["f3", "f4", "f5"]
    assert store.list() == [f"spark/sources/0/{name}" for name in (".19.compact.crc", "19.compact", "9.compact")]
    assert store.read("spark/sources/0/.19.compact.crc") == sum_blocks(store.read("spark/sources/0/19.compact"))
    assert trim_source_logs(store, [{}]) == 0


@pytest.mark.parametrize("option", ["maxFileAge", "latestFirst", "LATESTFIRST"])
def test_streams_that_mean_something_else_are_left_alone(tmp_path: Path, option: str) -> None:
    """With another age, or the newest files first, Spark forgets otherwise."""
    store = make_log(tmp_path, [0, 100])
    assert trim_source_logs(store, [{}, {option: "x"}]) == 0
    assert len(entries(tmp_path)) == 2


def test_a_log_written_otherwise_is_left_alone(tmp_path: Path) -> None:
    """Another version of Spark's log is not ours to change."""
    assert trim_source_logs(make_log(tmp_path / "a", [0, 100], head="v2"), [{}]) == 0
    store = make_log(tmp_path / "b", [0, 100])
    store.write("spark/sources/0/19.compact", b"v1\n{}")
    store.delete("spark/sources/0/.19.compact.crc")
    assert trim_source_logs(store, [{}]) == 0


def test_a_damaged_log_is_left_to_spark(tmp_path: Path) -> None:
    """Spark refuses it by its checksums; with new ones it would be believed."""
    store = make_log(tmp_path, [0, 100])
    damaged = store.read("spark/sources/0/19.compact").replace(b"f0", b"f1")
    store.write("spark/sources/0/19.compact", damaged)
    assert trim_source_logs(store, [{}]) == 0
    assert store.read("spark/sources/0/19.compact") == damaged


def test_checksums_are_those_of_hadoop(spark: Any, tmp_path: Path) -> None:
    """Byte for byte what Spark itself writes beside its log."""
    write_dated(tmp_path / "s", 0, 1)
    drained(spark, tmp_path / "ck", stream_sql("s", tmp_path / "s") + Q)
    for name in ("offsets/0", "sources/0/0"):
        path = tmp_path / "ck/spark" / name
        assert (path.parent / f".{path.name}.crc").read_bytes() == sum_blocks(path.read_bytes())
