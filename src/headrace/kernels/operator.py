"""What an operator of a slot is, and what falls due when.

An operator owns what one node does in one slot during one batch. It is given rows (*absorb*), told how far progress
has come (*advance*: results up to there become relations of the workspace), and asked what later batches need
(*needed_from*, *keep*). It works in a workspace and never sees routes, files or Spark; its state comes to it as Arrow
tables and leaves it as one. A new kind of operator is a new file with these methods, and a line in `slot.py`.

Progress is applied in *rounds*: when very many windows close at once (a flush, a long lull), each round closes as
many as fit in memory. A round is a whole pass over the steps of a level, so chained queries see complete windows in
every round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.progress import HIGHEST, LOWEST
from headrace.state import Span

ROUND_ROWS = 8_000_000  # rows that the windows of one round may hold, at most (unless one window holds more)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Due:
    """Results that progress brings: run i falls due at `first[i]`, then every `step`, `count[i]` times, at a `cost[i]`
    each.
    """

    first: Array
    step: int
    count: Array
    cost: Array


class Operator(ABC):
    """The work of one node."""

    def __init__(self) -> None:
        self._arrived: list[pa.Table] = []

    def absorb(self, rows: pa.Table) -> None:
        """Rows that have arrived in this batch."""
        self._arrived.append(rows)

    def arrived(self) -> list[pa.Table]:
        """What was absorbed in this batch."""
        return self._arrived

    def due(self) -> Iterable[Due]:
        """What the batch's progress will bring, as far as can be told before the first round."""
        return ()

    @abstractmethod
    def advance(self, low: int, high: int) -> None:
        """Define the relations of what falls due at values in (low, high]."""

    @abstractmethod
    def needed_from(self) -> int:
        """State that covers only values before this is never looked at again."""

    @abstractmethod
    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        """What is needed of these tables from now on, merged and sorted by pid, and the values it covers."""


def split_rounds(dues: Iterable[Due], limit: int) -> list[tuple[int, int]]:
    """Intervals (low, high] of progress, in order, that cover all values; what falls due in one costs about `limit`
    at most.
    """
    lasts, costs = [], []
    for due in dues:
        each = np.maximum(1, limit // np.maximum(due.cost, 1))  # so many of a run go into a piece
        pieces = -(-due.count // each)
        run = np.repeat(np.arange(due.count.size), pieces)
        number = np.arange(run.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        done = np.minimum((number + 1) * each[run], due.count[run])
        lasts.append(due.first[run] + (done - 1) * due.step)
        costs.append((done - number * each[run]) * due.cost[run])
    rounds: list[tuple[int, int]] = []
    low = LOWEST
    if lasts:
        last, cost = np.concatenate(lasts), np.concatenate(costs)
        order = np.argsort(last, kind="stable")
        weight, previous = 0, LOWEST
        if int(cost.sum()) > limit:
            for value, price in zip(last[order].tolist(), cost[order].tolist(), strict=True):
                if weight and weight + price > limit and previous > low and value > previous:
                    rounds.append((low, previous))
                    low, weight = previous, 0
                weight, previous = weight + price, value
    return [*rounds, (low, HIGHEST)]
