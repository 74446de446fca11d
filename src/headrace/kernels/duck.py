"""One DuckDB connection per worker process, one thread, kept warm between tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa

from headrace.logical.user_aggregate import UserAggregate

_connection: duckdb.DuckDBPyConnection | None = None
_registered: set[int] = set()


def connect(time_zone: str = "UTC", user: tuple[UserAggregate, ...] = ()) -> duckdb.DuckDBPyConnection:
    """The connection of this process, set up as Spark behaves: no error on division by zero, Spark's time zone."""
    global _connection
    if _connection is None:
        _connection = duckdb.connect(config={"threads": "1"})
        _connection.execute("SET error_on_division_by_zero = false; SET preserve_insertion_order = false")
        _connection.execute("SET enable_progress_bar = false")
    _connection.execute(f"SET TimeZone = '{time_zone}'")
    for aggregate in user:
        if hash(aggregate) not in _registered:
            _register(_connection, aggregate)
            _registered.add(hash(aggregate))
    return _connection


def reset() -> None:
    """Drop the connection, after an error that may have left it in an unknown state."""
    global _connection
    if _connection is not None:
        _connection.close()
    _connection = None
    _registered.clear()


def arrow(con: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return con.sql(sql).to_arrow_table()


def _register(con: duckdb.DuckDBPyConnection, aggregate: UserAggregate) -> None:
    name = f"hr_{aggregate.name.lower()}"
    for suffix, function, argument, returns in (
        ("sub", aggregate.sub, f"{aggregate.argument}[]", aggregate.state),
        ("super", aggregate.super, f"{aggregate.state}[]", aggregate.state),
        ("final", aggregate.final, aggregate.state, aggregate.returns),
    ):
        con.create_function(
            f"{name}_{suffix}",
            _vectorized(function),
            [con.sqltype(argument)],
            con.sqltype(returns),
            type="arrow",  # type: ignore[arg-type]
            null_handling="special",  # type: ignore[arg-type]
        )


def _vectorized(function: Callable[[Any], Any]) -> Callable[[pa.Array], pa.Array]:
    """A function of one group's values, over a vector of groups."""

    def run(column: pa.Array) -> pa.Array:
        return pa.array([None if v is None else function(v) for v in column.to_pylist()])

    return run
