"""What a task is told to do: the physical plan, as data.

`Program` is static: it is made once from the query graph and the types (`physical/lower.py`) and says, in
DuckDB SQL, what the source stage and each level of stateful stages compute. `Batch` is what changes from
batch to batch: progress, route, live segments. Both are frozen, picklable, and know nothing of Spark.

A *node* is a unit of pane state: the rows (pid, pane, k0…, p0…) of one (input, filter, keys), shared by
every window and query that agrees on these. A *step* is one thing a slot does for each round of progress,
in this order of the query graph; names of steps are names of relations inside the slot's DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.logical.user_aggregate import UserAggregate
from headrace.state import SegmentMeta, Store
from headrace.windows import WindowSpec


@dataclass(frozen=True)
class Feed:
    """How the rows of one stream become partial rows of a node (source stage)."""

    stream: str
    where: str | None  # a boolean column, or None for all rows
    keys: tuple[str, ...]  # columns of the source frame
    subs: tuple[str, ...]  # SQL over its columns, in the order of the node's partials


@dataclass(frozen=True)
class Node:
    name: str  # changes when what it stores would change
    label: str
    level: int
    streams: tuple[str, ...]  # its progress is the minimum of theirs
    keys: int
    merges: tuple[str, ...]  # SQL over p0…, one per partial
    partition: tuple[int, ...]  # which keys decide the mini-partition
    width: (
        int  # of a pane; 0: no panes, rows are grouped by their window and kept for no longer than the batch
    )
    offset: int
    feeds: tuple[Feed, ...]
    specs: tuple[WindowSpec, ...]


@dataclass(frozen=True)
class Close:
    """Windows of `node` that progress completes, as relation `view` (k…, p…, _ws, _we)."""

    node: str
    spec: WindowSpec
    view: str
    stored: bool = False


@dataclass(frozen=True)
class Gather:
    """Rows sent to a pane-less node, merged, as relation `view` (k…, p…, _ws, _we)."""

    node: str
    view: str
    stored: bool = False


@dataclass(frozen=True)
class Compute:
    """A relation by SQL over the relation `source`, computed before."""

    view: str
    sql: str
    source: str
    stored: bool = False


@dataclass(frozen=True)
class Send:
    """Partial rows (pane or window, k…, p…) for `node`: kept in this slot, or sent to the slots of the next
    level.
    """

    node: str
    sql: str
    source: str
    local: bool


@dataclass(frozen=True)
class Emit:
    """Results of a query: `sql` gives its columns in order; they are cast to Spark's types on the way out."""

    query: str
    sql: str
    source: str


Step = Close | Gather | Compute | Send | Emit


@dataclass(frozen=True)
class RawQuery:
    """A stateless query: columns of the source frame written out as they are."""

    query: str
    stream: str
    where: str | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class StreamSpec:
    name: str
    unit: str
    slack: int
    horizon: int | None
    missed: tuple[tuple[WindowSpec, tuple[str, ...]], ...]  # windows a row of it may miss, with their streams


@dataclass(frozen=True)
class Program:
    fingerprint: str
    pids: int
    streams: tuple[StreamSpec, ...]
    nodes: tuple[Node, ...]
    levels: tuple[tuple[Step, ...], ...]
    raw: tuple[RawQuery, ...]
    schemas: dict[str, bytes]  # query -> serialized Arrow schema of its results
    late_schemas: dict[str, bytes]
    user: tuple[UserAggregate, ...] = ()
    time_zone: str = "UTC"

    def node(self, name: str) -> Node:
        return next(n for n in self.nodes if n.name == name)


@dataclass(frozen=True)
class Progress:
    """What is known of one stream."""

    max_seen: int | None = None
    low_watermark: int | None = None


@dataclass(frozen=True)
class Batch:
    version: int
    store: Store
    progress: dict[str, Progress]  # before this batch
    route: tuple[int, ...]
    slots: int
    segments: tuple[SegmentMeta, ...]
    now: int  # microseconds, to tell implausible values
    flush: bool = False
    born: dict[str, int] = field(default_factory=dict)  # node -> windows start after this tick
