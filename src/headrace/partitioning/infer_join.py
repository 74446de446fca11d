"""What a join requires, from its equality predicates (document 000 §3.5.3).

A join is told as plain data (`infer_requirements.read_joins`): its sides (each with the ways its rows come), the equalities
in the conjunctive normal form of WHERE and ON, and which sides an outer join may fill with NULLs. Equal expressions form
classes, so n-way joins are the same as two-way ones; a class is a key of the join if every side has an expression in it.
A distinct is a join of one side: its keys are what its rows are alike in. Temporal equalities are ignored.

Inner and outer joins require the same; they differ in what may stand on them: a column that was filled with NULLs no
longer tells where its row is, since such rows are wherever their partner's side put them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from headrace.logical.graph import WINDOW_COLUMNS
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.recognize_key import recognize_key
from headrace.partitioning.requirement import KeyView, Requirement
from headrace.partitioning.stream_partitioning import Types
from headrace.partitioning.trace_sources import TEMPORAL, SourceView, Traced, Views

PADDED = "filled with NULLs by an outer join"
_MOST = 16  # keys that one class of equal expressions gives

SideExpression = tuple[str, exp.Expr]  # side, expression over its columns


@dataclass(frozen=True)
class JoinDescription:
    """A join as partitioning sees it."""

    sides: Mapping[str, str]  # alias -> relation it reads
    equalities: tuple[tuple[SideExpression, SideExpression], ...]
    outputs: tuple[tuple[str, SideExpression | None], ...]  # None: of several sides at once
    padded: frozenset[str] = frozenset()  # sides that may be missing for want of a partner
    positions: tuple[Mapping[str, exp.Expr], ...] = ()  # the keys of a table of rows: by side, in their order


def find_equal_classes(equalities: Sequence[tuple[SideExpression, SideExpression]]) -> list[list[SideExpression]]:
    """Expressions that are equal in every pair of rows that match, class by class."""
    classes: list[list[SideExpression]] = []
    for pair in equalities:
        touched = [c for c in classes if pair[0] in c or pair[1] in c]
        merged = [e for c in touched for e in c]
        merged += [e for e in pair if e not in merged]
        classes = [c for c in classes if c not in touched] + [list(dict.fromkeys(merged))]
    return classes


def infer_join(name: str, join: JoinDescription, views: Mapping[str, Views], types: Types) -> Requirement:
    """The requirement of a join whose sides' rows come along `views` (by alias)."""
    numbered: list[dict[str, exp.Expr]] = []
    for members in find_equal_classes(join.equalities):
        by_side = {side: [e for s, e in members if s == side] for side in join.sides}
        if all(by_side.values()):
            combinations = list(product(*by_side.values()))[:_MOST]
            numbered += [dict(zip(by_side, combination, strict=True)) for combination in combinations]
    ignored, usable = [], []
    for key in numbered:
        reasons = [t for side, e in key.items() for v in views[side] if isinstance(t := v.trace(e), str)]
        if reasons:
            texts = [f"{s}.{e.sql(dialect='spark')}" if len(key) > 1 else e.sql(dialect="spark") for s, e in key.items()]
            ignored.append(f"{' = '.join(texts).replace('`', '')}: {reasons[0]}")
        else:
            usable.append(key)
    key_views = tuple(
        KeyView(tuple((stream, _keys(view, side, stream, usable, types)) for stream in view.streams))
        for side in join.sides
        for view in views[side]
    )
    return Requirement(
        name,
        "join" if len(join.sides) > 1 else "distinct",
        tuple(dict.fromkeys(join.sides.values())),
        key_views if usable else (),
        tuple(ignored),
        numbers=tuple(join.positions.index(key) if key in join.positions else -1 for key in usable),
    )


def _keys(
    view: SourceView, side: str, stream: str, usable: list[dict[str, exp.Expr]], types: Types
) -> tuple[PartitioningKey | None, ...]:
    found = []
    for key in usable:
        traced = view.trace(key[side])
        assert not isinstance(traced, str)
        expression = traced.get(stream)
        found.append(recognize_key(expression, types.get(stream, {}), as_value=True) if expression is not None else None)
    return tuple(found)


def trace_join(join: JoinDescription, views: Mapping[str, Views]) -> Views:
    """The ways the rows of a join come: every combination of ways of its sides."""
    found = []
    for combination in product(*(views[side] for side in join.sides)):
        by_side = dict(zip(join.sides, combination, strict=True))
        streams = tuple(dict.fromkeys(s for view in combination for s in view.streams))
        columns: dict[str, Traced] = dict.fromkeys(WINDOW_COLUMNS, TEMPORAL)
        for name, output in join.outputs:
            if output is None:
                columns[name] = "a function of several sides of a join"
            elif output[0] in join.padded:
                columns[name] = PADDED
            else:
                columns[name] = _trace_equal(join, by_side, output)
        found.append(SourceView(streams, columns))
    return tuple(found)


def _trace_equal(join: JoinDescription, by_side: Mapping[str, SourceView], output: SideExpression) -> Traced:
    """An output on its own streams and, in an inner join, on those of expressions that equal it."""
    traced = by_side[output[0]].trace(output[1])
    if isinstance(traced, str) or join.padded:
        return traced
    everywhere = dict(traced)
    for members in find_equal_classes(join.equalities):
        if output in members:
            for side, expression in members:
                other = by_side[side].trace(expression)
                if not isinstance(other, str):
                    for stream, e in other.items():
                        everywhere.setdefault(stream, e)
    return everywhere
