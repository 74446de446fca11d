"""Aggregates users write in Python, as a sub/super pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class UserAggregate:
    """`sub(values) -> state`, `super(states) -> state`, `final(state) -> value`.

    `values` and `states` are Python lists of one group's values, `argument`, `state` and `returns` are SQL
    types. `super` must not care how values were split or in which order states come: that is what makes the
    answer exact.
    """

    name: str
    sub: Callable[[list[Any]], Any]
    super: Callable[[list[Any]], Any]
    final: Callable[[Any], Any]
    argument: str = "DOUBLE"
    state: str = "DOUBLE"
    returns: str = "DOUBLE"
