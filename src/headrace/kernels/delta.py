"""What a join is given of one input: rows that are new to it, and a way to read rows that were there before.

A join of inputs 1…n gives `Σ_i  new_i ⋈ all_j (j < i) ⋈ old_k (k > i)`, where `all` is old and new together. The formula does
not ask what makes rows new: a batch, a turn of mini-partitions, or the rows since some state was set aside. So a join takes a
`Delta` for each input and knows nothing of where rows are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

ReadOld = Callable[[int, int, Collection[int] | None], list[pa.Table]]


@dataclass(frozen=True)
class Delta:
    """Rows of one input. `read_old` gives, of the rows from before, at least those with values in [low, high] (and, where it
    is given mini-partitions, in these).
    """

    new: tuple[pa.Table, ...]
    read_old: ReadOld

    def old(self, low: int, high: int, pids: Collection[int] | None = None) -> list[pa.Table]:
        return self.read_old(low, high, pids)

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """The least and largest value of the new rows."""
        ends = [e for t in self.new if (e := pc.min_max(t["_t"]))["min"].is_valid]
        if not ends:
            return None
        return min(e["min"].as_py() for e in ends), max(e["max"].as_py() for e in ends)
