"""One DuckDB connection per worker process, one thread, kept warm between tasks."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from headrace.kernels.locked_database import open_locked_database
from headrace.logical.user_aggregate import UserAggregate

_connection: duckdb.DuckDBPyConnection | None = None
_settings: tuple[str, int | None, str | None] = ("", None, None)  # of the connection; they are locked
_registered: dict[str, UserAggregate] = {}


def connect(
    time_zone: str = "UTC",
    user: tuple[UserAggregate, ...] = (),
    memory: int | None = None,
    scratch: str | None = None,
) -> duckdb.DuckDBPyConnection:
    """The connection of this process, set up as Spark behaves and locked: it is opened anew for a run with other settings.
    Beyond `memory` bytes it spills into the folder `scratch`, made when it is needed.
    """
    global _connection, _settings
    if _settings != (time_zone, memory, scratch):
        reset()
    if _connection is None:
        spill = None if scratch is None else os.path.join(scratch, f"spill-{os.getpid()}")
        _connection = open_locked_database(time_zone, memory, spill)
        _settings = time_zone, memory, scratch
    for aggregate in user:
        name = aggregate.name.lower()
        if _registered.get(name) is not aggregate:  # another query set's, or this one's in a new task
            _register(_connection, aggregate, replace=name in _registered)
            _registered[name] = aggregate
    return _connection


def reset() -> None:
    """Drop the connection, after an error that may have left it in an unknown state."""
    global _connection
    if _connection is not None:
        for name in _registered:
            for suffix in ("sub", "super", "final"):
                _connection.remove_function(f"hr_{name}_{suffix}")
        _connection.close()
    _connection = None
    _registered.clear()


atexit.register(reset)  # functions of the user outlive the interpreter otherwise


def fetch_arrow(con: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return con.sql(sql).to_arrow_table()


def _register(con: duckdb.DuckDBPyConnection, aggregate: UserAggregate, replace: bool) -> None:
    name = f"hr_{aggregate.name.lower()}"
    for suffix, function, argument, returns in (
        ("sub", aggregate.sub, f"{aggregate.argument}[]", aggregate.state),
        ("super", aggregate.super, f"{aggregate.state}[]", aggregate.state),
        ("final", aggregate.final, aggregate.state, aggregate.returns),
    ):
        if replace:
            con.remove_function(f"{name}_{suffix}")
        con.create_function(
            f"{name}_{suffix}",
            _vectorized(aggregate.name, function),
            [con.sqltype(argument)],
            con.sqltype(returns),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )


def _vectorized(name: str, function: Callable[[Any], Any]) -> Callable[[pa.Array], pa.Array]:
    """A function of one group's values, over a vector of groups."""

    def run(column: pa.Array) -> pa.Array:
        try:
            return pa.array([None if v is None else function(v) for v in column.to_pylist()])
        except Exception as e:
            raise RuntimeError(f"aggregate {name}: {type(e).__name__}: {e}") from e

    return run
