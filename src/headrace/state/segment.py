"""Segments: the immutable files that state is made of (DESIGN section 5).

A segment is an Arrow IPC file with rows of one node's state, sorted by mini-partition (`pid`). Where each
pid ends is kept in the schema of the file, so a slot that owns some of the pids takes slices of the columns
and looks at no other row. On the local disk the file is not compressed and is read through a memory map:
the table *is* the page cache, and only the pages of the pids that are used are ever read. Elsewhere the
buffers are compressed (LZ4), as the network is slower than that.

`SegmentMeta` is what a manifest keeps: enough to decide, without opening the file, whether a slot needs it
(`pids`) and whether progress has passed it (`max_pane`). The Arrow footer is at the end of the file, so one
that was cut short is recognised when it is opened, and its size is compared with the manifest's first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import CheckpointError, InternalError
from headrace.state.faults import join
from headrace.state.store import Store

ENDS = b"headrace.ends"
REQUIRED = {"pid": pa.uint16(), "pane": pa.int64()}
LOCAL = pa.ipc.IpcWriteOptions(unify_dictionaries=True)
REMOTE = pa.ipc.IpcWriteOptions(unify_dictionaries=True, compression="lz4")


@dataclass(frozen=True, slots=True)
class SegmentMeta:
    """A segment as a manifest names it. `pids` is sorted; `min_pane` > `max_pane` means no row."""

    path: str
    node: str
    rows: int
    bytes: int
    pids: tuple[int, ...]
    min_pane: int
    max_pane: int
    level: int = 0

    def to_json(self) -> list[Any]:
        """A JSON array, in the order of the fields; the pids are a bit set in hexadecimal."""
        bits = pids_to_hex(self.pids)
        return [self.path, self.node, self.rows, self.bytes, bits, self.min_pane, self.max_pane, self.level]

    @staticmethod
    def from_json(value: list[Any]) -> SegmentMeta:
        """The inverse of `to_json`."""
        path, node, rows, size, bits, low, high, level = value
        return SegmentMeta(path, node, rows, size, pids_from_hex(bits), low, high, level)


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


def write_segment(store: Store, path: str, node: str, table: pa.Table, level: int = 0) -> SegmentMeta:
    """Write state rows, already sorted by `pid`, as the segment `path`; durable when it returns."""
    for name, kind in REQUIRED.items():
        if name not in table.column_names or table.schema.field(name).type != kind or table[name].null_count:
            raise InternalError(
                f"state of {node}: expected column {name} {kind} without nulls, got {table.schema}"
            )
    ends = pid_ends(node, table)
    span = pc.min_max(table["pane"])
    metadata = {**(table.schema.metadata or {}), ENDS: json.dumps([list(ends), list(ends.values())])}
    table = table.combine_chunks().replace_schema_metadata(metadata)
    options = LOCAL if store.is_local else REMOTE
    with store.explain(path, "write"):
        with store.open_output(path) as sink:
            with pa.ipc.new_file(sink, table.schema, options=options) as writer:
                writer.write_table(table)
            size = sink.tell()
        store.sync(path)
    low, high = (span["min"].as_py(), span["max"].as_py()) if table.num_rows else (0, -1)
    return SegmentMeta(path, node, table.num_rows, size, tuple(ends), low, high, level)


def pid_ends(node: str, table: pa.Table) -> dict[int, int]:
    """For each pid present, the number of the row after its last one."""
    column = table["pid"].combine_chunks()
    runs = pc.run_end_encode(column)
    pids = runs.values.to_pylist()
    if any(left >= right for left, right in pairwise(pids)):
        raise InternalError(f"state of {node} is not sorted by pid, as a segment must be")
    return dict(zip(pids, runs.run_ends.to_pylist(), strict=True))


def read_segment(store: Store, meta: SegmentMeta, pids: frozenset[int] | None = None) -> pa.Table:
    """The rows of `pids` (None: all), in the order of the file; on the local disk nothing is copied."""
    reader, ends = open_segment(store, meta)
    metadata = {key: value for key, value in (reader.schema.metadata or {}).items() if key != ENDS}
    if pids is not None and pids.isdisjoint(ends):
        return reader.schema.with_metadata(metadata).empty_table()
    try:
        table = reader.read_all().replace_schema_metadata(metadata)
    except (OSError, pa.ArrowException) as error:
        raise damaged(store, meta, str(error)) from error
    if table.num_rows != meta.rows:
        raise damaged(store, meta, f"{meta.rows} rows expected, {table.num_rows} found")
    if pids is None or pids.issuperset(ends):
        return table
    return pa.concat_tables([table.slice(start, end - start) for start, end in runs_of(ends.items(), pids)])


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


def pid_sizes(store: Store, meta: SegmentMeta) -> dict[int, int]:
    """The number of rows of each pid, from the footer alone."""
    _, ends = open_segment(store, meta)
    previous = [0, *ends.values()]
    return {pid: end - start for (pid, end), start in zip(ends.items(), previous, strict=False)}


def open_segment(store: Store, meta: SegmentMeta) -> tuple[Any, dict[int, int]]:
    """A reader of the file and the end of each pid in it, after checks that cost no scan."""
    try:
        source = store.open_input(meta.path)
    except CheckpointError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise damaged(store, meta, "the file is missing") from error
        raise
    try:
        if source.size() != meta.bytes:
            raise damaged(store, meta, f"{meta.bytes} bytes expected, {source.size()} found")
        reader = pa.ipc.open_file(source)
        pids, rows = json.loads(reader.schema.metadata[ENDS])
        ends = dict(zip(pids, rows, strict=True))
    except (OSError, pa.ArrowException, TypeError, KeyError, ValueError) as error:
        raise damaged(store, meta, f"it is not a segment ({error})") from error
    return reader, ends


def damaged(store: Store, meta: SegmentMeta, what: str) -> CheckpointError:
    return CheckpointError(
        f"segment {join(store.uri, meta.path)} of {meta.node} cannot be used: {what}. The last "
        "manifest names it, so "
        f"{meta.rows} rows of open windows are in it. Restore the file from a backup; without "
        "one, start with a "
        "new checkpoint. Results committed so far can still be read from this one."
    )
