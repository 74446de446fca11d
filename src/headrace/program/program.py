"""What tasks do: the physical plan, as data.

A `Program` is made once, from a `Plan` (`physical/lower.py`), and says in DuckDB SQL what the source stage and each
level of slots compute. It is frozen, picklable, and knows nothing of Spark.

A *node* (`node.py`) is an operator of a slot and its state. A *step* (`step.py`) is one thing a slot does in each round of
progress. Their kinds are in files of their own, like `aggregations.py`, `row_joins.py` and `slot_steps.py`
(docs/design/kinds.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.logical.user_aggregate import UserAggregate
from headrace.program.node import Node
from headrace.program.step import Step, TableUse
from headrace.progress import Policy
from headrace.progress.advance_program import ProgressRule
from headrace.progress.complete_program import PendingResults
from headrace.progress.monotone_steps import MonotoneStep
from headrace.windows import WindowSpec


@dataclass(frozen=True)
class Level:
    """The steps between two exchanges; relations that several of them read are `stored`."""

    steps: tuple[Step, ...]
    stored: frozenset[str]


@dataclass(frozen=True)
class RowsQuery:
    """A stateless query: columns of the source frame written out as they are."""

    query: str
    stream: str
    where: str | None
    columns: tuple[str, ...]


Ways = tuple[tuple[MonotoneStep, ...], ...]  # from a stream's progressing value to that of what it comes to


@dataclass(frozen=True)
class MissableWindows:
    """Windows that a row of a stream may miss: `rule` is the progress by which they close, for the groups that `columns` of the
    source tell apart each by its own.
    """

    window: WindowSpec
    rule: str
    ways: Ways
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissableJoins:
    """Joins in which a row behind the progress of `rule` has missed partners."""

    rule: str
    ways: Ways


@dataclass(frozen=True)
class SourceStream:
    """A stream as the source stage sees it."""

    name: str
    unit: str
    policy: Policy
    horizon: int | None
    missable: tuple[MissableWindows, ...]
    joined: tuple[MissableJoins, ...] = ()
    groups: tuple[str, ...] = ()  # columns of the source frame that tell groups apart
    mark: str | None = None  # the column that is true for punctuating rows
    marks_are_data: bool = True
    idle: int | None = None  # ticks of silence after which progress follows the clock


@dataclass(frozen=True)
class Program:
    fingerprint: str
    pids: int
    streams: tuple[SourceStream, ...]
    nodes: tuple[Node, ...]
    levels: tuple[Level, ...]
    passing: tuple[RowsQuery, ...]
    rules: tuple[ProgressRule, ...]  # of relations, tables and what joins wait for, each after those it reads
    pending: tuple[PendingResults, ...]
    promised: tuple[tuple[str, str, str], ...]  # query, column, rule
    schemas: dict[str, bytes]  # query -> serialized Arrow schema of its results
    late_schemas: dict[str, bytes]
    user: tuple[UserAggregate, ...] = ()
    time_zone: str = "UTC"

    def node(self, name: str) -> Node:
        return next(n for n in self.nodes if n.name == name)

    def label_nodes(self) -> dict[str, str]:
        """In words, what is kept under which name."""
        return {n.name: n.label for n in self.nodes} | {n.waiting: f"{n.label}, waiting" for n in self.nodes}

    def fed_nodes(self, by_folder: bool) -> list[Node]:
        """The nodes that rows of streams go to: those kept by folder, or those that an exchange brings them to."""
        return [n for n in self.nodes if n.feeds and n.by_folder == by_folder]

    def keeps_folders(self) -> bool:
        """Whether some rows stay in the mini-partitions of the folders they are read from, which their keys do not tell."""
        return any(node.by_folder for node in self.nodes)

    def static_tables(self) -> list[TableUse]:
        """The tables that lookups read."""
        found: dict[str, list[TableUse]] = {}
        for use in (step.table_use for level in self.levels for step in level.steps):
            if use is not None:
                found.setdefault(use.table, []).append(use)
        return [
            TableUse(
                name,
                tuple(sorted({c for u in uses for c in u.columns})),
                tuple(dict.fromkeys(k for u in uses for k in u.keys)),
            )
            for name, uses in found.items()
        ]
