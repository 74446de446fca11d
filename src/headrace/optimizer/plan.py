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

from headrace.logical.graph import Graph
from headrace.logical.user_aggregate import UserAggregate
from headrace.partitioning.choose_table_keys import TableKey
from headrace.windows import Grid, WindowSpec

PIDS = 128


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

    def generation(self, relation: str) -> int:
        return self.generations.get(relation.split("$")[0], 0)


@dataclass(frozen=True)
class AggregateTypes:
    """Spark's types of an aggregation's keys and of the arguments of each of its calls."""

    keys: tuple[str, ...]
    arguments: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Passage:
    """How progress passes through a relation: the streams it waits for, and the column that carries it."""

    streams: tuple[str, ...]
    attribute: str | None  # None: no column does, so nothing that stands on it could ever be complete


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


Table = PaneTable | GatherTable


@dataclass(frozen=True)
class Part:
    """Where rows of a windowed relation are: the slots of a level, on the mini-partition that the columns `partition`
    decide (None: no columns of it tell). `table` is the state they come from. A name is a column whose value is hashed
    as it is; an expression tells which rows are together, but not the hash.
    """

    level: int
    partition: tuple[str | exp.Expr, ...] | None
    table: str


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


@dataclass(frozen=True)
class PassingRows:
    """A stateless query's rows of one stream: names of source columns."""

    query: str
    stream: str
    where: str | None
    columns: tuple[str, ...]


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
    schemas: Mapping[str, bytes] = field(default_factory=dict)  # Arrow's, of results by query
    late_schemas: Mapping[str, bytes] = field(default_factory=dict)
    passages: Mapping[str, Passage] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    table_of: Mapping[str, str | None] = field(default_factory=dict)  # aggregation -> table; None: computed in place
    parts: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    exchanges: tuple[Exchange, ...] = ()
    bounds: Mapping[str, StateBound] = field(default_factory=dict)  # by table
    columns: Mapping[str, tuple[SourceColumn, ...]] = field(default_factory=dict)  # by stream
    feeds: Mapping[str, tuple[TableFeed, ...]] = field(default_factory=dict)  # by table
    passing: tuple[PassingRows, ...] = ()
    readings: Mapping[str, Reading] = field(default_factory=dict)  # by stream

    def with_(self, **decided: object) -> Plan:
        """The plan with more decided."""
        return replace(self, **decided)  # type: ignore[arg-type]

    @property
    def levels(self) -> int:
        """How many exchanges there are one after the other."""
        return 1 + max((t.level for t in self.tables.values()), default=0)

    def streams_of(self, table: str) -> tuple[str, ...]:
        """The streams whose progress a table waits for."""
        return self.passages[self.tables[table].members[0]].streams
