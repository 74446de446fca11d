"""Many small files of results into few large ones, with the same rows in the same order.

A batch leaves a file for each query and slot; after months that is millions. Merged files say in their Parquet footer how
many rows each version gave, so that whoever needs a single version (a sink that missed it) can cut it out again. A
file is rewritten about once per tenfold growth, until it has `TARGET` bytes, and then never more.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CheckpointError
from headrace.state.history import KeptFile
from headrace.state.record import ResultFile
from headrace.state.result_parquet import WRITE_CHECKSUMS, open_results, seal_results
from headrace.state.store import Store

TARGET = 64 * 1024 * 1024
_GROUP_ROWS = 131_072  # of a row group
_VERSIONS = b"headrace.versions"

Versions = list[tuple[int, int]]  # version, rows, in the order of the file



class UnreadableFile(Exception):
    """The file at `place` of a run cannot be read to its end."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def merge_files(
    store: Store,
    folder: str,
    files: Sequence[KeptFile],
    target: int = TARGET,
    span: float | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[KeptFile, ...]:
    """`files` with neighbours merged up to `target` bytes, and `span` seconds of commits where that is given.

    Files that cannot be read, and those whose columns differ from their neighbours', stay as they are. `check` is
    called between files, and may raise.
    """
    found: list[KeptFile] = []
    for group in split_groups(files, target, span):
        if len(group) > 1:
            for schema, run in groupby(group, key=lambda kept: _read_schema(store, kept.file)):
                members = list(run)
                found += members if schema is None else _merge(store, folder, members, schema, check)
        else:
            found += group
    return tuple(found)


def split_groups(files: Sequence[KeptFile], target: int, span: float | None) -> Iterator[list[KeptFile]]:
    """Neighbours to be merged. A file of half the target is large enough, and stays alone."""
    group: list[KeptFile] = []
    size = 0
    for kept in files:
        too_long = span is not None and bool(group) and kept.until - group[0].until > span
        if group and (size + kept.file.bytes > target or too_long or kept.file.bytes * 2 >= target):
            yield group
            group, size = [], 0
        group.append(kept)
        size += kept.file.bytes
        if kept.file.bytes * 2 >= target:
            yield group
            group, size = [], 0
    if group:
        yield group


def split_versions(store: Store, kept: KeptFile) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each version in a file."""
    with open_results(store, kept.file) as file:
        counts = _count_versions(file, kept)
        table = file.read(use_threads=False).replace_schema_metadata(None)
    start = 0
    for version, rows in counts:
        yield version, table.slice(start, rows)
        start += rows


def _merge(
    store: Store, folder: str, run: list[KeptFile], schema: pa.Schema, check: Callable[[], None]
) -> list[KeptFile]:
    """One file for a run of files of one schema, except for those that turn out to be damaged."""
    if len(run) < 2:
        return run
    path = f"{folder}/{run[0].first:012d}-{run[-1].last:012d}-{uuid.uuid4().hex}.parquet"
    try:
        rows = _write(store, path, run, schema, check)
    except UnreadableFile as bad:
        store.delete(path)
        before, after = run[: bad.place], run[bad.place + 1 :]
        parts = [_merge(store, folder, part, schema, check) for part in (before, after)]
        return [*parts[0], run[bad.place], *parts[1]]
    except BaseException:
        with suppress(CheckpointError):
            store.delete(path)
        raise
    file = seal_results(store, path, rows)
    return [KeptFile(file, run[0].first, run[-1].last, max(kept.until for kept in run))]


def _write(
    store: Store, path: str, run: list[KeptFile], schema: pa.Schema, check: Callable[[], None]
) -> int:
    """Write the rows of a run, durably; how many they are."""
    versions: Versions = []
    total = 0
    with (
        store.explain(path, "write"),
        store.open_output(path) as out,
        pq.ParquetWriter(out, schema, **WRITE_CHECKSUMS) as writer,
    ):
        waiting: list[pa.RecordBatch] = []
        for place, kept in enumerate(run):
            check()
            batches, counts = _read_whole(store, kept, place)
            versions += counts
            waiting += batches
            total += kept.file.rows
            if sum(batch.num_rows for batch in waiting) >= _GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=_GROUP_ROWS)
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=_GROUP_ROWS)
        writer.add_key_value_metadata({_VERSIONS: json.dumps(versions, separators=(",", ":"))})
    store.sync([path])
    return total


def _read_whole(store: Store, kept: KeptFile, place: int) -> tuple[list[pa.RecordBatch], Versions]:
    """The rows of a file, of which none is large, and the versions they are of."""
    try:
        with open_results(store, kept.file) as file:
            counts = _count_versions(file, kept)
            table = file.read(use_threads=False).replace_schema_metadata(None)
    except (CheckpointError, ValueError) as error:
        raise UnreadableFile(place) from error
    if table.num_rows != kept.file.rows or sum(rows for _, rows in counts) != kept.file.rows:
        raise UnreadableFile(place)
    return table.to_batches(), counts


def _count_versions(file: Any, kept: KeptFile) -> Versions:
    text = (file.metadata.metadata or {}).get(_VERSIONS)
    if text is None:
        return [(kept.first, kept.file.rows)]
    return [(version, rows) for version, rows in json.loads(text)]


def _read_schema(store: Store, file: ResultFile) -> pa.Schema | None:
    """The columns of a file; None if it cannot be read or is not the one that was named."""
    try:
        with open_results(store, file) as parquet:
            return parquet.schema_arrow.remove_metadata() if parquet.metadata.num_rows == file.rows else None
    except CheckpointError:
        return None
