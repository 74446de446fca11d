"""What a run is asked for, and what it is given by whoever runs its tasks: two frozen values, made before anything is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.balance.find_policy import find_policy
from headrace.coordinator.slot_follower import Capacity
from headrace.coordinator.table_versions import TableReader
from headrace.logical.graph import Graph
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer.plan import Typer
from headrace.program.limits import SHIPPED, Limits
from headrace.progress import Observation
from headrace.sinks.sinks import Sink
from headrace.sql.check_functions import SAFE_ONLY, OpenFunctions
from headrace.state import Manifest
from headrace.state.clock import SYSTEM, Clock
from headrace.state.share import check_share
from headrace.state.slot_requests import AUTO, check_slot_count

BALANCE = "headrace"  # the policy, unless another is asked for


@dataclass(frozen=True)
class Trigger:
    """When batches begin, and what happens at the end."""

    available_now: bool = False  # end when what is there is read
    interval: int = 0  # milliseconds from batch to batch, of a run that goes on; 0: each begins when the one before has ended
    flush: bool = False  # close all open windows at the end

    @property
    def seconds(self) -> float:
        """From batch to batch."""
        return 0.0 if self.available_now else self.interval / 1000


@dataclass(frozen=True)
class RunOptions:
    """What a user asks of a run, whoever runs its tasks."""

    slots: int | str | None = None  # a number, AUTO to let the run choose, or None for as many as the checkpoint has
    balance: str = BALANCE
    partition_by: str | None = None  # what state is partitioned by where it serves
    rates_from: str | None = None  # checkpoint whose measured rates place the tables of a new one
    defer: int | None = None  # microseconds that rows of a burst may wait; None: not at all
    share: str | None = None  # who else may look into the checkpoint (`state/share.py`)
    retain: float | None = None  # seconds that results are kept; None: for ever
    trigger: Trigger = Trigger()
    preaggregate: bool = True  # whether source tasks send groups or rows
    limits: Limits = SHIPPED

    def __post_init__(self) -> None:
        if self.slots is not None and self.slots != AUTO:
            check_slot_count(self.slots)
        find_policy(self.balance)
        check_share(self.share)

    @property
    def wanted_slots(self) -> int | None:
        """The number of slots that is asked for."""
        return self.slots if isinstance(self.slots, int) else None


@dataclass(frozen=True)
class Engine:
    """Who runs the tasks of a run, and reads what tasks cannot: Spark, or this process."""

    make_typer: Callable[[Graph], Typer]
    user: Mapping[str, UserAggregate] = field(default_factory=dict)
    opened: OpenFunctions = SAFE_ONLY  # that texts may call, of queries that are added to a running set
    time_zone: str = "UTC"
    usual_slots: int = 1  # where neither the user nor the checkpoint says how many
    spark_reads: str = ""  # why tasks must not read files by themselves
    folders: Mapping[str, str] = field(default_factory=dict)  # of streams of files
    by_folder: frozenset[str] | None = None  # streams whose folders are kept apart; None: those that can be,
    flat: frozenset[str] = frozenset()  # but not those whose files lie in one folder
    memory: int | None = None  # bytes for a slot's DuckDB
    scratch: str | None = None  # folder to spill into
    in_background: bool = True  # whether the checkpoint is compacted beside the batches
    clock: Clock = SYSTEM
    read_bounds: Callable[[], Mapping[str, Observation]] = dict  # told beside the streams
    read_capacity: Callable[[], Capacity] | None = None  # of executors, where slots can follow them
    tables: TableReader | None = None
    sinks: tuple[Sink, ...] = ()
    check: Callable[[Manifest | None], None] = lambda latest: None  # may refuse what was last committed
