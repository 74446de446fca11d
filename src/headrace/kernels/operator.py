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
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernels.delta import Delta
from headrace.kernels.sql_pieces import map_tick_sql
from headrace.kernels.workspace import Workspace
from headrace.program.column_names import alias_keys, alias_values
from headrace.program.node import Node, SourceFeed
from headrace.progress import HIGHEST, LOWEST
from headrace.progress.advance_program import ProgressMap
from headrace.state import Span

AnyNode = TypeVar("AnyNode", bound=Node)
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


class State(Protocol):
    """What is kept of a node, as far as it is this slot's."""

    def read(self) -> list[pa.Table]:
        """All of it."""
        ...

    def read_between(self, low: int, high: int, pids: Collection[int] | None = None) -> list[pa.Table]:
        """At least the rows with values in [low, high], and, where mini-partitions are given, in these."""
        ...


@dataclass(frozen=True)
class OperatorContext:
    """What an operator of any kind is given beside its node."""

    space: Workspace
    state: State
    progress: ProgressMap  # of every relation, before the batch and after it
    born: int | None = None  # only windows that start after this have seen all their rows
    last_report: int | None = None  # of a flush: the end of the last window to report without rows


class Operator(ABC, Generic[AnyNode]):
    """The work of one node."""

    def __init__(self, node: AnyNode, context: OperatorContext) -> None:
        self.node, self.space, self._context = node, context.space, context
        self._arrived: list[pa.Table] = []

    @classmethod
    def feed_sql(cls, node: AnyNode, feed: SourceFeed, preaggregate: bool) -> str:
        """In a source task: rows of `src` as rows of the node, as they are or, if it is worth while, aggregated."""
        listed = [f"{map_tick_sql(feed.steps)} AS _t", *alias_keys(feed.keys), *alias_values(feed.values)]
        pid = ["_pid"] if node.by_folder else []
        return f"SELECT {', '.join([*pid, *listed])} FROM src{f' WHERE {feed.where}' if feed.where else ''}"

    def absorb(self, rows: pa.Table) -> None:
        """Rows that have arrived in this batch."""
        self._arrived.append(rows)

    def arrived(self) -> list[pa.Table]:
        """What was absorbed in this batch."""
        return self._arrived

    def delta(self) -> Delta:
        """The round's rows, and those before them, for what joins them."""
        raise InternalError(f"rows of {self.node.label} are no input of a join")

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
