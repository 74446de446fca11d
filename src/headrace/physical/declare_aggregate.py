"""An aggregate that a program has written in Python, with its types as DuckDB knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headrace.dialect.duck_cast import duck_type
from headrace.errors import OptionError
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.scratch_database import open_scratch


def make_aggregate(
    name: str,
    sub: Callable[[list[Any]], Any],
    super: Callable[[list[Any]], Any],
    final: Callable[[Any], Any] | None,
    argument: str,
    state: str,
    returns: str | None,
) -> UserAggregate:
    """The aggregate of these functions; types are Spark's, like DOUBLE or ARRAY<INT>."""
    if not name.isidentifier():
        raise OptionError(f"aggregate: expected a name like my_aggregate, got {name!r}")
    if returns is None:
        returns = state if final is None else "DOUBLE"
    types = [_duck_type(name, t) for t in (argument, state, returns)]
    return UserAggregate(name.lower(), sub, super, final or _itself, *types)


def _itself(value: Any) -> Any:
    return value


def _duck_type(aggregate: str, type_: str) -> str:
    try:
        spark = exp.DataType.build(type_, dialect="spark").sql(dialect="spark").lower().replace(", ", ",")
        found = duck_type(spark)
        open_scratch().sqltype(found)
    except (SqlglotError, duckdb.Error) as e:
        raise OptionError(
            f"aggregate {aggregate}: {type_!r} is not a type; expected one like DOUBLE, STRING or ARRAY<INT>"
        ) from e
    return found
