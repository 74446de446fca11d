"""What travels between stages: rows (slot, node, payload), the payload an Arrow IPC stream or a pickled message.

Rows of a batch cross Spark's shuffle inside opaque payloads, so the JVM never takes them apart into its own
rows and back; it moves a few large values per task. `node` says whose partial rows they are; the reserved name
MESSAGE is for what tasks tell each other and the driver (`program/messages.py`).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.state.leaf_numbers import list_owners
from headrace.state.split_route import SplitRoute

EXCHANGE = "slot INT, node STRING, payload BINARY"
SCHEMA = pa.schema([("slot", pa.int32()), ("node", pa.string()), ("payload", pa.binary())])
MESSAGE = "#message"


def make_row(slot: int, node: str, payload: bytes | pa.Buffer) -> pa.RecordBatch:
    data = payload if isinstance(payload, bytes) else payload.to_pybytes()
    return pa.record_batch(
        [pa.array([slot], pa.int32()), pa.array([node]), pa.array([data], pa.binary())], schema=SCHEMA
    )


def make_message(slot: int, message: object) -> pa.RecordBatch:
    return make_row(slot, MESSAGE, pickle.dumps(message))


def make_messages(slots: Sequence[int], message: object) -> pa.RecordBatch:
    """One message to several slots, pickled once."""
    data, count = pickle.dumps(message), len(slots)
    columns = [pa.array(slots, pa.int32()), pa.array([MESSAGE] * count), pa.array([data] * count, pa.binary())]
    return pa.record_batch(columns, schema=SCHEMA)


def make_payloads(slot: int, node: str, table: pa.Table, most: int) -> Iterator[pa.RecordBatch]:
    """A table as one payload, or as several of `most` bytes."""
    if table.num_rows == 0:
        return
    pieces = max(1, -(-table.nbytes // most))
    step = -(-table.num_rows // pieces)
    for start in range(0, table.num_rows, step):
        sink = pa.BufferOutputStream()
        piece = table.slice(start, step)
        with pa.ipc.new_stream(sink, piece.schema) as writer:
            writer.write_table(piece)
        yield make_row(slot, node, sink.getvalue())


def split_by_slot(table: pa.Table, route: SplitRoute, slots: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each slot, by the mini-partition in column `pid`."""
    if slots == 1:
        yield 0, table
        return
    target = list_owners(route)[table.column("pid").to_numpy()]
    for slot in range(slots):
        where = np.flatnonzero(target == slot)
        if len(where):
            yield slot, table.take(pa.array(where))


def read_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, str, pa.Buffer]]:
    """(slot, node, payload) of everything a task was sent."""
    for batch in batches:
        slots, nodes, payloads = batch.columns
        for i in range(batch.num_rows):
            yield slots[i].as_py(), nodes[i].as_py(), payloads[i].as_buffer()


def read_table(payload: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(payload).read_all()


def read_message(payload: pa.Buffer | bytes) -> Any:
    return pickle.loads(payload)
