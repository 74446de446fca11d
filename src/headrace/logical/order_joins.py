"""In which order several relations are joined, when they have no key in common.

Relations that share a key and are near each other in time are joined by one operator, which keeps the rows of each once.
Where there is no such key, some are joined first and the outcome with the rest, with an exchange between; the outcome is
kept as state, so the order with the fewest rows in between is taken. Sizes are estimates in rows per tick of band: a
further key makes a result a thousand times smaller, a band makes it as many times larger as it is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from headrace.logical.time_bounds import TimeBounds

SELECTIVITY = 1e-3  # of an equality, where nothing is known
UNKEYED = 1e6  # a join by time alone comes last

Inputs = frozenset[int]


@dataclass(frozen=True)
class JoinStep:
    """Inputs joined by one operator; an element is an input, or what an earlier step gives."""

    parts: tuple[JoinStep | int, ...]
    size: float = 0.0

    def __str__(self) -> str:
        return "(" + " ⋈ ".join(str(p) for p in self.parts) + ")"


def order_joins(
    count: int, classes: Sequence[frozenset[int]], bounds: TimeBounds, unit: int
) -> JoinStep | None:
    """The cheapest tree; None if some inputs are not near the others in time. `classes` are the inputs that each key is
    a column of, `unit` the ticks that count as one.
    """

    def common(inputs: Inputs) -> bool:
        return any(inputs <= each for each in classes)

    def near(left: Inputs, right: Inputs) -> bool:
        return any(
            bounds.within[i][j] is not None and bounds.within[j][i] is not None for i in left for j in right
        )

    def bounded(inputs: Inputs) -> bool:
        return all(bounds.within[i][j] is not None for i in inputs for j in inputs)

    def estimate(inputs: Inputs) -> float:
        size = 1.0
        first = min(inputs)
        for other in inputs - {first}:
            forth, back = bounds.within[first][other], bounds.within[other][first]
            size *= max(1.0, ((forth or 0) + (back or 0) + 1) / unit)
        links = sum(len(each & inputs) - 1 for each in classes if len(each & inputs) > 1)
        return size * float(SELECTIVITY**links)

    @cache
    def best(inputs: Inputs) -> tuple[float, JoinStep | int] | None:
        if len(inputs) == 1:
            return 0.0, next(iter(inputs))
        if bounded(inputs) and (common(inputs) or len(inputs) == 2):
            return (0.0 if common(inputs) else UNKEYED), JoinStep(tuple(sorted(inputs)), estimate(inputs))
        found: tuple[float, JoinStep | int] | None = None
        first = min(inputs)
        rest = sorted(inputs - {first})
        for size in range(len(rest)):
            for chosen in combinations(rest, size):
                left = frozenset({first, *chosen})
                right = inputs - left
                if not near(left, right):
                    continue
                one, two = best(left), best(right)
                if one is None or two is None:
                    continue
                kept = sum(step.size for _, step in (one, two) if isinstance(step, JoinStep))
                linked = any(each & left and each & right for each in classes)
                cost = one[0] + two[0] + kept + (0 if linked else UNKEYED)
                if found is None or cost < found[0]:
                    found = cost, JoinStep((one[1], two[1]), estimate(inputs))
        return found

    tree = best(frozenset(range(count)))
    return tree[1] if tree is not None and isinstance(tree[1], JoinStep) else None
