"""One DuckDB without tables, in which the planner tries out SQL and asks for types.

Opening a database takes 10 ms and more, a cursor of one that is open takes none.
"""

from __future__ import annotations

import atexit
from functools import cache

import duckdb

from headrace.kernels.locked_database import open_locked_database


@cache
def _database() -> duckdb.DuckDBPyConnection:
    atexit.register(_close)  # what outlives the interpreter is reported as leaked
    return open_locked_database()


def _close() -> None:
    _database().close()
    _database.cache_clear()


def open_scratch() -> duckdb.DuckDBPyConnection:
    """A connection of its own to the planner's database."""
    return _database().cursor()
