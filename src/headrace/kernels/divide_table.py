"""Dividing a static table by the keys of the lookups that read it.

A table is read once, by tasks that write down *pieces* of it as they come. If all pieces together are small, that is it: every
slot holds all rows. Otherwise each piece is split, for each set of keys that lookups have, by ranges of mini-partitions, and
each range becomes a file sorted by *place*: the mini-partition in the first 16 bits, 48 bits of the keys' hash behind it. This
is the hash that sends the rows of streams to slots (DESIGN section 3.1), so what a slot's rows ask for lies together, in the
files of its mini-partitions, whoever owns them at that batch. A lookup finds the rows of its keys by binary search (`find_rows`):
it costs what the batch asks for, not what the table has. Rows that did not come by these keys find theirs all the same, only
farther apart. Different keys may have one place; the lookup's own condition tells them apart.

A file has blocks of mini-partitions (`state/arrow_blocks.py`), and only those that are asked for are mapped or fetched, and
checked.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.errors import CheckpointError
from headrace.kernels.connection import connect, fetch_arrow
from headrace.program.table_division import TableDivision, TablePiece, name_copy
from headrace.state import Store, TableFile
from headrace.state.arrow_blocks import BlockFile, cut_blocks, write_blocks
from headrace.state.checksums import DamagedFile
from headrace.state.disk_faults import join

PLACE = "_headrace_place"
SHIFT = 48

Places = np.ndarray[Any, np.dtype[np.uint64]]


def place_sql(keys: Sequence[str], pids: int) -> str:
    """Where the rows of these keys are in a divided copy."""
    hashed = f"hash({', '.join(keys)})"
    return f"((({hashed} % {pids}) << {SHIFT}) | ({hashed} >> {64 - SHIFT}))"


# -- reading --------------------
def write_pieces(store: Store, prefix: str, batches: Iterable[pa.RecordBatch], most: int) -> Iterator[TablePiece]:
    """Rows as they come, in files of `most` bytes."""
    for rows in group_by_size((pa.Table.from_batches([batch]) for batch in batches), most):
        file = write_whole(store, f"{prefix}{uuid.uuid4().hex}.arrow", rows)
        yield TablePiece(file, rows.num_rows, rows.nbytes, digest_rows(rows))


def group_by_size(tables: Iterable[pa.Table], limit: int) -> Iterator[pa.Table]:
    """Tables put together until they have so many bytes; none that is empty."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        if table.num_rows:
            held.append(table.replace_schema_metadata(None))
            size += table.nbytes
        if size >= limit:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


def write_whole(store: Store, path: str, rows: pa.Table) -> TableFile:
    """A file of rows as they were read, durable when it returns; it is read as a whole."""
    seal = write_blocks(store, path, rows, cut_blocks((), rows), None)
    store.sync([path])
    return TableFile(path, bytes=seal.bytes, tail=seal.tail, crc=seal.crc)


def digest_rows(rows: pa.Table) -> str:
    """The same for the same rows in the same order."""
    found = hashlib.sha256(rows.schema.serialize())
    for batch in rows.combine_chunks().to_batches():
        found.update(batch.serialize())
    return found.hexdigest()


# -- dividing --------------------
def split_piece(division: TableDivision, number: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a piece for each target, with their place."""
    con = connect(division.time_zone, (), division.memory, division.scratch)
    con.register("piece", read_table_file(division.store, division.pieces[number]))
    try:
        for copy, keys in enumerate(division.keys):
            table = fetch_arrow(con, f"SELECT {place_sql(keys, division.pids)} AS {PLACE}, * FROM piece")
            pids = table[PLACE].to_numpy() >> np.uint64(SHIFT)
            targets = pids.astype(np.int64) * division.ranges // division.pids
            for target in np.unique(targets):
                rows = table.take(pa.array(np.flatnonzero(targets == target)))
                yield copy * division.ranges + int(target), rows
    finally:
        con.unregister("piece")


def write_divided(division: TableDivision, target: int, tables: Iterable[pa.Table]) -> Iterator[TableFile]:
    """The rows of one target as files sorted by place."""
    copy = name_copy(division.keys[target // division.ranges])
    for rows in group_by_size(tables, division.limits.range_bytes):
        path = f"{division.prefix}{copy}-{uuid.uuid4().hex}.arrow"
        yield write_sorted(division.store, path, copy, rows, division.limits.block_bytes)


def write_sorted(store: Store, path: str, copy: str, rows: pa.Table, block: int) -> TableFile:
    """A file of a divided copy, durable when it returns."""
    table = rows.take(pa.array(np.argsort(rows[PLACE].to_numpy(), kind="stable"))).combine_chunks()
    places = table[PLACE].to_numpy()
    ends = (np.flatnonzero(np.diff(places >> np.uint64(SHIFT))) + 1).tolist()
    cuts = cut_blocks(ends, table, block if store.is_local else 0)
    bounds = [[int(places[a]), int(places[b - 1])] for a, b in pairwise([0, *cuts])]
    seal = write_blocks(store, path, table, cuts, bounds)
    store.sync([path])
    return TableFile(path, copy, bounds[0][0] >> SHIFT, bounds[-1][1] >> SHIFT, seal.bytes, seal.tail, seal.crc)


# -- looking up --------------------
def find_rows(store: Store, files: Sequence[TableFile], wanted: Places) -> pa.Table:
    """The rows of a divided copy at these places, which are sorted, each once."""
    found: list[pa.Table] = []
    for file in files:
        ours = clip_places(wanted, file.first << SHIFT, ((file.last + 1) << SHIFT) - 1)
        if len(ours):
            found += search_file(store, file, ours)
    if not found:
        with open_table_file(store, files[0]) as empty:
            return empty.schema.empty_table().drop_columns([PLACE])
    return pa.concat_tables(found)


def search_file(store: Store, file: TableFile, wanted: Places) -> Iterator[pa.Table]:
    """The rows at these places in one file."""
    with open_table_file(store, file) as blocks:
        for number, (low, high) in enumerate(blocks.notes):
            ours = clip_places(wanted, low, high)
            if not len(ours):
                continue
            rows = pa.Table.from_batches([blocks.read_block(number)])
            places = rows[PLACE].chunk(0).to_numpy()
            starts, ends = np.searchsorted(places, ours, "left"), np.searchsorted(places, ours, "right")
            taken = rows.take(pa.array(list_ranges(starts, ends)))
            if taken.num_rows:
                yield taken.drop_columns([PLACE])


def clip_places(wanted: Places, low: int, high: int) -> Places:
    """Those from `low` to `high`, both included."""
    return wanted[np.searchsorted(wanted, np.uint64(low), "left") : np.searchsorted(wanted, np.uint64(high), "right")]


def list_ranges(starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers of all ranges [start, end), one behind the other."""
    counts = ends - starts
    before = np.cumsum(counts) - counts
    numbers: np.ndarray[Any, Any] = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return numbers


def read_table_file(store: Store, file: TableFile) -> pa.Table:
    """All rows of a table's file; on the local disk nothing is copied."""
    with open_table_file(store, file) as blocks:
        return blocks.read()


@contextmanager
def open_table_file(store: Store, file: TableFile) -> Iterator[BlockFile]:
    """A table's file to read, and what is said if it is damaged."""
    try:
        yield BlockFile(store, file.path, file.seal)
    except (DamagedFile, OSError, pa.ArrowException) as error:
        raise CheckpointError(
            f"{join(store.uri, file.path)} is not the table it was ({error}); restore the file, or start again: "
            "the table is then read anew"
        ) from error


def is_whole(store: Store, file: TableFile) -> bool:
    """Whether a table's file is there, and as it was written."""
    try:
        with open_table_file(store, file) as blocks:
            blocks.check()
    except CheckpointError:
        return False
    return True
