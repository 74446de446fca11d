"""The plan of a query set: everything that is decided, and no SQL text.

It is made in steps, by the rules that are listed in `optimizer/__init__.py`: a `PlanRequest` becomes a
`PrunedPlan`, `PassedPlan`, `TypedPlan`, `SharedPlan`, `PlacedPlan`, `FedPlan` and `Plan`. Each is complete
when the next begins and has all that was decided before, so no rule can read what nobody has decided yet. For
every relation of the query graph a plan has its typed columns, how progress passes through it and where its
rows are; for the set it has the tables of state (`tables.py`), the exchanges, the scalar expressions computed
on source rows, and who reads the sources. `physical/` translates it, `explain_plan` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from sqlglot import exp

from headrace.logical.graph import Graph
from headrace.logical.progress_columns import ProgressColumns
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer.tables import GatherTable, JointTable, PaneTable, RowTable, Table, TransitTable
from headrace.partitioning.choose_table_keys import TablePlacement
from headrace.partitioning.plan_cost import PIDS, RateStatistics
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.waits import Waits


class Typer(Protocol):
    """Spark's view of types; the runtime asks Spark, a test may answer by hand."""

    def column_types(self, relation: str) -> dict[str, str]: ...

    def types(self, relation: str, expressions: list[exp.Expr]) -> list[str]: ...

    def result_schema(self, relation: str) -> bytes: ...

    def late_schema(self, stream: str) -> bytes: ...


@dataclass(frozen=True)
class Settings:
    """What a plan is made for, beside the graph."""

    user: Mapping[str, UserAggregate] = field(default_factory=dict)  # by name in lower case
    cohorts: Mapping[str, int] = field(default_factory=dict)  # of queries; those not named are of cohort 0
    retired: frozenset[str] = frozenset()  # removed queries that still share state
    pids: int = PIDS
    time_zone: str = "UTC"
    spark_reads: str = ""  # why Spark must read all sources, if it must
    folders: Mapping[str, str] = field(default_factory=dict)  # stream -> the folder its files are known to be in
    partition_by: str | None = None  # by this where it serves: 'srcIP, destIP'; '': by nothing; None: by what is best
    by_folder: frozenset[str] | None = None  # streams whose folders are kept apart (PARTITIONED BY); None: all that can be
    flat: frozenset[str] = frozenset()  # streams whose files all lie in one folder: none is kept apart
    placements: Mapping[str, TablePlacement] = field(default_factory=dict)  # aggregation or join -> as its state is kept
    measured: RateStatistics | None = None  # by earlier batches; places tables that are newer than `settled`
    settled: int = -1  # the newest cohort that has state

    def cohort(self, relation: str) -> int:
        return self.cohorts.get(relation.split("$")[0], 0)


@dataclass(frozen=True)
class AggregateTypes:
    """Spark's types of an aggregation's keys and of the arguments of each of its calls."""

    keys: tuple[str, ...]
    arguments: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class JoinTypes:
    """Spark's types of the keys of a join or a lookup: those they are compared in, and those of each
    input.
    """

    keys: tuple[str, ...]
    inputs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Passage:
    """How progress passes through a relation: the columns that carry it, each with what it waits for. Without
    any, nothing that stands on the relation could ever be complete.
    """

    streams: tuple[str, ...]
    columns: ProgressColumns


@dataclass(frozen=True)
class Part:
    """Where rows of a windowed relation are: the slots of a level, on the mini-partition that the columns
    `partition` decide (None: no columns of it tell). `table` is the state they come from. A name is a column
    whose value is hashed as it is; an expression tells which rows are together, but not the hash.
    `by_folder`: the mini-partition is that of a folder of the source, which no hash tells; with `pid`, rows
    bring it along.
    """

    level: int
    partition: tuple[str | exp.Expr, ...] | None
    table: str
    by_folder: bool = False
    pid: bool = False


@dataclass(frozen=True)
class Exchange:
    """Rows that change slots on their way to a table, and why."""

    table: str
    level: int  # the exchange before the slots of this level
    by: tuple[str, ...]  # expressions; none: all rows meet in one mini-partition
    reason: str


@dataclass(frozen=True)
class SourceColumn:
    """A scalar expression that is computed on every row of a stream, once for the whole set."""

    name: str  # c0, c1, …
    expression: exp.Expr
    type: str


@dataclass(frozen=True)
class CallColumns:
    """Source columns that an aggregate call reads."""

    arguments: tuple[str, ...]
    where: str | None


@dataclass(frozen=True)
class TableFeed:
    """What a table needs of one branch of its input: names of source columns."""

    stream: str
    where: str | None
    keys: tuple[str, ...]
    calls: Mapping[str, tuple[CallColumns, ...]]  # by member
    steps: tuple[MonotoneStep, ...] = ()  # from the stream's progressing value to that of the table


@dataclass(frozen=True)
class RowFeedColumns:
    """What a table of rows needs of one branch of its input: names of source columns."""

    stream: str
    where: str | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    steps: tuple[MonotoneStep, ...] = ()  # from the stream's progressing value to that of the table


@dataclass(frozen=True)
class PassingRows:
    """A stateless query's rows of one stream: names of source columns."""

    query: str
    stream: str
    where: str | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ObservedColumns:
    """What the progress of a stream is read from: names of source columns."""

    groups: tuple[str, ...] = ()
    mark: str | None = None  # true for punctuating rows


@dataclass(frozen=True)
class Reading:
    """Who decodes the rows of a stream: the tasks, or Spark for a reason."""

    in_tasks: bool
    reason: str = ""


S = TypeVar("S", bound="PlanRequest")


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is made for."""

    graph: Graph
    settings: Settings

    def then(self, stage: type[S], **decided: object) -> S:
        """The next value, with what was decided now."""
        return stage(**{**vars(self), **decided})


@dataclass(frozen=True)
class PrunedPlan(PlanRequest):
    """The relations that queries need, inputs first."""

    relations: tuple[str, ...]
    used: frozenset[str]  # those of queries that are not retired


@dataclass(frozen=True)
class PassedPlan(PrunedPlan):
    """How progress passes through each relation."""

    passages: Mapping[str, Passage]


@dataclass(frozen=True)
class TypedPlan(PassedPlan):
    """The types of all columns, and of what is grouped by, aggregated and compared."""

    types: Mapping[str, Mapping[str, str]]  # of streams, static tables and relations
    aggregates: Mapping[str, AggregateTypes]
    joins: Mapping[str, JoinTypes]  # and lookups
    schemas: Mapping[str, bytes]  # Arrow's, of results by query
    late_schemas: Mapping[str, bytes]

    def types_of_keys(self, relation: str) -> tuple[str, ...]:
        """The types in which the keys of an aggregation, a join or a lookup are hashed."""
        typed = self.aggregates.get(relation) or self.joins[relation]
        return typed.keys


@dataclass(frozen=True)
class SharedPlan(TypedPlan):
    """Which aggregations over rows of streams share a table. They are not placed yet: each is partitioned by
    all its keys.
    """

    tables: Mapping[str, Table]
    table_of: Mapping[str, str | None]  # aggregation -> table; None: computed in place


@dataclass(frozen=True)
class PlacedPlan(SharedPlan):
    """Where the rows of every relation are, all tables of state, and the exchanges that follow."""

    inputs_of: Mapping[str, tuple[str, ...]]  # join -> the table of each input
    parts: Mapping[str, tuple[Part, ...]]
    exchanges: tuple[Exchange, ...]
    placements: Mapping[str, TablePlacement]  # of joins, and of aggregations with an exchange
    by_folder: frozenset[str]  # tables whose rows stay where the source has them

    @property
    def levels(self) -> int:
        """How many exchanges there are one after the other."""
        return 1 + max((t.level for t in self.tables.values()), default=0)

    def waits_of(self, table: str) -> Waits:
        """What progress of a table waits for."""
        return self.tables[table].find_waits(self.graph, {name: one.columns for name, one in self.passages.items()})

    def streams_of(self, table: str) -> tuple[str, ...]:
        """The streams whose progress a table waits for."""
        return tuple(sorted({wait.stream for wait in self.waits_of(table)}))


@dataclass(frozen=True)
class FedPlan(PlacedPlan):
    """What is computed on rows of streams, once for the whole set, and which table or query it is for."""

    columns: Mapping[str, tuple[SourceColumn, ...]]  # by stream
    feeds: Mapping[str, tuple[TableFeed, ...]]  # by table
    row_feeds: Mapping[str, tuple[RowFeedColumns, ...]]  # by table
    passing: tuple[PassingRows, ...]
    observed: Mapping[str, ObservedColumns]  # by stream


@dataclass(frozen=True)
class Plan(FedPlan):
    """All that is decided."""

    readings: Mapping[str, Reading]  # by stream


__all__ = [
    "AggregateTypes",
    "CallColumns",
    "Exchange",
    "FedPlan",
    "GatherTable",
    "JoinTypes",
    "JointTable",
    "ObservedColumns",
    "PaneTable",
    "Part",
    "Passage",
    "PassedPlan",
    "PassingRows",
    "PlacedPlan",
    "Plan",
    "PlanRequest",
    "PrunedPlan",
    "Reading",
    "RowFeedColumns",
    "RowTable",
    "Settings",
    "SharedPlan",
    "SourceColumn",
    "Table",
    "TableFeed",
    "TransitTable",
    "TypedPlan",
    "Typer",
]
