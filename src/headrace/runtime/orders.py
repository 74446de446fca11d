"""How orders reach the tasks.

They travel with the Spark job itself, as a local property that every task of it can read, and not inside of
the tasks' functions. So the functions, and with them the plan, are the same for every batch: a batch read
from files is one plan prepared at the start and run again and again.
"""

from __future__ import annotations

import base64
import pickle
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from pyspark import SparkFiles, TaskContext
from pyspark.sql import SparkSession

from headrace.errors import InternalError
from headrace.program.messages import Orders

_KEY = "headrace.orders"


@contextmanager
def send_orders(spark: SparkSession, orders: Orders) -> Iterator[None]:
    """The orders of the jobs that this thread runs meanwhile."""
    text = base64.b85encode(zlib.compress(pickle.dumps(orders), 1)).decode()
    spark.sparkContext.setLocalProperty(_KEY, text)
    try:
        yield
    finally:
        with suppress(Exception):  # of a Spark that has ended; the job's own error says so
            spark.sparkContext.setLocalProperty(_KEY, None)  # type: ignore[arg-type]


def receive_orders() -> Orders:
    """In a task: the orders of its job. What spills goes to a folder that Spark removes."""
    context = TaskContext.get()
    text = context.getLocalProperty(_KEY) if context is not None else None
    if text is None:
        raise InternalError("this task was started without orders")
    orders = pickle.loads(zlib.decompress(base64.b85decode(text)))
    assert isinstance(orders, Orders)
    return replace(orders, scratch=SparkFiles.getRootDirectory())
