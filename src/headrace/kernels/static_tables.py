"""The static tables of a task: those versions that its orders name, mapped into memory.

A version is an Arrow file that the driver has written and that never changes. Every slot reads the same file; on the local disk
the pages are shared between the workers of a machine and only those that are touched are read.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headrace.errors import CheckpointError, InternalError
from headrace.kernels.workspace import Workspace
from headrace.state import Store
from headrace.state.disk_faults import join


class StaticTables:
    """Tables by name; `files` are the versions to read."""

    def __init__(self, space: Workspace, store: Store, files: Mapping[str, str]) -> None:
        self._space, self._store, self._files = space, store, files
        self._opened: set[str] = set()

    def open(self, name: str) -> None:
        """Make the relation `static_<name>`, once."""
        if name in self._opened:
            return
        if name not in self._files:
            raise InternalError(f"the orders of this batch name no version of the table {name}")
        self._space.register(f"static_{name}", read_table_file(self._store, self._files[name]), keep=True)
        self._opened.add(name)


def read_table_file(store: Store, path: str) -> pa.Table:
    """A version of a table; on the local disk nothing is copied."""
    try:
        return pa.ipc.open_file(store.open_input(path)).read_all()
    except pa.ArrowException as error:
        raise CheckpointError(
            f"{join(store.uri, path)} is not a whole table ({error}); restore the file, or start again: "
            "the table is then read anew"
        ) from error
