"""The plan of a query set: everything that is decided, and no SQL text.

`RULES` fill it in, one after the other; each rule reads what earlier ones decided. For every relation of the query
graph a plan has its typed columns, how progress passes through it and where its rows are; for the set it has the
tables of state that aggregations share, the exchanges, the scalar expressions computed on source rows, and who
reads the sources. `physical/` translates it, `explain_plan` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from headrace.logical.graph import Aggregate, Graph, KeyedJoin
from headrace.logical.progress_columns import ProgressColumns
from headrace.logical.user_aggregate import UserAggregate
from headrace.partitioning.choose_table_keys import TableKey, TablePlacement
from headrace.partitioning.plan_cost import PIDS, RateStatistics
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.waits import Wait, Waits
from headrace.windows import Grid, WindowSpec


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
    generations: Mapping[str, int] = field(default_factory=dict)  # of queries; those not named are of generation 0
    retired: frozenset[str] = frozenset()  # removed queries that still share state
    pids: int = PIDS
    time_zone: str = "UTC"
    spark_reads: str = ""  # why Spark must read all sources, if it must
    folders: Mapping[str, str] = field(default_factory=dict)  # stream -> the folder its files are known to be in
    partition_by: str | None = None  # partition by this where it serves, like 'srcIP, destIP'; None: by what is best
    limited: bool = True  # whether PARTITIONABLE BY limits what state is partitioned by
    by_expressions: bool = True  # whether keys of exchanges of results are expressions, and casts to wider integers keep a hash
    by_folder: frozenset[str] | None = None  # streams whose folders are kept apart (PARTITIONED BY); None: all that can be
    flat: frozenset[str] = frozenset()  # streams whose files all lie in one folder: none is kept apart
    placements: Mapping[str, TablePlacement] = field(default_factory=dict)  # aggregation or join -> as its state is kept
    measured: RateStatistics | None = None  # by earlier batches; places tables that are newer than `settled`
    settled: int = -1  # the newest generation that has state

    def generation(self, relation: str) -> int:
        return self.generations.get(relation.split("$")[0], 0)


@dataclass(frozen=True)
class AggregateTypes:
    """Spark's types of an aggregation's keys and of the arguments of each of its calls."""

    keys: tuple[str, ...]
    arguments: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class JoinTypes:
    """Spark's types of the keys of a join or a lookup: those they are compared in, and those of each input."""

    keys: tuple[str, ...]
    inputs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Passage:
    """How progress passes through a relation: the columns that carry it, each with what it waits for. Without any,
    nothing that stands on the relation could ever be complete.
    """

    streams: tuple[str, ...]
    columns: ProgressColumns


@dataclass(frozen=True)
class PaneTable:
    """State of aggregations by pane and group; `members` share it."""

    id: str
    label: str
    members: tuple[str, ...]
    level: int
    partition: tuple[TableKey, ...]  # the keys, or expressions over k0…, that decide the mini-partition
    grid: Grid
    windows: tuple[WindowSpec, ...]  # of the members in use
    generation: int


@dataclass(frozen=True)
class GatherTable:
    """Rows of one window brought together from several slots; nothing is kept from batch to batch."""

    id: str
    label: str
    members: tuple[str, ...]
    level: int
    partition: tuple[TableKey, ...]


@dataclass(frozen=True)
class JointTable:
    """State of an aggregation by the times of several inputs of a join."""

    id: str
    label: str
    members: tuple[str, ...]
    level: int
    partition: tuple[TableKey, ...]
    generation: int


@dataclass(frozen=True)
class RowTable:
    """Rows of a relation kept by key, for the joins that `readers` names with the number of their input."""

    id: str
    label: str
    input: str
    keys: tuple[exp.Expr, ...]  # over the columns of the input, in the types that all inputs of a join have
    types: tuple[str, ...]
    columns: tuple[str, ...]  # of the input, that readers need
    readers: tuple[tuple[str, int], ...]
    level: int
    partition: tuple[TableKey, ...]
    generation: int

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(join for join, _ in self.readers))


@dataclass(frozen=True)
class TransitTable:
    """Rows of a relation over streams on their way through slots, where lookups read them; nothing is kept."""

    id: str
    label: str
    input: str
    keys: tuple[exp.Expr, ...]  # over the columns of the input, in the types that lookups compare
    types: tuple[str, ...]
    columns: tuple[str, ...]  # of the input, that readers need
    members: tuple[str, ...]  # the lookups that read it
    level: int
    partition: tuple[TableKey, ...]


Table = PaneTable | GatherTable | JointTable | RowTable | TransitTable


@dataclass(frozen=True)
class Part:
    """Where rows of a windowed relation are: the slots of a level, on the mini-partition that the columns `partition`
    decide (None: no columns of it tell). `table` is the state they come from. A name is a column whose value is hashed
    as it is; an expression tells which rows are together, but not the hash. `by_folder`: the mini-partition is that of a
    folder of the source, which no hash tells; with `pid`, rows bring it along.
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


@dataclass(frozen=True)
class StateBound:
    """What a table keeps, in words, and what bounds it."""

    keeps: str
    until: str


@dataclass(frozen=True)
class Plan:
    graph: Graph
    settings: Settings = Settings()
    relations: tuple[str, ...] = ()  # that a query is or reads, inputs first
    used: frozenset[str] = frozenset()  # those of queries that are not retired
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    aggregates: Mapping[str, AggregateTypes] = field(default_factory=dict)
    joins: Mapping[str, JoinTypes] = field(default_factory=dict)
    schemas: Mapping[str, bytes] = field(default_factory=dict)  # Arrow's, of results by query
    late_schemas: Mapping[str, bytes] = field(default_factory=dict)
    passages: Mapping[str, Passage] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    table_of: Mapping[str, str | None] = field(default_factory=dict)  # aggregation -> table; None: computed in place
    inputs_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # join -> the table of each input
    parts: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    exchanges: tuple[Exchange, ...] = ()
    placements: Mapping[str, TablePlacement] = field(default_factory=dict)  # of joins, and of aggregations with an exchange
    by_folder: frozenset[str] = frozenset()  # tables whose rows stay where the source has them
    bounds: Mapping[str, StateBound] = field(default_factory=dict)  # by table
    columns: Mapping[str, tuple[SourceColumn, ...]] = field(default_factory=dict)  # by stream
    feeds: Mapping[str, tuple[TableFeed, ...]] = field(default_factory=dict)  # by table
    row_feeds: Mapping[str, tuple[RowFeedColumns, ...]] = field(default_factory=dict)  # by table
    passing: tuple[PassingRows, ...] = ()
    readings: Mapping[str, Reading] = field(default_factory=dict)  # by stream
    observed: Mapping[str, ObservedColumns] = field(default_factory=dict)  # by stream
    early: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # table -> keys by which groups close on their own

    def with_(self, **decided: object) -> Plan:
        """The plan with more decided."""
        return replace(self, **decided)  # type: ignore[arg-type]

    @property
    def levels(self) -> int:
        """How many exchanges there are one after the other."""
        return 1 + max((t.level for t in self.tables.values()), default=0)

    def waits_of(self, table: str) -> Waits:
        """What progress of a table waits for."""
        found = self.tables[table]
        if isinstance(found, RowTable):
            return self.passages[found.input].columns[self.time_of(found)]
        if isinstance(found, TransitTable):
            return tuple(Wait(stream) for stream in self.passages[found.input].streams)
        aggregate = self.graph.relations[found.members[0]]
        assert isinstance(aggregate, Aggregate)
        return aggregate.find_waits(self.graph)

    def time_of(self, table: RowTable) -> str:
        """The column that the joins which read a table go by."""
        name, number = table.readers[0]
        join = self.graph.relations[name]
        assert isinstance(join, KeyedJoin)
        return join.inputs[number].time

    def streams_of(self, table: str) -> tuple[str, ...]:
        """The streams whose progress a table waits for."""
        return tuple(sorted({wait.stream for wait in self.waits_of(table)}))
