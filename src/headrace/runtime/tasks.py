"""The functions Spark runs in its Python workers. They are importable, so that a plan carries their names and
not their code.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from headrace.errors import CheckpointError
from headrace.kernels import duck
from headrace.kernels.slot import run_slot
from headrace.kernels.source import Layout, run_source
from headrace.kernels.spec import Batch, Program
from headrace.state import Store
from headrace.state.faults import FORBIDDEN, FULL, explanation

Arrow = Iterator[pa.RecordBatch]


def source_task(program: Program, batch: Batch, layout: Layout) -> Callable[[Arrow], Arrow]:
    return partial(_source, program, batch, layout)


def slot_task(program: Program, batch: Batch, level: int) -> Callable[[Arrow], Arrow]:
    return partial(_slot, program, batch, level)


def _source(program: Program, batch: Batch, layout: Layout, rows: Arrow) -> Arrow:
    return _guarded(batch.store, run_source(program, batch, layout, rows))


def _slot(program: Program, batch: Batch, level: int, rows: Arrow) -> Arrow:
    return _guarded(batch.store, run_slot(program, batch, level, rows))


def _guarded(store: Store, rows: Arrow) -> Arrow:
    """What a failing disk says, in the user's words; and no connection is used again after an error."""
    try:
        yield from rows
    except OSError as e:
        duck.reset()
        if e.errno in (*FULL, *FORBIDDEN, errno.EIO):
            raise CheckpointError(explanation(e, store.uri, "the files of this batch", "write")) from e
        raise
    except BaseException:
        duck.reset()
        raise
