"""Search spaces as the document counts them (004, Lemma 1, Theorems 2 and 4).

A query over K inputs on n nodes has K!(K−1)!/2^(K−1) orders of joining pairs and n^(K−1) placements of each.
With derived streams a query can be covered by inputs in several ways; each cover of k inputs counts as a
query over k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from headrace.network.subsets import Entry


def count_orders(k: int) -> int:
    """Linear and bushy join orders of k inputs."""
    ordered: int = math.factorial(k) * math.factorial(k - 1)
    return ordered >> (k - 1)


def count_plans(k: int, nodes: int) -> int:
    """Lemma 1."""
    return count_orders(k) * int(nodes ** (k - 1))


def count_covers(goal: int, entries: Iterable[Entry]) -> dict[int, int]:
    """How many ways to cover a set by disjoint entries, by the number of entries."""
    choices: dict[int, int] = {}
    for entry in entries:
        if entry.mask & ~goal == 0:
            choices[entry.mask] = choices.get(entry.mask, 0) + 1
    known: dict[int, dict[int, int]] = {0: {0: 1}}

    def ways(mask: int) -> dict[int, int]:
        if mask not in known:
            total: dict[int, int] = {}
            lowest = mask & -mask
            for part, times in choices.items():
                if part & lowest and part & ~mask == 0:
                    for size, count in ways(mask ^ part).items():
                        total[size + 1] = total.get(size + 1, 0) + times * count
            known[mask] = total
        return known[mask]

    return ways(goal)


def count_examined(goal: int, entries: Iterable[Entry], nodes: int, remote: int = 0) -> int:
    """Plans an exhaustive search over these entries and nodes looks at.

    `remote` streams join in the counting though nothing is known of them yet: α = σ + 1 in Theorem 4.
    """
    return sum(
        count * count_plans(size + remote, nodes) for size, count in count_covers(goal, entries).items()
    )
