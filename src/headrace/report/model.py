"""What one micro-batch did, as plain data.

A `BatchReport` is made once, by the driver, when a batch is committed; it is all that the live view, the
log and the page know of a run, so each of them can be drawn from a file of reports long after the run.
Reports are frozen and go through JSON without loss.

Ticks are microseconds since the epoch (unit 'us') or the progressing integer itself (unit 'int'). Two distances
matter and differ: `StreamReport.behind_newest` is how far the low-watermark stands behind the largest value seen, in
ticks: what is waited for because rows may be out of order, so of a stream with SLACK just that. `behind_clock` is how
far it stands behind the clock (what a reader of results feels), in seconds, and means nothing for integer streams.
`max_value` and `low_watermark` are None until a stream has shown a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from headrace.errors import OptionError

Unit = Literal["us", "int"]


@dataclass(frozen=True, slots=True, repr=False)
class StreamReport:
    """One stream in one batch. `rejected` counts rows in no window: progressing values that are null or implausible, lines
    that do not parse.
    """

    rows: int
    max_value: int | None = None
    low_watermark: int | None = None
    late: int = 0
    rejected: int = 0
    unit: Unit = "us"
    contradicting: int = 0  # rows that punctuation had said would not come
    vanished: int = 0  # files that were listed, and gone when they were to be read

    @property
    def max_time(self) -> datetime | None:
        """The largest value seen, where it is a time."""
        return _time(self.max_value, self.unit)

    @property
    def low_watermark_time(self) -> datetime | None:
        """The low-watermark, where it is a time."""
        return _time(self.low_watermark, self.unit)

    def __repr__(self) -> str:
        """As a reader of `run.progress()` wants it: times, not microseconds."""
        known = {"max": self.max_value, "low_watermark": self.low_watermark}
        shown = {name: (_time(value, self.unit) or value) for name, value in known.items()}
        listed = [f"{n}={v.isoformat() if isinstance(v, datetime) else v}" for n, v in shown.items()]
        listed += [f"late={self.late}", f"rejected={self.rejected}"]
        listed += [f"contradicting={self.contradicting}"] if self.contradicting else []
        listed += [f"vanished={self.vanished}"] if self.vanished else []
        return f"StreamReport(rows={self.rows}, {', '.join(listed)})"

    @property
    def behind_newest(self) -> int | None:
        """Ticks from the low-watermark to the largest value seen; 0 when a flush has gone beyond it."""
        if self.max_value is None or self.low_watermark is None:
            return None
        return max(0, self.max_value - self.low_watermark)

    def behind_clock(self, now: float) -> float | None:
        """Seconds from the low-watermark to `now` (seconds since the epoch)."""
        if self.low_watermark is None or self.unit != "us":
            return None
        return now - self.low_watermark / 1e6


@dataclass(frozen=True, slots=True, repr=False)
class QueryReport:
    """One query in one batch: result rows published, and by column that carries progress, in ticks, up to where the results are
    all there: windows that end there or before, rows before that.
    """

    results: int
    complete_to: Mapping[str, int] = field(default_factory=dict)
    unit: Unit = "us"

    def __repr__(self) -> str:
        """As a reader of `run.progress()` wants it: times, not microseconds."""
        shown = {name: (_time(tick, self.unit) or tick) for name, tick in self.complete_to.items()}
        listed = [f"{name}={v.isoformat() if isinstance(v, datetime) else v}" for name, v in shown.items()]
        return f"QueryReport(results={self.results}{', complete_to ' + ', '.join(listed) if listed else ''})"


@dataclass(frozen=True, slots=True)
class TableReport:
    """The version of a static table that a batch used: held by every slot, or divided by the keys it is looked up by."""

    rows: int
    bytes: int
    divided: bool
    read_at: int  # microseconds


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """One slot in one batch, all levels together: partial rows that came in and their bytes, seconds of work (and of the
    processor), state it holds.
    """

    rows: int
    seconds: float
    state_bytes: int
    received_bytes: int = 0
    cpu: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One committed batch.

    `phases` says where its seconds went: `job` is the whole Spark job, in which the slowest slot spent `load`, `close`
    and `keep`. `tables` has the rows that came to each table of state, by its label in the plan, `table_bytes` the
    bytes of those that came through an exchange, `fullest` the mini-partitions of each that most of its rows went to, with how
    many. `imbalance` is the slowest slot over the mean, `moves` the mini-partitions
    that a policy or another number of slots gave to another slot before it: which, from where, to where. `heat` has a digit
    for each mini-partition, its load against the mean (`balance.heat_levels`). `model_error` is how far the model of seconds
    is off, as a share of a slot's; None if it has not been tried. `waiting_rows` of mini-partitions with a burst wait after it,
    the first of them for `behind_seconds`. `notes` are for the user, like a request that was refused.
    `static_tables` are those that were looked up.
    """

    batch_id: int
    rows: int
    seconds: float
    started_at: float
    streams: Mapping[str, StreamReport] = field(default_factory=dict)
    queries: Mapping[str, QueryReport] = field(default_factory=dict)
    open_windows: int = 0
    state_bytes: int = 0
    state_rows: int = 0
    segments: int = 0
    slots: int = 1
    phases: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)
    table_bytes: Mapping[str, int] = field(default_factory=dict)
    fullest: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    slot_loads: tuple[SlotLoad, ...] = ()
    imbalance: float = 1.0
    moves: tuple[tuple[int, int, int], ...] = ()
    heat: str = ""
    model_error: float | None = None
    notes: tuple[str, ...] = ()
    static_tables: Mapping[str, TableReport] = field(default_factory=dict)
    waiting_rows: int = 0
    behind_seconds: float = 0.0

    @property
    def moved(self) -> int:
        """How many mini-partitions moved before it."""
        return len(self.moves)

    @property
    def slot_seconds(self) -> tuple[float, ...]:
        """How long each slot worked."""
        return tuple(one.seconds for one in self.slot_loads)

    @property
    def late(self) -> int:
        return sum(stream.late for stream in self.streams.values())

    @property
    def rejected(self) -> int:
        return sum(stream.rejected for stream in self.streams.values())

    @property
    def results(self) -> int:
        return sum(query.results for query in self.queries.values())

    def to_json(self) -> dict[str, Any]:
        """Plain data, ready for `json.dumps`."""
        value: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return value

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BatchReport:
        """The inverse of `to_json`. Fields of a newer version are ignored."""
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise OptionError(
                f"not a batch report: {str(data)[:80]} ({error}); expected what to_json() makes"
            ) from error


@dataclass(frozen=True, slots=True)
class Totals:
    """A run so far."""

    batches: int = 0
    rows: int = 0
    seconds: float = 0.0
    late: int = 0
    rejected: int = 0
    results: int = 0

    def add(self, report: BatchReport) -> Totals:
        return Totals(
            self.batches + 1,
            self.rows + report.rows,
            self.seconds + report.seconds,
            self.late + report.late,
            self.rejected + report.rejected,
            self.results + report.results,
        )


def throughput(reports: Sequence[BatchReport], last: int = 10) -> float | None:
    """Rows per second of processing over the last `last` batches that had rows; None before the first.

    Empty batches are left out: while a stream is quiet the engine has not become slower.
    """
    busy = [report for report in reports if report.rows][-last:]
    seconds = sum(report.seconds for report in busy)
    return sum(report.rows for report in busy) / seconds if seconds > 0 else None


def _time(value: int | None, unit: Unit) -> datetime | None:
    """A tick as a time; None if it is none, or one that Python does not have."""
    if value is None or unit != "us":
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    except OverflowError:
        return None
