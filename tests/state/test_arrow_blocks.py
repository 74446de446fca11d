"""Files of blocks: a share is read and checked without the rest, and every bit is covered."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.state import Store, arrow_blocks
from headrace.state.arrow_blocks import BlockFile, Seal, cut_blocks, forget_checks, write_blocks
from headrace.state.checksums import DamagedFile, open_json, seal_json


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store.open(str(tmp_path) if request.param == "local" else "mock:///ck")


def make_table(rows: int) -> pa.Table:
    return pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "word": [f"word {i}" if i % 3 else None for i in range(rows)],
            "list": [[i, i + 1] for i in range(rows)],
        }
    )


def write(store: Store, table: pa.Table, ends: list[int]) -> Seal:
    forget_checks()
    return write_blocks(store, "a", table, cut_blocks(ends, table, 0), {"mine": 1})


def test_runs_are_cut_out_of_blocks(store: Store) -> None:
    """Whatever the blocks are, runs within them, over several, or empty are the rows of the table."""
    table = make_table(100)
    for ends in ([], [100], [10, 11, 50], list(range(1, 100))):
        seal = write(store, table, ends)
        for runs in ([(0, 100)], [(5, 10), (10, 12), (49, 100)], [], [(0, 1), (99, 100)], [(20, 20), (30, 31)]):
            expected = pa.concat_tables([table.slice(0, 0), *(table.slice(a, b - a) for a, b in runs)])
            file = BlockFile(store, "a", seal)
            assert file.read_runs(runs).equals(expected)
            assert file.notes == {"mine": 1}


def test_small_files_are_one_block() -> None:
    """Blocks have a megabyte or more, and begin where they may."""
    small, large = make_table(1000), make_table(200_000)
    assert cut_blocks(range(0, 1000, 10), small) == [1000]
    cuts = cut_blocks(range(1000, 200_000, 1000), large)
    assert 5 < len(cuts) <= large.nbytes / arrow_blocks.BLOCK_BYTES + 1
    assert all(cut % 1000 == 0 for cut in cuts)
    assert cut_blocks([5], large.slice(0, 0)) == []


def test_a_share_of_a_damaged_file_can_be_read(store: Store) -> None:
    """Only the block with the flipped bit is refused, and those before and after are read."""
    table = make_table(90)
    seal = write(store, table, [30, 60])
    middle = BlockFile(store, "a", seal).blocks[1]
    content = bytearray(store.read("a"))
    content[(middle.first + middle.last) // 2] ^= 4
    store.write("a", bytes(content))
    forget_checks()
    file = BlockFile(store, "a", seal)
    assert file.read_runs([(0, 30), (60, 90)]).num_rows == 60
    with pytest.raises(DamagedFile, match="does not have the checksum"):
        file.read_runs([(29, 31)])
    with pytest.raises(DamagedFile, match="does not have the checksum"):
        file.check()


def test_every_bit_is_covered(store: Store) -> None:
    """A flipped bit anywhere is an error or, in what is never looked at, changes nothing."""
    table = make_table(20)
    seal = write(store, table, [7])
    content, rng, noticed = store.read("a"), random.Random(1), 0
    places = rng.sample(range(len(content) * 8), 400)
    for place in places:
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        store.write("a", bytes(damaged))
        forget_checks()
        try:
            assert BlockFile(store, "a", seal).read().equals(table)
        except DamagedFile:
            noticed += 1
    assert noticed == len(places)


def test_a_block_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process: the second look at a file computes nothing."""
    store, counted = Store.open(str(tmp_path)), []
    seal = write(store, make_table(90), [30, 60])
    whole = arrow_blocks.zlib.crc32

    def count(data: Any, value: int = 0) -> int:
        counted.append(len(data))
        return whole(data, value)

    monkeypatch.setattr(arrow_blocks.zlib, "crc32", count)
    BlockFile(store, "a", seal).read_runs([(0, 10)])
    assert len(counted) == 2  # the tail and one block of three
    BlockFile(store, "a", seal).read_runs([(5, 25)])
    assert len(counted) == 2


def test_a_document_is_refused_when_any_value_changes() -> None:
    """Its checksum is of the values, so that it stays JSON which any tool reads."""
    value = {"format": 3, "list": [[1, "ä"], []], "none": None, "float": 0.1}
    content = seal_json(value)
    assert open_json(content) == value
    for place in range(len(content) * 8):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        try:
            assert open_json(bytes(damaged)) == value
        except DamagedFile:
            continue
