"""Segments: what is written is read, slicing equals filtering, damage is recognised."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from state_samples import segment, state_table

from headrace.errors import CheckpointError, InternalError
from headrace.state import SegmentMeta, Span, Store, pid_sizes, read_segment, write_segment
from headrace.state.segment import pids_to_hex

sorted_pids = st.lists(st.integers(0, 12) | st.just(65535), max_size=40).map(sorted)
SPAN = Span(0, 100)
pid_sets = st.frozensets(st.integers(0, 14) | st.just(65535))


@pytest.fixture(scope="module", params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same behaviour on the local disk and on a file system of pyarrow (in memory)."""
    return Store.open(str(tmp_path_factory.mktemp("ck")) if request.param == "local" else "mock:///ck")


@settings(deadline=None)
@given(sorted_pids, pid_sets | st.none())
def test_slicing_equals_filtering(store: Store, pids: list[int], wanted: frozenset[int] | None) -> None:
    """Reading some pids gives the rows a filter would, in the same order, with the same schema."""
    table = state_table(pids)
    meta = write_segment(store, "segments/a", "flows", table, SPAN, 1)
    got = read_segment(store, meta, wanted)
    keep = pids if wanted is None else sorted(wanted)
    assert got.equals(table.filter(pc.is_in(table["pid"], pa.array(keep, pa.uint16()))), check_metadata=True)
    sizes = {pid: n for pid, n in enumerate(pid_sizes(store, meta)) if n}
    assert sizes == {pid: pids.count(pid) for pid in pids}


@settings(deadline=None)
@given(sorted_pids.filter(bool), st.integers(-5, 5))
def test_the_meta_describes_the_rows(store: Store, pids: list[int], shift: int) -> None:
    """Rows, bytes and pids are those of the file, the rest is as told."""
    meta = write_segment(store, "segments/b", "flows", state_table(pids), Span(shift, 11), 4, tier=2, generation=1)
    expected = SegmentMeta(
        "segments/b",
        "flows",
        len(pids),
        store.size("segments/b"),
        pids_to_hex(tuple(sorted(set(pids)))),
        shift,
        11,
        len(pids),
        4,
        2,
        1,
        tail=meta.tail,
        crc=meta.crc,
    )
    assert meta == expected


@given(st.frozensets(st.integers(0, 65535)))
def test_a_meta_survives_json(pids: frozenset[int]) -> None:
    """The pids are a bit set in the manifest and come back sorted."""
    meta = segment(pids=tuple(sorted(pids)))
    read = msgspec.json.decode(msgspec.json.encode(meta), type=SegmentMeta)
    assert read == meta and read.pids == tuple(sorted(pids))


def test_the_json_of_a_meta_is_short() -> None:
    """All 256 pids take 64 characters: hundreds of segments are written down in every batch."""
    assert len(msgspec.json.encode(segment(pids=tuple(range(256))))) < 150


def test_mini_partitions_are_released_one_by_one(store: Store) -> None:
    """A released mini-partition is not read any more, and the segment goes with its last one."""
    table = state_table([0, 0, 1, 5])
    meta = write_segment(store, "segments/r", "flows", table, SPAN, 1)
    rest = meta.release((0,), 2)
    assert rest is not None
    assert (rest.pids, rest.live_rows, rest.live_bytes) == ((1, 5), 2, meta.bytes // 2)
    assert read_segment(store, rest, None).column("pid").to_pylist() == [1, 5]
    assert read_segment(store, rest, frozenset({0, 1})).column("pid").to_pylist() == [1]
    assert rest.release((1, 5), 2) is None


def test_neighbouring_pids_are_one_slice(store: Store) -> None:
    """Runs are joined, so a slot that owns a block of pids gets one chunk, not one per pid."""
    meta = write_segment(store, "segments/c", "flows", state_table([0, 0, 1, 2, 3, 5, 6]), SPAN, 1)
    assert read_segment(store, meta, frozenset({1, 2, 3})).column("pid").num_chunks == 1
    assert read_segment(store, meta, frozenset({1, 3, 4, 5})).column("pid").num_chunks == 2


def test_an_empty_segment_has_no_pids(store: Store) -> None:
    """No rows: no pids, and a readable file."""
    meta = write_segment(store, "segments/d", "flows", state_table([]), SPAN, 1)
    assert (meta.rows, meta.pids) == (0, ())
    assert read_segment(store, meta, frozenset({1})).schema == state_table([]).schema


def test_chunks_dictionaries_and_metadata_are_kept(store: Store) -> None:
    """State in several chunks with their own dictionaries is written as one, with the user's metadata."""
    parts = [
        state_table([pid]).append_column("tag", pa.array([f"t{pid}"]).dictionary_encode())
        for pid in (1, 2, 3)
    ]
    table = pa.concat_tables(parts).replace_schema_metadata({b"mine": b"kept"})
    meta = write_segment(store, "segments/e", "flows", table, SPAN, 1)
    got = read_segment(store, meta, None)
    assert got.schema.metadata == {b"mine": b"kept"}
    assert got.to_pylist() == table.to_pylist()
    assert read_segment(store, meta, frozenset({2})).to_pylist() == table.slice(1, 1).to_pylist()


def test_reading_a_local_segment_copies_nothing(tmp_path: Path) -> None:
    """The table is the mapped file: no memory of Arrow's is taken, for a slice as for the whole."""
    store = Store.open(str(tmp_path))
    meta = write_segment(store, "segments/a", "flows", state_table([i // 1000 for i in range(100_000)]), SPAN, 1)
    before = pa.total_allocated_bytes()
    whole, part = read_segment(store, meta, None), read_segment(store, meta, frozenset(range(50)))
    assert pa.total_allocated_bytes() - before < 10_000
    assert (whole.num_rows, part.num_rows) == (100_000, 50_000)


def test_a_table_that_is_not_state_is_our_fault(store: Store) -> None:
    """Unsorted pids, a missing column or a null are refused before anything is written."""
    good = state_table([1, 2])
    null = good.set_column(0, "pid", pa.array([None, 1], pa.uint16()))
    wide = good.set_column(0, "pid", pa.array([1, 2], pa.int32()))
    for table in (state_table([2, 1]), state_table([1, 2, 1]), null, wide, good.drop_columns("pid")):
        with pytest.raises(InternalError, match="state of flows"):
            write_segment(store, "segments/never", "flows", table, SPAN, 1)
    assert not store.exists("segments/never")


def test_a_damaged_segment_is_recognised(store: Store) -> None:
    """Missing, cut short, or not Arrow: the error names the file and the node, and says what to do."""
    meta = write_segment(store, "segments/f", "flows", state_table([1, 2, 3]), SPAN, 1)
    whole = store.read("segments/f")
    advice = r"segments/f of flows cannot be used: {}.*Restore the file from a backup"
    for content, what in (
        (b"", f"{meta.bytes} bytes expected, 0 found"),
        (whole[:-100], f"{meta.bytes} bytes expected, {len(whole) - 100} found"),
        (whole[: len(whole) // 2] + b"\0" * (len(whole) - len(whole) // 2), "of its end, its content does not have"),
        (b"x" * len(whole), "of its end, its content does not have"),
    ):
        store.delete("segments/f")
        store.write("segments/f", content)
        for act in (pid_sizes, read_segment):
            with pytest.raises(CheckpointError, match=advice.format(what)):
                act(store, meta)
    store.delete("segments/f")
    with pytest.raises(CheckpointError, match=advice.format("the file is missing")):
        read_segment(store, meta, None)
    store.write("segments/f", whole)
    with pytest.raises(CheckpointError, match="4 rows expected, 3 found"):
        read_segment(store, meta.replace(rows=4), None)


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    """The device that is always full, in place of the segment's file."""
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(CheckpointError, match="is full"):
        write_segment(Store.open(str(tmp_path)), "full", "flows", state_table(list(range(1000))), SPAN, 1)
