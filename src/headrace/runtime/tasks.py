"""The functions Spark runs in its Python workers. They are importable, so that a plan carries their names and not their code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from headrace.kernels import duck
from headrace.kernels.slot import run_slot
from headrace.kernels.source import Layout, run_source
from headrace.kernels.spec import Batch, Program

Arrow = Iterator[pa.RecordBatch]


def source_task(program: Program, batch: Batch, layout: Layout) -> Callable[[Arrow], Arrow]:
    return partial(_source, program, batch, layout)


def slot_task(program: Program, batch: Batch, level: int) -> Callable[[Arrow], Arrow]:
    return partial(_slot, program, batch, level)


def _source(program: Program, batch: Batch, layout: Layout, rows: Arrow) -> Arrow:
    return _guarded(run_source(program, batch, layout, rows))


def _slot(program: Program, batch: Batch, level: int, rows: Arrow) -> Arrow:
    return _guarded(run_slot(program, batch, level, rows))


def _guarded(rows: Arrow) -> Arrow:
    try:
        yield from rows
    except BaseException:
        duck.reset()
        raise


def worker_pid(_: Arrow) -> Arrow:  # pragma: no cover - runs in a worker
    """The process id of a worker, for tests that kill one."""
    yield pa.record_batch({"pid": pa.array([os.getpid()], pa.int64())})
