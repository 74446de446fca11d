"""What rows are partitioned by, as it shows in columns computed of those that say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp, parse_one

from headrace.partitioning.express_key import express_key, number_columns
from headrace.partitioning.recognize_key import recognize_key


def carry_partition(
    partition: tuple[str | exp.Expr, ...] | None, outputs: Sequence[tuple[str, exp.Expr]], types: Mapping[str, str]
) -> tuple[str | exp.Expr, ...] | None:
    """A partitioning as it shows in outputs computed of its columns; None if it does not."""
    if partition is None:
        return None
    names = {e.name: n for n, e in reversed(outputs) if isinstance(e, exp.Column)}
    given = [recognize_key(e, types, as_value=True) for _, e in outputs]
    found: list[str | exp.Expr] = []
    for key in partition:
        if isinstance(key, str):
            if key not in names:
                return None
            found.append(names[key])
            continue
        recognized = recognize_key(key, types, as_value=True)
        ways = express_key(recognized, given, types) if recognized is not None else frozenset()
        if not ways:
            return None
        found.append(parse_one(number_columns(min(ways), [n for n, _ in outputs]), dialect="spark"))
    return tuple(found)
