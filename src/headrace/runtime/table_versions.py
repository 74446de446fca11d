"""Which version of each static table a batch uses: decided here, on the driver, never in a task.

A table is read when a run begins and, if it says REFRESH EVERY, at the first batch after that time. What was read becomes a
file under `tables/` of the checkpoint that never changes. The orders of a batch name the files, its manifest too, so all its
tasks, retried or not, look up the same rows, and the file is collected as garbage when neither of the last two manifests names
it. A batch that was never committed may be done again with a newer version: nobody has seen the older one's answers.

A reading that brings the rows it brought before makes no new file.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from headrace.errors import HeadraceError, SourceError
from headrace.logical.graph import StaticTable
from headrace.state import Store, TableVersion

ReadTable = Callable[[StaticTable], pa.Table]
BATCH_ROWS = 1 << 20


class TableVersions:
    """The tables of a set, each read by `read`."""

    def __init__(
        self, store: Store, tables: Iterable[StaticTable], read: ReadTable, before: Mapping[str, TableVersion]
    ) -> None:
        self._store, self._tables, self._read = store, tuple(tables), read
        self._before = before  # versions that the last manifest names
        self.chosen: dict[str, TableVersion] = {}  # for the batch under way

    def choose(self, version: int, now: int) -> dict[str, TableVersion]:
        """The versions for a batch at the time `now`; what is too old is read again."""
        for table in self._tables:
            last = self.chosen.get(table.name)
            if last is None or (table.refresh is not None and now >= last.read_at + table.refresh):
                self.chosen = {**self.chosen, table.name: self._renew(table, last, version, now)}
        return self.chosen

    def _renew(self, table: StaticTable, last: TableVersion | None, version: int, now: int) -> TableVersion:
        try:
            rows = self._read(table)
        except HeadraceError:
            raise
        except Exception as e:
            raise SourceError(f"table {table.name} cannot be read: {e}") from e
        data = write_arrow(rows)
        digest = hashlib.sha256(data).hexdigest()
        last = last or self._before.get(table.name)
        if last is not None and digest == last.digest:
            return TableVersion(last.path, now, digest)
        path = f"tables/{table.name}/{version:012d}-{uuid.uuid4().hex}.arrow"
        self._store.write(path, data)
        return TableVersion(path, now, digest)


def write_arrow(rows: pa.Table) -> bytes:
    """The content of a version's file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=BATCH_ROWS)
    data: bytes = sink.getvalue().to_pybytes()
    return data
