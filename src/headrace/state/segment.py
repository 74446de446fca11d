"""Segments: the immutable files that state is made of (DESIGN section 5).

A segment is a file with rows of one node's state, sorted by mini-partition (`pid`), in blocks of whole pids
(`arrow_blocks`). Where each pid ends is kept in its trailer, so a slot that owns some of the pids takes slices of the
columns, and looks at and checks no other block. On the local disk the table *is* the page cache.

`SegmentMeta` is what a manifest keeps: enough to decide, without opening the file, whether a slot needs it
(`pids`) and whether progress has passed it (`upper`). What the rows mean is their operator's business: a segment
knows its node, the values of progress that they cover, from `lower` to before `upper`, and the `version` of
the batch that wrote it. A `generation` tells rows apart that are not joined with each other yet; all are of generation 0 today.
Mini-partitions are *released* one by one, as the slots that own them merge their share into newer segments or need
it no more; the file goes with its last one. Whatever a disk has done to a file is noticed when it is read, by its size and
its checksums, and is an error that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import CheckpointError, InternalError
from headrace.state.arrow_blocks import BlockFile, Seal, cut_blocks, write_blocks
from headrace.state.checksums import DamagedFile
from headrace.state.disk_faults import join
from headrace.state.sealed_lines import Row
from headrace.state.store import Store


class Span(NamedTuple):
    """The progressing values [lower, upper) that rows cover."""

    lower: int
    upper: int


class SegmentMeta(Row, frozen=True):
    """A segment as a manifest names it. `held` are its mini-partitions that are not released yet, as a number with their
    bits set, in hexadecimal; `live_rows` are theirs.
    """

    path: str
    node: str
    rows: int  # in the file
    bytes: int
    held: str
    lower: int  # the progressing values that its rows cover
    upper: int  # are before this
    live_rows: int
    version: int  # of the batch that wrote it
    tier: int = 0  # how often its rows have been merged
    generation: int = 0  # of its node's rows
    tail: int = 0  # where in the file its end begins, which has the checksum `crc`
    crc: int = 0

    @property
    def pids(self) -> tuple[int, ...]:
        """The mini-partitions that are not released yet, sorted."""
        return pids_from_hex(self.held)

    @property
    def seal(self) -> Seal:
        """What the file is checked by."""
        return Seal(self.bytes, self.tail, self.crc)

    @property
    def live_bytes(self) -> int:
        """The share of the file that is not released, by rows."""
        return self.bytes * self.live_rows // max(self.rows, 1)

    def release(self, pids: Iterable[int], rows: int) -> SegmentMeta | None:
        """What is left when these mini-partitions, with so many rows, are not needed any more."""
        gone = set(pids)
        left = tuple(pid for pid in self.pids if pid not in gone)
        return self.keep(left, self.live_rows - rows) if left else None

    def keep(self, pids: Iterable[int], rows: int | None = None) -> SegmentMeta:
        """The same file, of which only these mini-partitions are looked at; they have so many rows, if that is known."""
        return self.replace(held=pids_to_hex(tuple(pids)), live_rows=self.live_rows if rows is None else rows)


@lru_cache(maxsize=4096)  # the segments of a slot mostly have the same pids, batch after batch
def pids_to_hex(pids: tuple[int, ...]) -> str:
    """A set of pids as a number with these bits set, in hexadecimal."""
    digits = bytearray(max(pids, default=0) // 8 + 1)
    for pid in pids:
        digits[pid >> 3] |= 1 << (pid & 7)
    return f"{int.from_bytes(digits, 'little'):x}"


@lru_cache(maxsize=4096)
def pids_from_hex(text: str) -> tuple[int, ...]:
    """The inverse of `pids_to_hex`, sorted."""
    return tuple(pid for pid, bit in enumerate(reversed(f"{int(text, 16):b}")) if bit == "1")


def write_segment(
    store: Store,
    path: str,
    node: str,
    table: pa.Table,
    span: Span,
    version: int,
    tier: int = 0,
    generation: int = 0,
) -> SegmentMeta:
    """Write state rows, already sorted by `pid`, as the segment `path`; durable after `Store.sync`."""
    if (
        "pid" not in table.column_names
        or table.schema.field("pid").type != pa.uint16()
        or table["pid"].null_count
    ):
        raise InternalError(
            f"state of {node}: expected a column pid uint16 without nulls, got {table.schema}"
        )
    ends = pid_ends(node, table)
    seal = write_blocks(
        store, path, table, cut_blocks(ends.values(), table), [list(ends), list(ends.values())]
    )
    rows = table.num_rows
    return SegmentMeta(
        path,
        node,
        rows,
        seal.bytes,
        pids_to_hex(tuple(ends)),
        span.lower,
        span.upper,
        rows,
        version,
        tier,
        generation,
        tail=seal.tail,
        crc=seal.crc,
    )


def pid_ends(node: str, table: pa.Table) -> dict[int, int]:
    """For each pid present, the number of the row after its last one."""
    column = table["pid"].combine_chunks()
    runs = pc.run_end_encode(column)
    pids = runs.values.to_pylist()
    if pids != sorted(set(pids)):
        raise InternalError(f"state of {node} is not sorted by pid, as a segment must be")
    return dict(zip(pids, runs.run_ends.to_pylist(), strict=True))


def read_segment(store: Store, meta: SegmentMeta, pids: frozenset[int] | None = None) -> pa.Table:
    """The rows of those of `pids` (None: all) that are not released, in the order of the file; on the local disk
    nothing is copied.
    """
    mine = frozenset(meta.pids) if pids is None else pids.intersection(meta.pids)
    with _explained(store, meta):
        file, ends = _open_segment(store, meta)
        return file.read_runs(runs_of(ends, mine))


def runs_of(ends: Iterable[tuple[int, int]], pids: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The rows [start, end) of `pids`, neighbours joined into one run."""
    start: int | None = None
    previous = 0
    for pid, end in ends:
        if pid in pids:
            start = previous if start is None else start
        elif start is not None:
            yield start, previous
            start = None
        previous = end
    if start is not None:
        yield start, previous


def pid_sizes(store: Store, meta: SegmentMeta) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The number of rows that each pid has in the file, by pid, from the footer alone."""
    with _explained(store, meta):
        _, ends = _open_segment(store, meta)
    sizes = np.zeros(max((pid for pid, _ in ends), default=0) + 1, np.int64)
    sizes[[pid for pid, _ in ends]] = np.diff([end for _, end in ends], prepend=0)
    return sizes


def _open_segment(store: Store, meta: SegmentMeta) -> tuple[BlockFile, list[tuple[int, int]]]:
    """The file, and where each pid ends in it."""
    file = BlockFile(store, meta.path, meta.seal)
    if file.rows != meta.rows:
        raise DamagedFile(f"{meta.rows} rows expected, {file.rows} found")
    return file, list(zip(*file.notes, strict=True))


@contextmanager
def _explained(store: Store, meta: SegmentMeta) -> Iterator[None]:
    try:
        yield
    except CheckpointError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise explain_damage(store, meta, "the file is missing") from error
        raise
    except (DamagedFile, OSError, pa.ArrowException) as error:
        raise explain_damage(store, meta, str(error)) from error


def explain_damage(store: Store, meta: SegmentMeta, what: str) -> CheckpointError:
    return CheckpointError(
        f"segment {join(store.uri, meta.path)} of {meta.node} cannot be used: {what}. The last "
        "manifest names it, so "
        f"{meta.rows} rows of open windows are in it. Restore the file from a backup; without "
        "one, start with a "
        "new checkpoint. Results committed so far can still be read from this one."
    )
