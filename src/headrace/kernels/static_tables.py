"""The static tables of a task: those versions that its orders name.

A version is files that never change. Of one that is broadcast every slot reads the same file; on the local disk the pages are
shared between the workers of a machine and only those that are touched are read. Of one that is divided a lookup with keys
takes the rows that its own rows ask for (`divide_table.py`), and one without keys reads all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernels.divide_table import find_rows, place_sql, read_table_file
from headrace.kernels.workspace import Workspace
from headrace.program.table_division import name_copy
from headrace.program.table_lookups import LookUp
from headrace.state import Store, TableVersion


class StaticTables:
    """Tables by name; `versions` are those to read, divided into `pids` mini-partitions if they are large."""

    def __init__(self, space: Workspace, store: Store, versions: Mapping[str, TableVersion], pids: int) -> None:
        self._space, self._store, self._versions, self._pids = space, store, versions, pids
        self._whole: dict[str, pa.Table] = {}

    def open(self, step: LookUp) -> None:
        """Make the relation that the step's SQL reads, for this round."""
        version = self._versions.get(step.table)
        if version is None:
            raise InternalError(f"the orders of this batch name no version of the table {step.table}")
        some = version.divided and step.keys
        self._space.register(step.static, self._find(step, version) if some else self._read_whole(step.table, version))

    def _read_whole(self, name: str, version: TableVersion) -> pa.Table:
        if name not in self._whole:
            tables = [read_table_file(self._store, f) for f in version.files if not f.copy]
            self._whole[name] = pa.concat_tables(tables)
        return self._whole[name]

    def _find(self, step: LookUp, version: TableVersion) -> pa.Table:
        if not step.passed:
            self._space.settle(step.source)  # it is read twice
        known = " AND ".join(f"({key}) IS NOT NULL" for key in step.own)
        sql = f"SELECT DISTINCT {place_sql(step.own, self._pids)} AS place FROM {step.source} WHERE {known}"
        wanted = np.sort(self._space.query(sql, step.source)["place"].to_numpy())
        copy = name_copy(step.keys)
        return find_rows(self._store, [f for f in version.files if f.copy == copy], wanted)
