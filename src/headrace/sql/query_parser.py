"""sqlglot's parser for Spark, which leaves functions alone that it would take for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser

_NOT_ALIKE = {"ARRAY_SIZE"}  # of NULL it is NULL; size, which sqlglot makes of it, is -1
_UNITS = {"TRUNC": 1, "DATE_TRUNC": 0}  # where the unit stands


def _keep_unit(name: str, build: Callable[..., Any]) -> Callable[..., Any]:
    """A unit that is a column stays one; sqlglot would take the column's name for the unit."""

    def keep(arguments: list[exp.Expr]) -> Any:
        place = _UNITS[name]
        if len(arguments) > place and isinstance(arguments[place], exp.Column):
            return exp.Anonymous(this=name.lower(), expressions=arguments)
        return build(arguments)

    return keep


class QueryParser(SparkParser):
    """Reads what a query says of functions as Spark does."""

    FUNCTIONS: ClassVar = {
        **{name: build for name, build in SparkParser.FUNCTIONS.items() if name not in _NOT_ALIKE},
        **{name: _keep_unit(name, SparkParser.FUNCTIONS[name]) for name in _UNITS},
    }
