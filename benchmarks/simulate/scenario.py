"""A scenario: a query set and all that happens to its run, as data. Playing it twice does the same twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.simulate.meaning import Meaning, QuerySet, Row
from benchmarks.simulate.simulated_files import Fault
from headrace.program.limits import SHIPPED, Limits


@dataclass(frozen=True)
class Push:
    """A batch of rows, `clock` microseconds after the one before."""

    rows: Mapping[str, list[Row]]
    clock: int = 0


@dataclass(frozen=True)
class Flush:
    """A batch that closes every window that holds a row."""


@dataclass(frozen=True)
class Beat:
    """A look at the clock in a lull, and a batch without rows if that brings nothing."""

    clock: int = 0


@dataclass(frozen=True)
class Restart:
    """The run is closed and started again; perhaps with other slots, some queries less or more."""

    slots: int | None = None
    leave: frozenset[str] = frozenset()  # queries
    join: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rescale:
    """Somebody asks for other slots while it runs."""

    slots: int


@dataclass(frozen=True)
class Move:
    """The next batches have another route, with splits and dealt leaves."""

    seed: int
    splits: float = 0.5


@dataclass(frozen=True)
class Disturb:
    """Tasks of the next batches run more than once: some die, some answer twice."""

    seed: int
    dies: float
    doubles: float


@dataclass(frozen=True)
class Arm:
    """A fault is to come."""

    fault: Fault


@dataclass(frozen=True)
class Compact:
    """Housekeeping runs; `whole`: as the command does."""

    keep: int = 2
    step: int = 2
    fanout: int = 2
    grace: float = 0.0
    retain: float | None = None
    whole: bool = False


@dataclass(frozen=True)
class SinkFails:
    """A sink raises so many times."""

    times: int


@dataclass(frozen=True)
class Read:
    """Somebody who has been reading for long reads on."""


@dataclass(frozen=True)
class Wait:
    """Nothing happens for a while."""

    seconds: float


Event = Push | Flush | Beat | Restart | Rescale | Move | Disturb | Arm | Compact | SinkFails | Read | Wait


@dataclass(frozen=True)
class Scenario:
    """`kind` names where the set comes from; `mean` makes the model of its set."""

    seed: str
    kind: str
    case: QuerySet
    mean: Callable[[Any], Meaning]
    events: tuple[Event, ...]
    slots: int = 2
    tasks: int = 2
    limits: Limits = SHIPPED
    told: Mapping[str, list[Any]] = field(default_factory=dict)  # stream -> what is told beside it before each push
    beside: Mapping[str, str] = field(default_factory=dict)  # stream -> the name of what tells
    begins: int = 0  # the clock
    waits: int | None = None  # the seed of which rows wait
    may_flush: bool = True  # before the end; what comes after a flush may be late
    absent: frozenset[str] = frozenset()  # queries that are not there from the start

    def meaning(self) -> Meaning:
        return self.mean(self.case)
