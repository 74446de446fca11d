"""Many small files of results into few large ones, with the same rows in the same order for every query.

A batch leaves a file or more for each slot; after months that is millions. Neighbouring files of one list of column types
are merged in *groups*: files that have parts of the same query are in one group, or the later one waits in a later group, so
a query's rows never change their order, whatever file they lie in. Of a group, what a query has becomes one part: in a file
of its own if that is much, else in a file that small ones share. A file is rewritten about once per tenfold growth, until
it has `TARGET` bytes, and then never more. Merged files say in a column which version each row is of, so that whoever needs
a single version (a sink that missed it) can cut it out again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.errors import CheckpointError
from headrace.state.history import KeptFile
from headrace.state.outputs import FilePart, OutputFile, OutputPart, PartKey
from headrace.state.result_parquet import (
    GROUP_ROWS,
    SHARED_ROWS,
    VERSION,
    WRITE_CHECKSUMS,
    describe_columns,
    find_schema,
    open_results,
    read_part,
    read_parts,
    seal_output,
)
from headrace.state.store import Store

TARGET = 64 * 1024 * 1024
SHARED_SHARE = 4  # a file that queries share has a quarter of it, as it is held in memory to be merged
OWN_SHARE = 16  # a part of a sixteenth of the target has a file of its own

Types = tuple[pa.DataType, ...]
Check = Callable[[], None]


class UnreadableFile(Exception):
    """The file at `place` of a group cannot be read to its end."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def merge_files(
    store: Store,
    files: Sequence[KeptFile],
    target: int = TARGET,
    span: float | None = None,
    check: Check = lambda: None,
) -> tuple[KeptFile, ...]:
    """`files` with neighbours merged up to `target` bytes, and `span` seconds of commits where that is given.

    Files that cannot be read stay as they are. `check` is called between files, and may raise.
    """
    found: list[KeptFile] = []
    merge = _Merge(store, target, check)
    for group in split_groups(files, target, span, merge.find_types):
        found += merge.merge_group(group)
    return tuple(found)


@dataclass
class _MergeGroup:
    files: list[KeptFile]
    keys: set[PartKey]
    types: Types | None

    @property
    def bytes(self) -> int:
        return sum(kept.file.bytes for kept in self.files)


def split_groups(
    files: Sequence[KeptFile],
    target: int,
    span: float | None,
    find_types: Callable[[OutputFile], Types | None],
) -> Iterator[list[KeptFile]]:
    """Files to be merged, in an order that keeps that of every query. One of half the target is large enough, and
    stays alone, as does one that cannot be read.
    """
    waiting: list[_MergeGroup] = []
    order = {id(kept): place for place, kept in enumerate(files)}
    for kept in files:
        keys = {part.key for part in kept.file.parts}
        touched = [group for group in waiting if not keys.isdisjoint(group.keys)]
        every = keys.union(*(group.keys for group in touched))
        limit = target if len(every) == 1 else target // SHARED_SHARE
        types = find_types(kept.file) if kept.file.bytes * 2 < limit else None
        size = kept.file.bytes + sum(group.bytes for group in touched)
        first = min((group.files[0].until for group in touched), default=kept.until)
        too_long = span is not None and kept.until - first > span
        fits = types is not None and size <= limit and not too_long and all(g.types == types for g in touched)
        waiting = [group for group in waiting if all(group is not one for one in touched)]
        if not fits:
            yield from (group.files for group in touched)
            touched, every = [], keys
        if types is None:
            yield [kept]
            continue
        joined = sorted([*(one for g in touched for one in g.files), kept], key=lambda one: order[id(one)])
        waiting.append(_MergeGroup(joined, every, types))
    yield from (group.files for group in waiting)


def split_versions(store: Store, part: FilePart, version: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each version in a part; one that was never merged is all of `version`."""
    with open_results(store, part.file) as file:
        table = read_part(file, part.part)
    if VERSION not in table.column_names:
        yield version, table
        return
    versions = table[VERSION]
    rows = table.drop_columns([VERSION])
    for one in pc.unique(versions).to_pylist():
        yield one, rows.filter(pc.equal(versions, one))


class _Merge:
    def __init__(self, store: Store, target: int, check: Check) -> None:
        self.store, self.target, self.check = store, target, check

    def find_types(self, file: OutputFile) -> Types | None:
        """The types of a file's columns; None if it cannot be read or is not the one that was named."""
        try:
            with open_results(self.store, file) as parquet:
                return tuple(find_schema(parquet, file.parts[0]).types) if file.parts else None
        except CheckpointError:
            return None

    def merge_group(self, group: list[KeptFile]) -> list[KeptFile]:
        """A group in as few files as it takes, except for those that turn out to be damaged."""
        if len(group) < 2:
            return group
        written: list[str] = []
        try:
            files = self._write_group(group, written)
        except UnreadableFile as bad:
            self._delete(written)
            before, after = group[: bad.place], group[bad.place + 1 :]
            return [*self.merge_group(before), group[bad.place], *self.merge_group(after)]
        except BaseException:
            with suppress(CheckpointError):
                self._delete(written)
            raise
        self.store.sync(written)
        first, last = min(kept.first for kept in group), max(kept.last for kept in group)
        until = max(kept.until for kept in group)
        return [KeptFile(file, first, last, until) for file in files]

    def _write_group(self, group: list[KeptFile], written: list[str]) -> list[OutputFile]:
        sizes: dict[PartKey, int] = {}
        for kept in group:
            for part in kept.file.parts:
                sizes[part.key] = sizes.get(part.key, 0) + FilePart(kept.file, part).bytes
        own = [key for key, size in sizes.items() if size * OWN_SHARE >= self.target or len(sizes) == 1]
        shared = sorted(key for key in sizes if key not in own)
        tables: dict[int, dict[PartKey, pa.Table]] = {}  # of files that several parts share, which are not large
        return [self._write(group, tables, keys, written) for keys in (*([key] for key in own), shared) if keys]

    def _write(
        self, group: list[KeptFile], tables: dict[int, dict[PartKey, pa.Table]], keys: list[PartKey], written: list[str]
    ) -> OutputFile:
        """One file with what the group has of these; it is complete, and not yet durable."""
        folder = group[0].file.path.rpartition("/")[0] if len(keys) == 1 else "results/shared"
        path = f"{folder}/{group[0].first:012d}-{group[-1].last:012d}-{uuid.uuid4().hex}.parquet"
        written.append(path)
        parts: list[OutputPart] = []
        names: dict[int, list[str]] = {}
        with self.store.explain(path, "write"), self.store.open_output(path) as out, ExitStack() as stack:
            writer: _MergedWriter | None = None
            for key in keys:
                first = writer.rows if writer is not None else 0
                for place, kept in enumerate(group):
                    if kept.file.find(key) is None:
                        continue
                    self.check()
                    if place not in tables:
                        tables[place] = self._read_whole(kept, place)
                    table = tables[place][key]
                    if len(kept.file.parts) == 1:
                        del tables[place]
                    writer = writer or stack.enter_context(closing(_MergedWriter(out, table.schema, len(keys) > 1)))
                    writer.write(table)
                    if table.schema.names != writer.schema.names:
                        names[key.number] = table.schema.names[:-1]
                assert writer is not None
                parts.append(OutputPart(key.number, key.kind, first, writer.rows - first))
            assert writer is not None
            writer.describe(names)
        return seal_output(self.store, path, parts)

    def _read_whole(self, kept: KeptFile, place: int) -> dict[PartKey, pa.Table]:
        """The parts of a file, and the version that each row is of."""
        try:
            tables = read_parts(self.store, kept.file)
        except CheckpointError as error:
            raise UnreadableFile(place) from error
        for key, table in tables.items():
            if VERSION not in table.column_names:
                versions = pa.repeat(pa.scalar(kept.first, pa.int64()), table.num_rows)
                tables[key] = table.append_column(VERSION, versions)
        return tables

    def _delete(self, paths: list[str]) -> None:
        for path in paths:
            self.store.delete(path)


class _MergedWriter:
    """Writes tables with columns of the same types, in row groups of a size."""

    def __init__(self, out: object, schema: pa.Schema, shared: bool) -> None:
        self.schema, self.rows = schema, 0
        self._step = SHARED_ROWS if shared else GROUP_ROWS
        self._waiting: list[pa.RecordBatch] = []
        self._writer = pq.ParquetWriter(
            out,
            schema,
            **WRITE_CHECKSUMS,
            use_dictionary=[name for name in schema.names if name != VERSION],
            column_encoding={VERSION: "DELTA_BINARY_PACKED"},
        )

    def write(self, table: pa.Table) -> None:
        self._waiting += [pa.RecordBatch.from_arrays(b.columns, schema=self.schema) for b in table.to_batches()]
        self.rows += table.num_rows
        if sum(batch.num_rows for batch in self._waiting) >= self._step:
            self._flush()

    def describe(self, names: dict[int, list[str]]) -> None:
        """Say in the footer what parts call their columns."""
        self._flush()
        self._writer.add_key_value_metadata(describe_columns(names))

    def close(self) -> None:
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self.schema), row_group_size=self._step)
        self._waiting = []
