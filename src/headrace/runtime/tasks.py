"""The functions Spark runs in its Python workers. They are importable, so that a plan carries their names and
not their code.
"""

from __future__ import annotations

import errno
import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, groupby

import pyarrow as pa
from pyspark import SparkFiles

from headrace.errors import CheckpointError
from headrace.kernels import connection, payloads
from headrace.kernels.divide_table import split_piece, write_divided, write_pieces
from headrace.kernels.scan import FileChunk, Scan, file_chunks
from headrace.kernels.slot_stage import run_slot
from headrace.kernels.source_stage import run_source
from headrace.kernels.spark_rows import Layout, row_chunks
from headrace.program.messages import Orders
from headrace.program.program import Program
from headrace.program.table_division import TableDivision
from headrace.runtime.orders import receive_orders
from headrace.state import Store
from headrace.state.disk_faults import FORBIDDEN, FULL, describe_fault

Arrow = Iterator[pa.RecordBatch]
_SETTLING = 3  # tasks after which a worker has imported all it will need
_tasks = 0


def source_task(program: Program, layout: Layout) -> Callable[[Arrow], Arrow]:
    """The source stage over rows that Spark sends."""
    return partial(_source, program, layout)


def scan_task(program: Program, scans: tuple[Scan, ...]) -> Callable[[Arrow], Arrow]:
    """The source stage over files; a task is sent its number."""
    return partial(_scan, program, scans)


def slot_task(program: Program, level: int, own: tuple[Scan, ...] | None = None) -> Callable[[Arrow], Arrow]:
    """The slots of a level; those of the first read files of the folders they own."""
    return partial(_slot, program, level, own)


def _source(program: Program, layout: Layout, rows: Arrow) -> Arrow:
    orders = receive_orders().common
    return _guard(orders.store, run_source(program, orders, row_chunks(layout, rows, orders.limits.frame_rows)))


def _scan(program: Program, scans: tuple[Scan, ...], rows: Arrow) -> Arrow:
    file = receive_orders()
    orders = file.common
    mine = [
        split for frame in rows for number in frame.column(0).to_pylist() for split in file.read_splits(number)
    ]
    return _guard(orders.store, run_source(program, orders, file_chunks(scans, mine, orders.limits.file_rows)))


def _slot(program: Program, level: int, own: tuple[Scan, ...] | None, rows: Arrow) -> Arrow:
    file = receive_orders()

    def read_own(orders: Orders) -> Iterator[FileChunk]:
        return file_chunks(own or (), chain(*orders.own_splits), orders.limits.file_rows)

    share = partial(file.read_slot, level)
    return _guard(file.common.store, run_slot(program, share, level, rows, None if own is None else read_own))


def piece_task(store: Store, prefix: str, most: int) -> Callable[[Arrow], Arrow]:
    """Rows of a static table, written down as they come, in files of `most` bytes."""
    return partial(_write_pieces, store, prefix, most)


def split_task(division: TableDivision) -> Callable[[Arrow], Arrow]:
    """A piece of a static table, split by target; a task is sent its number."""
    return partial(_split, division)


def divide_task(division: TableDivision) -> Callable[[Arrow], Arrow]:
    """The rows of one target, sorted and written down."""
    return partial(_divide, division)


def _write_pieces(store: Store, prefix: str, most: int, rows: Arrow) -> Arrow:
    yield from _guard(store, (payloads.make_message(0, piece) for piece in write_pieces(store, prefix, rows, most)))
    pa.default_memory_pool().release_unused()  # a batch needs far less


def _split(division: TableDivision, rows: Arrow) -> Arrow:
    division = replace(division, scratch=SparkFiles.getRootDirectory())
    numbers = [number for frame in rows for number in frame.column(0).to_pylist()]
    found = (
        row
        for number in numbers
        for target, table in split_piece(division, number)
        for row in payloads.make_payloads(target, "", table, division.limits.payload_bytes)
    )
    yield from _guard(division.store, found)
    pa.default_memory_pool().release_unused()


def _divide(division: TableDivision, rows: Arrow) -> Arrow:
    arrived = ((target, payloads.read_table(payload)) for target, _, payload in payloads.read_rows(rows))
    found = (
        payloads.make_message(0, file)
        for target, tables in groupby(arrived, lambda one: one[0])
        for file in write_divided(division, target, (table for _, table in tables))
    )
    yield from _guard(division.store, found)
    pa.default_memory_pool().release_unused()


def _guard(store: Store, rows: Arrow) -> Arrow:
    """What a failing disk says, in the user's words; and no connection is used again after an error."""
    settle()
    try:
        yield from rows
    except OSError as e:
        connection.reset()
        if e.errno in (*FULL, *FORBIDDEN, errno.EIO):
            raise CheckpointError(describe_fault(e, store.uri, "the files of this batch", "write")) from e
        raise
    except BaseException:
        connection.reset()
        raise


def settle() -> None:
    """Spark's worker collects garbage after every task, which takes 100 ms with the modules we import; what a
    worker keeps for life need not be looked at again.
    """
    global _tasks
    if _tasks < _SETTLING:
        gc.freeze()
    _tasks += 1


def greet(rows: Arrow) -> Arrow:
    """A task of the warm-up: a worker that has done it is ready for a batch."""
    settle()
    connection.connect().sql("SELECT 1").to_arrow_table()
    for _ in rows:
        yield payloads.make_message(0, None)
