"""What the columns of rows are called between the source stage and the slots, and in state.

`pid` is the mini-partition (`_pid` where rows bring it along from before), `_t` the tick of a row, `pane` the start of a
pane, `_ws` and `_we` the ends of a window, `k0…` keys, `v0…` values, `p0…` partial results.
"""

from __future__ import annotations

from collections.abc import Iterable


def name_keys(count: int) -> list[str]:
    return [f"k{i}" for i in range(count)]


def name_values(count: int) -> list[str]:
    return [f"v{i}" for i in range(count)]


def name_partials(count: int) -> list[str]:
    return [f"p{i}" for i in range(count)]


def alias_keys(expressions: Iterable[str]) -> list[str]:
    return [f"{expression} AS k{i}" for i, expression in enumerate(expressions)]


def alias_values(expressions: Iterable[str]) -> list[str]:
    return [f"{expression} AS v{i}" for i, expression in enumerate(expressions)]


def alias_partials(expressions: Iterable[str]) -> list[str]:
    return [f"{expression} AS p{i}" for i, expression in enumerate(expressions)]
