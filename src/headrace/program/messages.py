"""What driver and tasks tell each other in one batch.

`Orders` go from the driver to every task. A source task sends a `SourceReport` to every slot, the slots of one
level send a `LevelProgress` to all slots of the next, and every slot sends a `SlotReport` to the driver, which makes the
next manifest of them. All are frozen and picklable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.program.limits import SHIPPED, Limits
from headrace.progress import NOTHING_KNOWN, NOTHING_SEEN, Frontier, Observation
from headrace.state import Mark, Numbers, OutputFile, SegmentMeta, Store, TableVersion, WaitingPid
from headrace.state.outputs import NO_NUMBERS
from headrace.state.split_route import SplitRoute


@dataclass(frozen=True)
class StreamProgress:
    """What was seen of a stream, and what will not come any more."""

    seen: Observation = NOTHING_SEEN
    frontier: Frontier = NOTHING_KNOWN


Frontiers = dict[str, StreamProgress]  # by stream


@dataclass(frozen=True)
class LevelProgress:
    """From a slot of one level to every slot of the next: progress after this batch, and how far what it sends is complete,
    if that is less because mini-partitions are behind.
    """

    streams: Frontiers
    behind: Mapping[str, Frontier] | None = None


@dataclass(frozen=True)
class Flush:
    """Where a flush takes progress."""

    bounds: Mapping[str, int]  # stream -> low-watermark
    reports: Mapping[str, int]  # node that reports without rows -> end of the last window to report


class Split(NamedTuple):
    """The row groups of a file that begin in [start, end)."""

    scan: int  # number of the stream's scan
    path: str
    start: int
    end: int
    pid: int = 0  # mini-partition of the folder, where folders are kept apart


@dataclass(frozen=True)
class Deferral:
    """How long rows of a mini-partition may wait, how many bytes of them in a slot, and beyond how many rows."""

    time: int  # microseconds
    bytes: int
    pace: int = 0  # microseconds from the batch before to this one
    least: int = SHIPPED.least_rows  # that a slot may have in any case


@dataclass(frozen=True)
class Orders:
    """What a batch tells its tasks: the driver has all of it, a task its part (`order_file.py`)."""

    version: int
    store: Store
    progress: Frontiers  # before this batch
    route: SplitRoute
    slots: int
    segments: tuple[SegmentMeta, ...]
    now: int  # microseconds, to tell implausible values
    born: Mapping[str, int] = field(default_factory=dict)  # node -> its windows start after this tick
    flush: Flush | None = None
    splits: tuple[tuple[Split, ...], ...] = ()  # one for each source task, when tasks read files
    own_splits: tuple[tuple[Split, ...], ...] = ()  # the same for each slot: files of the folders it owns
    memory: int | None = None  # bytes a slot's DuckDB may use before it spills
    scratch: str | None = None  # folder to spill into
    since: int = 0  # the clock when the run began: silence before it means nothing
    told: Mapping[str, Observation] = field(default_factory=dict)  # stream -> bounds from beside it
    tables: Mapping[str, TableVersion] = field(default_factory=dict)  # static table -> the version to use
    stale: frozenset[int] = frozenset()  # numbers in segments that are no mini-partitions of this route: number them anew
    copies: Mapping[str, frozenset[int]] = field(default_factory=dict)  # node -> those of the stale numbers to let go of
    hot: frozenset[int] = frozenset()  # mini-partitions whose most frequent keys are to be named
    preaggregate: bool = True  # False: source tasks send a partial row for every row
    deferral: Deferral | None = None  # None: every row is processed when it comes
    waiting: Mapping[int, WaitingPid] = field(default_factory=dict)  # by mini-partition: what is behind, before this batch
    marks: Mapping[int, Mark] = field(default_factory=dict)  # by version: the progress it goes on from
    numbers: Numbers = NO_NUMBERS  # by which outputs say whose they are
    limits: Limits = SHIPPED

    @property
    def turn_bytes(self) -> float | None:
        """What state and input of a turn may have of a slot's memory."""
        return None if self.memory is None else self.memory * self.limits.turn_share


@dataclass(frozen=True)
class StreamCount:
    """What a source task counted of a stream."""

    rows: int = 0
    late: int = 0
    rejected: int = 0
    contradicting: int = 0


@dataclass(frozen=True)
class SourceReport:
    """From a source task: progress to every slot; counts and files to slot 0 only."""

    seen: Mapping[str, Observation]
    counts: Mapping[str, StreamCount] = field(default_factory=dict)
    outputs: tuple[OutputFile, ...] = ()  # late and rejected rows, results of stateless queries
    sent: int = 0  # rows, to all slots of the first level


@dataclass(frozen=True)
class Release:
    """Mini-partitions of a segment that a slot needs no more from that file, and how many rows they have there."""

    path: str
    pids: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class NodeActivity:
    """What each mini-partition of a slot did for one node; the tuples are parallel to `pids`."""

    node: str
    pids: tuple[int, ...]
    rows: tuple[int, ...]  # came in
    state_rows: tuple[int, ...]  # are kept after the batch
    state_bytes: tuple[int, ...]
    results: tuple[int, ...]  # given to queries


class HotKey(NamedTuple):
    """A key that many new rows of a mini-partition have."""

    node: str
    pid: int
    key: tuple[str | None, ...]
    rows: int


@dataclass(frozen=True)
class Timings:
    """Seconds of a slot."""

    load: float = 0.0
    close: float = 0.0
    keep: float = 0.0
    total: float = 0.0
    wait: float = 0.0  # for input, before that
    cpu: float = 0.0  # of the processor, for all of it


@dataclass(frozen=True)
class SlotReport:
    """What one slot of one level did in a batch."""

    version: int
    slot: int
    level: int
    progress: Frontiers  # after this batch
    segments: tuple[SegmentMeta, ...]  # written
    released: tuple[Release, ...]
    outputs: tuple[OutputFile, ...]  # results
    activity: tuple[NodeActivity, ...]
    timings: Timings
    sources: tuple[SourceReport, ...] = ()  # slot 0 of level 0 hands on what the source tasks say
    executor: str = ""  # where it ran
    peak_memory: int = 0  # bytes, the most its worker ever had
    received: Mapping[str, int] = field(default_factory=dict)  # node -> bytes of rows that came through the exchange
    samples: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)  # node -> hashes of values, mini-partitions
    hot_keys: tuple[HotKey, ...] = ()
    waiting: Mapping[int, WaitingPid] = field(default_factory=dict)  # mini-partitions that are behind after this batch
    cut: bool = False  # whether rows that wait since this batch were late
