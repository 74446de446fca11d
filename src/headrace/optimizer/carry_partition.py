"""What rows are partitioned by, as it shows in columns computed of those that say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp, parse_one

from headrace.partitioning.express_key import express_key, number_columns
from headrace.partitioning.partitioning_key import width_of
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


def is_wider(type_: str, other: str) -> bool:
    """Whether every integer of the other type is one of this type too."""
    return (width_of(type_) or 0) > (width_of(other) or 64)


def cast_columns(key: str | exp.Expr, types: Mapping[str, str]) -> str | exp.Expr:
    """What rows are partitioned by, where some columns were hashed in another type than they have."""

    def visit(node: exp.Expr) -> exp.Expr:
        wider = types.get(node.name) if isinstance(node, exp.Column) else None
        return exp.cast(node, wider.upper(), dialect="spark") if wider is not None else node

    if isinstance(key, str):
        return visit(exp.column(key, quoted=True)) if key in types else key
    return key.transform(visit)
