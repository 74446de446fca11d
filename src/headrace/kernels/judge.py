"""Which rows are part of a stream, and which are kept in its late table.

A row whose progressing value is null or beyond the horizon is not part of the stream: it goes to the late
table with the reason. A row behind the low-watermark counts in every window still open; if it has missed
one, it is in the late table too.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.kernels.spec import Batch, StreamSpec
from headrace.progress import meld
from headrace.windows import WindowSpec

LARGEST = 1 << 62  # ticks; beyond, the arithmetic of windows would leave 64 bits


@dataclass(frozen=True)
class Judge:
    """The rule for one stream in one batch, as SQL over `_t`."""

    odd: str  # whether a row must be looked at: true for every row that has a reason
    reason: str  # why it is kept in the late table; NULL if it need not be
    usable: str  # whether it is part of the stream


@dataclass
class Seen:
    """What a task saw of a stream; goes into the manifest."""

    rows: int = 0
    max_seen: int | None = None
    late: int = 0
    rejected: int = 0
    files: list[dict[str, object]] = field(default_factory=list)


class Screened(NamedTuple):
    """A chunk of rows after the judge: the largest tick of the usable ones, and the rows to keep as late."""

    largest: int | None
    kept: pa.Table | None  # in the late table's schema


def judge(batch: Batch, spec: StreamSpec) -> Judge:
    limit = _limit(batch, spec)
    low = batch.progress[spec.name].low_watermark
    odd = f"_t IS NULL OR _t > {limit} OR _t < {-LARGEST if low is None else max(low, -LARGEST)}"
    late = " OR ".join(_missed_sql(window, bound) for window, bound in _open(batch, spec)) or "false"
    reason = "CASE WHEN _t IS NULL THEN 'null'"
    reason += f" WHEN _t > {limit} OR _t < {-LARGEST} THEN 'implausible'"
    reason += f" WHEN {late} THEN 'late' END"
    return Judge(odd, reason, f"_t <= {limit} AND _t >= {-LARGEST}")


def _limit(batch: Batch, spec: StreamSpec) -> int:
    """The largest plausible value: the clock for times, the largest seen for integers, plus the horizon."""
    base = batch.now if spec.unit == "us" else batch.progress[spec.name].max_seen
    if spec.horizon is None or base is None:
        return LARGEST
    return min(base + spec.horizon, LARGEST)


def _open(batch: Batch, spec: StreamSpec) -> list[tuple[WindowSpec, int]]:
    found = []
    for window, streams in spec.missed:
        low_watermark = meld([batch.progress[s].low_watermark for s in streams])
        if low_watermark is not None:
            found.append((window, low_watermark))
    return found


def _missed_sql(window: WindowSpec, low_watermark: int) -> str:
    """Whether the first window to end after `_t` holds it and is closed already."""
    first = window.origin + (window.range or 0) if window.align == "start" else window.origin
    slide = window.slide
    end = f"(_t + {slide} - (((_t - {first}) % {slide}) + {slide}) % {slide})"
    holds = f"_t >= {window.origin}" if window.range is None else f"{end} - {window.range} <= _t"
    if window.reset is not None:
        holds = "true"
    return f"({end} <= {low_watermark} AND {holds})"


def repetitive(schema: pa.Schema) -> list[str]:
    """Columns worth a dictionary in Parquet: not numbers, for which looking for repetitions takes half the time."""
    return [f.name for f in schema if not pa.types.is_primitive(f.type) or pa.types.is_temporal(f.type)]


def write_parquet(batch: Batch, folder: str, table: pa.Table, schema: bytes) -> dict[str, object]:
    """A table as a file nobody else writes, whatever attempt of whatever task this is."""
    target = pa.ipc.read_schema(pa.py_buffer(schema))
    path = f"{folder}/{batch.version:012d}-{uuid.uuid4().hex}.parquet"
    with batch.store.open_output(path) as out:
        pq.write_table(table.cast(target), out, use_dictionary=repetitive(target))
    return {"path": path, "rows": table.num_rows, "bytes": batch.store.size(path)}
