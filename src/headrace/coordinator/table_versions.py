"""Which version of each static table a batch uses: decided here, on the driver, never in a task.

A table is read when a run begins and, if it says REFRESH EVERY, at the first batch after that time. What was read becomes files
under `tables/` of the checkpoint that never change. The orders of a batch name them, its manifest too, so all its
tasks, retried or not, look up the same rows, and they are collected as garbage when neither of the last two manifests names
them. A batch that was never committed may be done again with a newer version: nobody has seen the older one's answers.

How large a table is shows when it has been read: tasks write it down in pieces. Up to a limit these become one file, which every
slot holds. A larger one is divided by the keys of the lookups (`kernels/divide_table.py`), also by tasks: the driver never
holds more than the limit. It is decided for each version anew, and no result depends on it.

A reading that brings the pieces it brought before makes no new files.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import duckdb
import pyarrow as pa

from headrace.errors import HeadraceError, SourceError
from headrace.kernels.divide_table import is_whole, read_table_file, write_whole
from headrace.logical.graph import StaticTable
from headrace.program.limits import Limits
from headrace.program.program import Program
from headrace.program.step import TableUse
from headrace.program.table_division import TableDivision, TablePiece, name_copy
from headrace.state import Store, TableFile, TableVersion


class TableReader(Protocol):
    """Whoever reads and divides tables: Spark's tasks, or this process."""

    def write_pieces(
        self, table: StaticTable, columns: Sequence[str], store: Store, prefix: str, most: int
    ) -> list[TablePiece]:
        """These columns of all rows, in files of `most` bytes whose paths begin with `prefix`."""

    def read_empty(self, table: StaticTable, columns: Sequence[str]) -> pa.Table:
        """No rows, in the types of those that `write_pieces` writes."""

    def divide(self, division: TableDivision) -> list[TableFile]:
        """The files of all its targets."""


class TableVersions:
    """The tables of a set, each read by `reader` and divided if it has more bytes than every slot may hold."""

    def __init__(
        self,
        store: Store,
        tables: Iterable[StaticTable],
        program: Program,
        reader: TableReader,
        before: Mapping[str, TableVersion],
        limits: Limits,
        memory: int | None = None,
    ) -> None:
        self._store, self._reader, self._program, self._memory = store, reader, program, memory
        self._tables = {t.name: t for t in tables}
        self._limits = limits
        self._before = before  # versions that the last manifest names
        self.chosen: dict[str, TableVersion] = {}  # for the batch under way

    def choose(self, version: int, now: int) -> dict[str, TableVersion]:
        """The versions for a batch at the time `now`; what is too old is read again."""
        for use in self._program.static_tables():
            table, last = self._tables[use.table], self.chosen.get(use.table)
            if last is None or (table.refresh is not None and now >= last.read_at + table.refresh):
                try:
                    found = self._renew(table, use, last, version, now)
                except HeadraceError:
                    raise
                except Exception as e:
                    raise SourceError(f"table {table.name} cannot be read: {e}") from e
                self.chosen = {**self.chosen, table.name: found}
        return self.chosen

    def _renew(
        self, table: StaticTable, use: TableUse, last: TableVersion | None, version: int, now: int
    ) -> TableVersion:
        columns = use.columns or table.columns[:1]
        prefix = f"tables/{table.name}/{version:012d}-"
        pieces = self._reader.write_pieces(table, columns, self._store, prefix, self._limits.piece_bytes)
        size = sum(p.bytes for p in pieces)
        divided = size > self._limits.broadcast_bytes
        digest = _digest(columns, pieces, self._program.pids, use.keys if divided else ())
        known = last or self._find_before(table.name)
        if known is not None and (digest, divided) == (known.digest, known.divided):
            self._delete(p.file.path for p in pieces)
            return known.replace(read_at=now)
        files = (
            self._divide(use, prefix, pieces) if divided else (self._gather(table, columns, prefix, pieces),)
        )
        named = {file.path for file in files}
        self._delete(p.file.path for p in pieces if p.file.path not in named)
        return TableVersion(files, now, digest, sum(p.rows for p in pieces), size, divided)

    def _find_before(self, name: str) -> TableVersion | None:
        """The version of the last manifest, unless a file of it is damaged: then the table is written down anew."""
        before = self._before.get(name)
        return (
            before
            if before is not None and all(is_whole(self._store, file) for file in before.files)
            else None
        )

    def _gather(
        self, table: StaticTable, columns: Sequence[str], prefix: str, pieces: Sequence[TablePiece]
    ) -> TableFile:
        """One file with all rows."""
        if len(pieces) == 1:
            return pieces[0].file
        parts = [read_table_file(self._store, p.file) for p in pieces]
        rows = pa.concat_tables(parts) if parts else self._reader.read_empty(table, columns)
        return write_whole(self._store, f"{prefix}{uuid.uuid4().hex}.arrow", rows)

    def _divide(self, use: TableUse, prefix: str, pieces: Sequence[TablePiece]) -> tuple[TableFile, ...]:
        """A copy for each set of keys; for lookups without keys the pieces themselves."""
        pieces_read = tuple(p.file for p in pieces)
        files = pieces_read if () in use.keys else ()
        keys = tuple(k for k in use.keys if k)
        if not keys:
            return files
        size = sum(p.bytes for p in pieces)
        ranges = min(max(1, -(-size // self._limits.piece_bytes)), self._program.pids)
        division = TableDivision(
            self._store,
            prefix,
            pieces_read,
            keys,
            ranges,
            self._program.pids,
            self._program.time_zone,
            self._limits,
            self._memory,
        )
        return (*files, *self._reader.divide(division))

    def _delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(HeadraceError):  # else it is garbage, like files of attempts that died
                self._store.delete(path)

    def notes(self) -> list[str]:
        """What a user should know of large tables."""
        found = []
        for use in self._program.static_tables():
            version = self.chosen.get(use.table)
            if version is not None and version.divided and () in use.keys:
                found.append(
                    f"table {use.table} has {version.bytes:,} bytes, more than the limit for tables that every slot holds, but a "
                    "query looks it up without equal keys, so every slot reads all of it; join it by a key"
                )
        return found


def _digest(
    columns: Sequence[str], pieces: Iterable[TablePiece], pids: int, keys: tuple[tuple[str, ...], ...]
) -> str:
    """Of the rows, and of what decides how they are divided: another DuckDB may hash in another way."""
    how = [duckdb.__version__, str(pids), *map(name_copy, keys)] if keys else []
    return hashlib.sha256(repr((list(columns), sorted(p.digest for p in pieces), how)).encode()).hexdigest()
