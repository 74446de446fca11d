"""Keys of a join: expressions that conditions make equal, and of these the ones that all inputs have."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from sqlglot import exp

from headrace.sql.join_conditions import Conditions

Member = tuple[int, exp.Expr]


def equality_classes(conditions: Conditions) -> list[list[Member]]:
    """Expressions that must all be equal, each with its input."""
    classes: list[list[Member]] = []
    for pair in conditions.equal:
        touched = [c for c in classes if any(m in c for m in pair)]
        merged = list({m: None for c in touched for m in c} | dict.fromkeys(pair))
        classes = [c for c in classes if c not in touched] + [merged]
    return classes


def choose_keys(
    conditions: Conditions, place: Mapping[int, int], count: int
) -> tuple[list[list[exp.Expr]], list[exp.Expr]]:
    """The keys that all inputs have, by input; and the equalities that are left."""
    keys: list[list[exp.Expr]] = [[] for _ in range(count)]
    rest: list[exp.Expr] = []
    for members in equality_classes(conditions):
        of: dict[int, list[exp.Expr]] = {}
        for i, e in members:
            of.setdefault(place[i], []).append(e)
        if len(of) == count:
            for k in range(count):
                keys[k].append(of[k][0])
            chosen = [of[k][0] for k in range(count)]
            rest += [
                exp.EQ(this=chosen[k].copy(), expression=e.copy()) for k in range(count) for e in of[k][1:]
            ]
        else:
            flat = [e for each in of.values() for e in each]
            rest += [exp.EQ(this=a.copy(), expression=b.copy()) for a, b in itertools.pairwise(flat)]
    return keys, rest
