"""What tasks do: the physical plan, as data.

A `Program` is made once, from a `Plan` (`physical/lower.py`), and says in DuckDB SQL what the source stage and each
level of slots compute. It is frozen, picklable, and knows nothing of Spark.

A *node* is an operator of a slot and its state: a `PaneNode` keeps rows (pid, pane, k0…, p0…) of one (input, filter,
keys), shared by every window and query that agrees on these; a `GatherNode` merges rows of the same window that
several slots have sent, and keeps nothing; a `RowNode` keeps rows (pid, _t, k0…, v0…) for the joins that read it;
a `TransitNode` hands on rows of streams and keeps nothing.
A *step* is one thing a slot does in each round of progress, in the order
of the query graph; names of steps are names of relations inside the slot's DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.logical.join_kind import JoinKind
from headrace.logical.time_bounds import TimeBounds
from headrace.logical.user_aggregate import UserAggregate
from headrace.progress import Policy
from headrace.progress.advance_program import ProgressRule
from headrace.progress.complete_program import PendingResults
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.waits import Waits
from headrace.windows import Grid, Sliding, WindowSpec


@dataclass(frozen=True)
class SourceFeed:
    """How the rows of one stream become partial rows of a node, in the source stage."""

    stream: str
    where: str | None  # a boolean column, or None for all rows
    keys: tuple[str, ...]  # SQL over the columns of the source frame
    subs: tuple[str, ...]  # SQL over its columns, in the order of the node's partials
    steps: tuple[MonotoneStep, ...] = ()  # from the stream's progressing value to that of the node


@dataclass(frozen=True)
class ClosedWindows:
    """The windows that progress completes, as the relation `view` (k…, p…, _ws, _we, and _pid of nodes kept by folder)."""

    window: WindowSpec
    view: str


@dataclass(frozen=True)
class PaneNode:
    """Pane aggregation: partial rows by pane and group, closed window by window."""

    name: str  # changes when what it stores would change
    label: str
    level: int
    waits: Waits  # its progress is the least of theirs
    keys: int
    merges: tuple[str, ...]  # SQL over p0…, one per partial
    partition: tuple[int | str, ...]  # what decides the mini-partition: keys by number, or SQL over k0…
    grid: Grid
    outputs: tuple[ClosedWindows, ...]
    feeds: tuple[SourceFeed, ...] = ()
    groups: tuple[int, ...] = ()  # keys that tell apart the groups whose windows close on their own
    by_folder: bool = False  # whether its rows stay in the mini-partition of the folder they are read from

    @property
    def windows(self) -> tuple[WindowSpec, ...]:
        return tuple(o.window for o in self.outputs)


@dataclass(frozen=True)
class GatherNode:
    """Rows (_ws, _we, k…, p…) from the slots before, merged by window and group as the relation `view`."""

    name: str
    label: str
    level: int
    waits: Waits
    keys: int
    merges: tuple[str, ...]
    partition: tuple[int | str, ...]
    view: str


@dataclass(frozen=True)
class JointNode:
    """Aggregation by the times of several inputs of a join: partial rows by group, closed when all rows of a group are there."""

    name: str
    label: str
    level: int
    waits: Waits
    keys: int
    merges: tuple[str, ...]
    partition: tuple[int | str, ...]
    view: str
    ends: tuple[str, ...]  # SQL over the keys: where the group ends on each time
    own: tuple[str, ...]  # the rule of progress of each time's input
    each: tuple[str, ...]  # and of the join on each time
    longest: int  # the widest of the groups' windows


@dataclass(frozen=True)
class RowFeed:
    """How the rows of one stream become rows of a node, in the source stage."""

    stream: str
    where: str | None
    keys: tuple[str, ...]  # SQL over the columns of the source frame
    values: tuple[str, ...]
    steps: tuple[MonotoneStep, ...] = ()  # from the stream's progressing value to that of the node


@dataclass(frozen=True)
class RowNode:
    """Rows kept by key until the joins that read them need them no more."""

    name: str
    label: str
    level: int
    waits: Waits  # its progress is the least of theirs
    keys: int
    values: int
    partition: tuple[int | str, ...]
    reach: int  # ticks that a row may be apart from one it meets
    nulls: bool  # whether rows with a null key are kept
    feeds: tuple[RowFeed, ...] = ()
    by_folder: bool = False

    @property
    def needed(self) -> str:
        """The rule of progress that says before which of its rows none is needed any more."""
        return f"{self.name} needed"


@dataclass(frozen=True)
class VersionNode(RowNode):
    """Rows that are versions of their key: from `needed` on all are kept, and before it the last of each key."""


@dataclass(frozen=True)
class TransitNode:
    """Rows (_t, k…, v…) of streams that pass through the slots, as the relation `view` (the columns, and _k0…)."""

    name: str
    label: str
    level: int
    waits: Waits
    keys: int
    columns: tuple[str, ...]  # names of the values
    partition: tuple[int | str, ...]
    view: str
    feeds: tuple[RowFeed, ...] = ()
    by_folder: bool = False


Node = PaneNode | GatherNode | JointNode | RowNode | TransitNode


@dataclass(frozen=True)
class Advance:
    """A node takes the round's progress and gives its relations."""

    node: str


@dataclass(frozen=True)
class JoinSide:
    """An input of a join: a node, its columns as the join names them (SQL over k0…, v0…, _t), and the rule of progress that says
    from which of its rows on none is complete: those before have met all rows they can.
    """

    node: str
    columns: str
    complete: str


@dataclass(frozen=True)
class JoinRows:
    """The results that new rows bring, and, of outer and anti-joins, the rows that have found no partner."""

    join: str  # the relation
    view: str
    inputs: tuple[JoinSide, ...]
    kind: JoinKind
    keys: int
    bounds: TimeBounds
    condition: str | None  # SQL over the join's columns
    outputs: str  # SQL over them
    padded: tuple[str, ...]  # for rows of input i without a partner
    window: Sliding | None = None
    window_ticks: tuple[str, ...] = ()  # SQL over the join's columns: the times that share the window, if not those of the inputs


@dataclass(frozen=True)
class FindVersions:
    """Rows of the node `rows` whose time the progress of the versions has passed, each with the last version not after it."""

    view: str
    rows: str
    versions: str
    row_columns: str  # SQL over v0…
    version_columns: str
    kind: JoinKind
    keys: int
    unknown: tuple[str, ...]  # SQL: the values of a version that is not there
    outputs: str  # SQL over the columns of both
    condition: str | None  # of inner results
    complete: str  # a rule of progress: rows before it have their version


@dataclass(frozen=True)
class Compute:
    """A relation by SQL over the relation `source`, computed before."""

    view: str
    sql: str
    source: str


@dataclass(frozen=True)
class LookUp:
    """A relation by SQL over the relation `source` and the static table `table`, which the SQL calls `static`."""

    view: str
    sql: str
    source: str
    table: str
    static: str
    columns: tuple[str, ...]  # of the table
    keys: tuple[str, ...]  # SQL over those, and
    own: tuple[str, ...]  # over `source`: what is equal, in the types that are hashed
    passed: bool  # whether `source` is rows as they arrived


@dataclass(frozen=True)
class Send:
    """Partial rows (pane or window, k…, p…) for `node`: kept in this slot, or sent to the slots of the next level."""

    node: str
    sql: str
    source: str
    local: bool


@dataclass(frozen=True)
class Emit:
    """Results of a query: `sql` gives its columns in order, and, if `by_pid`, as the last the hash of their mini-partition."""

    query: str
    sql: str
    source: str
    node: str  # whose state they come from
    by_pid: bool


@dataclass(frozen=True)
class TableUse:
    """What lookups read of a static table, and all sets of keys they find its rows by; without any, a lookup reads them all."""

    table: str
    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]


Step = Advance | JoinRows | FindVersions | Compute | LookUp | Send | Emit


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

    def pane_nodes(self) -> list[PaneNode]:
        return [n for n in self.nodes if isinstance(n, PaneNode)]

    def row_nodes(self) -> list[RowNode]:
        return [n for n in self.nodes if isinstance(n, RowNode)]

    def transit_nodes(self) -> list[TransitNode]:
        return [n for n in self.nodes if isinstance(n, TransitNode)]

    def fed_nodes(self, by_folder: bool) -> list[PaneNode | RowNode | TransitNode]:
        """The nodes that rows of streams go to: those kept by folder, or those that an exchange brings them to."""
        kinds = (PaneNode, RowNode, TransitNode)
        return [n for n in self.nodes if isinstance(n, kinds) and n.feeds and n.by_folder == by_folder]

    def static_tables(self) -> list[TableUse]:
        """The tables that lookups read."""
        found: dict[str, list[LookUp]] = {}
        for step in (s for level in self.levels for s in level.steps if isinstance(s, LookUp)):
            found.setdefault(step.table, []).append(step)
        return [
            TableUse(name, tuple(sorted({c for s in steps for c in s.columns})), tuple(dict.fromkeys(s.keys for s in steps)))
            for name, steps in found.items()
        ]
