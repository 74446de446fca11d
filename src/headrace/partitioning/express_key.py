"""A key as an expression over other keys: whether rows that agree on those agree on it, and how it is computed.

`express_key(p, given)` finds p among the given keys, as a coarsening of one of them, or as an expression all of whose
parts can be found. The answer is text over `_k0`, `_k1`, … (the given keys by number), so two streams can be asked
whether they compute the same thing of corresponding keys. There may be several answers, where a key is given twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import sqlglot
from sqlglot import exp

from headrace.partitioning.coarsening import find_remaining_step
from headrace.partitioning.partitioning_key import (
    PartitioningKey,
    drop_brackets,
    make_opaque_key,
    write_coarsening,
)
from headrace.partitioning.recognize_key import is_deep, is_volatile, recognize_key

GIVEN = "_k"
Given = tuple[PartitioningKey | None, ...]


def express_key(
    key: PartitioningKey,
    given: Sequence[PartitioningKey | None],
    types: Mapping[str, str] | None = None,
    as_value: bool = True,
) -> frozenset[str]:
    """All ways found to compute `key` of `given`; none: it is not known from them. `types` are those of the attributes.

    Without `as_value` a way only has to tell apart what the key does: f(x + 7) is known where x is, and is found as f of it.
    """
    columns = key.columns
    near = [i for i, g in enumerate(given) if g is not None and not columns.isdisjoint(g.columns)]  # others tell nothing of it
    keys = tuple(given[i] for i in near)
    if not columns <= {c for g in keys if g is not None for c in g.columns}:
        return frozenset()
    found = _find_direct(key, keys, nested=False)
    if not found and key.column is None and not is_deep(key.expression):
        found = _express_opaque(key, keys, tuple(sorted((types or {}).items())), as_value)
    return frozenset(renumber_step(step, near) for step in found)


def renumber_step(step: str, numbers: Sequence[int]) -> str:
    """A step over `_k0`… over the keys of these numbers instead."""
    return re.sub(rf"\b{GIVEN}(\d+)\b", lambda m: f"{GIVEN}{numbers[int(m[1])]}", step)


@lru_cache(maxsize=65536)
def _express_opaque(
    key: PartitioningKey, given: Given, types: tuple[tuple[str, str], ...], as_value: bool
) -> frozenset[str]:
    found = _express_parts(key.expression, given, dict(types), as_value)
    return frozenset() if found is None else frozenset({drop_brackets(found).sql(dialect="spark")})


@lru_cache(maxsize=65536)
def _find_direct(key: PartitioningKey, given: Given, nested: bool) -> frozenset[str]:
    found = []
    for i, other in enumerate(given):
        if other is None or (nested and not other.exact):
            continue
        if other.text == key.text:
            found.append(f"{GIVEN}{i}")
        elif other.exact and other.column is not None and other.column == key.column:
            step = find_remaining_step(other.coarsening, key.coarsening, key.width)
            if step is not None:
                found.append(write_coarsening(exp.column(f"{GIVEN}{i}"), step).sql(dialect="spark"))
    return frozenset(found)


def _express_parts(e: exp.Expr, given: Given, types: Mapping[str, str], as_value: bool) -> exp.Expr | None:
    """The expression with every part that is known replaced; None if some column is not."""
    if is_volatile(e):
        return None
    if e.find(exp.Column) is None:
        return e.copy()
    if isinstance(e, exp.Paren):
        return _replace_parts(e, given, types, as_value)
    # the type counts in what is around a part: CAST(x AS BIGINT) * y has room where x * y has none
    part = make_opaque_key(e, types) if e.find(exp.Cast) else recognize_key(e, types, as_value=True)
    found = _find_part(part, given) or _replace_parts(e, given, types, as_value)
    return found if found is not None or as_value else _find_part(recognize_key(e, types), given)


def _find_part(part: PartitioningKey | None, given: Given) -> exp.Expr | None:
    direct = _find_direct(part, given, nested=True) if part is not None else frozenset()
    return _parenthesize(min(direct)) if direct else None


def _replace_parts(e: exp.Expr, given: Given, types: Mapping[str, str], as_value: bool) -> exp.Expr | None:
    if isinstance(e, exp.Column):
        return None
    changed = e.copy()
    for child in list(changed.iter_expressions()):
        if isinstance(child, (exp.DataType, exp.Identifier, exp.Var)) or child.find(exp.Column) is None:
            continue
        inner = _express_parts(child, given, types, as_value)
        if inner is None:
            return None
        child.replace(inner)
    return changed


def _parenthesize(text: str) -> exp.Expr:
    parsed = _parse(text).copy()
    return parsed if isinstance(parsed, (exp.Column, exp.Func)) else exp.paren(parsed)


@lru_cache(maxsize=4096)
def _parse(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="spark")


def compute_key(
    text: str, given: Sequence[PartitioningKey | None], types: Mapping[str, str]
) -> PartitioningKey | None:
    """The other way round: the key that `text` over `_k0`… is, given those keys. None if it is a constant."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name.startswith(GIVEN) and node.name[len(GIVEN) :].isdigit():
            key = given[int(node.name[len(GIVEN) :])]
            assert key is not None
            return key.expression if key.text.isidentifier() else exp.paren(key.expression)
        return node

    return recognize_key(_parse(text).copy().transform(visit), types, as_value=True)
