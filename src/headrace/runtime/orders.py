"""How orders reach the tasks.

They are one file of the checkpoint, which tasks open in any case, and each reads its part (`program/order_file.py`). Where it is
travels with the Spark job, as a local property that every task of it can read, and not inside of the tasks' functions. So
the functions, and with them the plan, are the same for every batch: a batch read from files is one plan prepared at the
start and run again and again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache

from pyspark import SparkFiles, TaskContext
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError, InternalError
from headrace.program.messages import Orders
from headrace.program.order_file import OrderReader, cut_orders
from headrace.program.program import Program
from headrace.state import Store

_KEY = "headrace.orders"


@contextmanager
def send_orders(spark: SparkSession, program: Program, orders: Orders) -> Iterator[None]:
    """The orders of the jobs that this thread runs meanwhile."""
    cut, path = cut_orders(program, orders), f"orders/{orders.version:012d}-{uuid.uuid4().hex}.bin"
    with orders.store.explain(path, "write"), orders.store.open_output(path) as out:
        out.write(cut.content)
    spark.sparkContext.setLocalProperty(_KEY, json.dumps([orders.store.uri, path, cut.head]))
    try:
        yield
    finally:
        with suppress(HeadraceError):  # else it is garbage
            orders.store.delete(path)
        with suppress(Exception):  # of a Spark that has ended; the job's own error says so
            spark.sparkContext.setLocalProperty(_KEY, None)  # type: ignore[arg-type]


def receive_orders() -> OrderReader:
    """In a task: the orders of its job. What spills goes to a folder that Spark removes."""
    context = TaskContext.get()
    text = context.getLocalProperty(_KEY) if context is not None else None
    if text is None:
        raise InternalError("this task was started without orders")
    return _open(text)


@lru_cache(maxsize=1)
def _open(text: str) -> OrderReader:
    """A worker does several tasks of a batch, and reads their head once. It keeps no file open: idle workers live on."""
    uri, path, head = json.loads(text)

    def read(start: int, size: int) -> bytes:
        with Store(uri).open_input(path) as file:
            return file.read_at(size, start)

    reader = OrderReader(read, head)
    reader.common = replace(reader.common, scratch=SparkFiles.getRootDirectory())
    return reader
