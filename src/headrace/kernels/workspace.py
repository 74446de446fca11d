"""Where the operators of a slot work: named relations in the worker's DuckDB.

A relation is an Arrow table that was registered, a temporary table, or a piece of SQL that becomes a WITH item of
the one statement that reads it: what several steps read is stored once, the rest melts into its reader, since a
statement costs a millisecond and a table between two of them more. Relations known to be empty are not computed, nor
is what reads them.

Relations live for one round of progress, registered tables until they are replaced or the task ends. DuckDB's memory
is limited and it spills beyond (`connection`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from headrace.kernels.connection import fetch_arrow
from headrace.program.limits import SHIPPED, Limits


class Workspace:
    """The relations of one task."""

    def __init__(self, con: duckdb.DuckDBPyConnection, stored: Iterable[str] = (), limits: Limits = SHIPPED) -> None:
        self.con, self.limits = con, limits
        self._stored = frozenset(stored)
        self._empty: set[str] = set()
        self._with: dict[str, list[str]] = {}  # relation -> the WITH items a statement that reads it needs
        self._tables: list[str] = []
        self._registered: set[str] = set()
        self._of_round: set[str] = set()  # registered for this round only

    def register(self, name: str, table: pa.Table, keep: bool = False) -> str:
        """An Arrow table under a name, until it is replaced or, without `keep`, until the next round."""
        self.con.register(name, table)
        self._registered.add(name)
        if not keep:
            self._of_round.add(name)
        return name

    def forget(self, name: str) -> None:
        """Take a registered table away again."""
        if name in self._registered:
            self.con.unregister(name)
            self._registered.discard(name)
            self._of_round.discard(name)

    def define(self, view: str, sql: str, reads: str | None = None, before: Sequence[str] = ()) -> None:
        """A relation by SQL over the relation `reads`; `before` are further WITH items it needs."""
        items = [*(self._with[reads] if reads is not None else ()), *before]
        if view in self._stored:
            self.store(view, _with_clause(items) + sql)
            self._with[view] = []
        else:
            self._with[view] = [*items, f"{view} AS ({sql})"]

    def define_over(self, view: str, sql: str, reads: Sequence[str]) -> None:
        """A relation by SQL over several relations."""
        self.define(view, sql, None, [item for name in reads for item in self._with[name]])

    def store(self, name: str, sql: str) -> None:
        """A temporary table of this round."""
        self.con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")
        self._tables.append(name)

    def settle(self, view: str) -> None:
        """Make a relation a table, so that it is computed once for all that read it from here on."""
        if self._with[view]:
            self.store(view, f"{_with_clause(self._with[view])}SELECT * FROM {view}")
            self._with[view] = []

    def define_empty(self, view: str) -> None:
        self._empty.add(view)

    def is_empty(self, view: str) -> bool:
        return view in self._empty

    def query(self, sql: str, reads: str | None = None) -> pa.Table:
        """The rows of a statement over the relation `reads`."""
        return fetch_arrow(self.con, _with_clause(self._with[reads] if reads is not None else []) + sql)

    def stream(self, sql: str, reads: str) -> Iterator[pa.Table]:
        """The rows of a statement over the relation `reads`, piece by piece: no more of them is held than that."""
        reader = self.con.sql(_with_clause(self._with[reads]) + sql).to_arrow_reader(self.limits.stream_rows)
        for batch in reader:
            yield pa.Table.from_batches([batch])

    def fetch_numpy(self, sql: str) -> dict[str, Any]:
        """The columns of a small statement."""
        found: dict[str, Any] = self.con.sql(sql).fetchnumpy()
        return found

    def begin_round(self) -> None:
        """Forget the relations of the round before."""
        if self._tables:
            self.con.execute("; ".join(f"DROP TABLE IF EXISTS {name}" for name in self._tables))
        for name in list(self._of_round):
            self.forget(name)
        self._tables, self._empty, self._with = [], set(), {}

    def close(self) -> None:
        """Leave nothing behind in DuckDB."""
        self.begin_round()
        for name in list(self._registered):
            self.forget(name)


def _with_clause(items: Sequence[str]) -> str:
    return f"WITH {', '.join(items)} " if items else ""
