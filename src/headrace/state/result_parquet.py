"""Parquet files of results and late rows: how they are laid out, and checked when they are read.

The rows of a part lie together, in row groups that are small where parts are, so that one query is read without the rest.
Parts of a file have columns of the same types, by position. The names of the first part's are the file's; where another
part has others, the footer says them. A file that compaction has merged has a column more, the version of each row.

Each page has Parquet's own CRC-32, which every reader that wants to can verify; the CRC-32 of the footer is kept by
whoever names the file, a manifest or a page of the history. Together they cover every byte that decides an answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CheckpointError
from headrace.state.checksums import WRONG, DamagedFile
from headrace.state.disk_faults import join
from headrace.state.outputs import FilePart, OutputFile, OutputPart, PartKey
from headrace.state.store import Store

WRITE_CHECKSUMS = {"write_page_checksum": True}  # for every writer of such a file
GROUP_ROWS = 131_072  # of a row group
SHARED_ROWS = 4_096  # of one in a file with several parts
VERSION = "_headrace_version"  # the column of merged files
_COLUMNS = b"headrace.columns"
_END = 8  # bytes: the length of the footer, and PAR1


def seal_output(store: Store, path: str, parts: Sequence[OutputPart]) -> OutputFile:
    """How a manifest names a file that was just written."""
    with store.open_input(path) as source:
        size = source.size()
        source.seek(max(size - _END, 0))
        tail = max(size - _END - int.from_bytes(source.read(4), "little"), 0)
        return OutputFile(path, size, tail, _check_sum(source, tail, size), tuple(parts))


def describe_columns(names: Mapping[int, Sequence[str]]) -> dict[bytes, bytes]:
    """Metadata of the footer: the columns of parts, by number, that are not called as the file's."""
    return {_COLUMNS: msgspec.json.encode(names)} if names else {}


def read_results(store: Store, part: FilePart) -> pa.Table:
    """The rows of a part."""
    with open_results(store, part.file) as parquet:
        return read_part(parquet, part.part).drop_columns([VERSION] if _is_merged(parquet) else [])


def stream_results(store: Store, part: FilePart) -> Iterator[pa.RecordBatch]:
    """The rows of a part, a row group at a time."""
    with open_results(store, part.file) as parquet:
        gone = [VERSION] if _is_merged(parquet) else []
        for table in _read_groups(parquet, part.part):
            yield from table.drop_columns(gone).to_batches()


def read_parts(store: Store, file: OutputFile) -> dict[PartKey, pa.Table]:
    """All parts of a file, with the column of versions if the file has it: one by one, the same pages would be read again."""
    with open_results(store, file) as parquet:
        if len(file.parts) == 1:
            return {part.key: read_part(parquet, part) for part in file.parts}
        whole = parquet.read(use_threads=False).replace_schema_metadata(None)
        found: dict[PartKey, pa.Table] = {}
        names = _read_names(parquet)
        for part in file.parts:
            table = whole.slice(part.first, part.rows)
            own = names.get(part.number)
            found[part.key] = table if own is None else _rename(table, own)
        return found


class SharedReads:
    """Reads parts of files one after the other; a file that several share is read once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._shared: dict[str, dict[PartKey, pa.Table]] = {}

    def read(self, part: FilePart) -> pa.Table:
        """The rows of a part."""
        if part.is_whole:
            return read_results(self.store, part)
        if part.path not in self._shared:
            self._shared[part.path] = read_parts(self.store, part.file)
        table = self._shared[part.path][part.part.key]
        return table.drop_columns([VERSION]) if VERSION in table.column_names else table


def read_part(parquet: pq.ParquetFile, part: OutputPart) -> pa.Table:
    """The rows of a part of an open file, with the column of versions if the file has it."""
    tables = list(_read_groups(parquet, part))
    return pa.concat_tables(tables) if tables else parquet.schema_arrow.remove_metadata().empty_table()


def find_schema(parquet: pq.ParquetFile, part: OutputPart) -> pa.Schema:
    """The columns of a part, without that of versions."""
    schema = parquet.schema_arrow.remove_metadata()
    fields = [schema.field(i) for i, name in enumerate(schema.names) if name != VERSION]
    names = _read_names(parquet).get(part.number) or [field.name for field in fields]
    return pa.schema([field.with_name(name) for field, name in zip(fields, names, strict=True)])


def check_results(store: Store, file: OutputFile) -> None:
    """Refuse a file whose size or footer is not as it was written; whoever reads it then verifies its pages."""
    with open_results(store, file):
        pass


@contextmanager
def open_results(store: Store, file: OutputFile) -> Iterator[pq.ParquetFile]:
    """The file to read, its footer checked; pages are checked as they are read. What is raised within about the file is
    explained.
    """
    with store.open_input(file.path) as source:
        try:
            _check_footer(source, file)
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            if parquet.metadata.num_rows != file.rows:
                raise DamagedFile(f"{file.rows} rows expected, {parquet.metadata.num_rows} found")
            yield parquet
        except (DamagedFile, OSError, pa.ArrowException) as error:
            raise CheckpointError(
                f"result file {join(store.uri, file.path)} cannot be read: {_first_line(error)}. A manifest names it with "
                f"{file.rows} rows; restore it from a backup, or compute the results again with a new checkpoint"
            ) from error


def _read_groups(parquet: pq.ParquetFile, part: OutputPart) -> Iterator[pa.Table]:
    """The rows of a part, from the row groups it lies in."""
    names = _read_names(parquet).get(part.number)
    last, start = part.first + part.rows, 0
    for group in range(parquet.metadata.num_row_groups):
        end = start + parquet.metadata.row_group(group).num_rows
        if start < last and part.first < end:
            table = parquet.read_row_group(group, use_threads=False).replace_schema_metadata(None)
            if names is not None:
                table = _rename(table, names)
            begin = max(part.first - start, 0)
            yield table.slice(begin, min(last, end) - start - begin)
        start = end


def _read_names(parquet: pq.ParquetFile) -> dict[int, list[str]]:
    """The names of columns, of parts of which they are not those of the file."""
    text = (parquet.metadata.metadata or {}).get(_COLUMNS)
    return {} if text is None else msgspec.json.decode(text, type=dict[int, list[str]])


def _rename(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """With other names for the first columns; a column of versions behind them keeps its own."""
    return table.rename_columns([*names, *table.column_names[len(names) :]])


def _is_merged(parquet: pq.ParquetFile) -> bool:
    return VERSION in parquet.schema_arrow.names


def _check_footer(source: Any, file: OutputFile) -> None:
    size = source.size()
    if size != file.bytes:
        raise DamagedFile(f"{file.bytes} bytes expected, {size} found")
    if _check_sum(source, file.tail, size) != file.crc:
        raise DamagedFile(f"of its footer, {WRONG}")


def _check_sum(source: Any, tail: int, size: int) -> int:
    """That of the footer and of what says how long it is."""
    source.seek(tail)
    return zlib.crc32(source.read_buffer(size - tail))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
