"""How many results each mini-partition of a slot gave, by the node whose state they come from."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from headrace.state.dealt_route import list_dealt
from headrace.state.leaf_numbers import list_owners, number_hashes, number_leaf
from headrace.state.split_route import SplitRoute

Array = np.ndarray[Any, np.dtype[Any]]


class ResultPids:
    """Counts by number, of a slot that has the mini-partitions `pids` of a route."""

    def __init__(self, route: SplitRoute, pids: Collection[int]) -> None:
        self._route, self._pids, self._numbers = route, pids, len(list_owners(route))
        self._dealt = list_dealt(route)
        self._counts: dict[str, Array] = {}

    def add(self, node: str, hashes: Array) -> None:
        """Results whose mini-partitions have these hashes."""
        counts = np.bincount(self._find_own(number_hashes(self._route, hashes)), minlength=self._numbers)
        self._counts[node] = self._counts.get(node, 0) + counts

    def count(self, node: str) -> Array:
        return self._counts.get(node, np.zeros(self._numbers, np.int64))

    def _find_own(self, numbers: Array) -> Array:
        """The mini-partitions of results. Keys lead to the first part of a dealt leaf; results are of one that is here."""
        for leaf, one in self._dealt:
            parts = [number_leaf(part, len(self._route)) for part in one.list_parts(leaf)]
            mine = [part for part in parts if part in self._pids]
            if mine and parts[0] not in mine:
                numbers = np.where(numbers == parts[0], mine[0], numbers)
        return numbers
