"""Parquet files of results and late rows, checked when they are read.

Each page has Parquet's own CRC-32, which every reader that wants to can verify; the CRC-32 of the footer is kept by
whoever names the file, a manifest or a page of the history. Together they cover every byte that decides an answer.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CheckpointError
from headrace.state.checksums import WRONG, DamagedFile
from headrace.state.disk_faults import join
from headrace.state.record import ResultFile
from headrace.state.store import Store

WRITE_CHECKSUMS = {"write_page_checksum": True}  # for every writer of such a file
_END = 8  # bytes: the length of the footer, and PAR1


def seal_results(store: Store, path: str, rows: int) -> ResultFile:
    """How a manifest names a file that was just written."""
    with store.open_input(path) as source:
        size = source.size()
        return ResultFile(path, rows, size, zlib.crc32(_read_footer(source, size)))


def read_results(store: Store, file: ResultFile) -> pa.Table:
    """All rows of a file."""
    with open_results(store, file) as parquet:
        table = parquet.read(use_threads=False).replace_schema_metadata(None)
        if table.num_rows != file.rows:
            raise DamagedFile(f"{file.rows} rows expected, {table.num_rows} found")
        return table


def check_results(store: Store, file: ResultFile) -> None:
    """Refuse a file whose size or footer is not as it was written; whoever reads it then verifies its pages."""
    with open_results(store, file):
        pass


@contextmanager
def open_results(store: Store, file: ResultFile) -> Iterator[pq.ParquetFile]:
    """The file to read, its footer checked; pages are checked as they are read. What is raised within about the file is
    explained.
    """
    with store.open_input(file.path) as source:
        try:
            _check_footer(source, file)
            yield pq.ParquetFile(source, page_checksum_verification=True)
        except (DamagedFile, OSError, pa.ArrowException) as error:
            raise CheckpointError(
                f"result file {join(store.uri, file.path)} cannot be read: {_first_line(error)}. A manifest names it with "
                f"{file.rows} rows; restore it from a backup, or compute the results again with a new checkpoint"
            ) from error


def _check_footer(source: Any, file: ResultFile) -> None:
    size = source.size()
    if size != file.bytes:
        raise DamagedFile(f"{file.bytes} bytes expected, {size} found")
    if zlib.crc32(_read_footer(source, size)) != file.crc:
        raise DamagedFile(f"of its footer, {WRONG}")


def _read_footer(source: Any, size: int) -> pa.Buffer:
    """The footer with what says how long it is. A wrong length gives other bytes, and so another checksum."""
    source.seek(max(size - _END, 0))
    length = int.from_bytes(source.read(4), "little")
    source.seek(max(size - _END - length, 0))
    return source.read_buffer(size)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
