"""Why most rows of a batch were rejected, in words: what their values look like, and what to write.

A stream whose times are numbers of milliseconds, or whose time column is called otherwise in the files, rejects all it
reads. Every row is in the late table, but who does not expect it does not look there. So the driver looks, when a batch
rejects more than half of a stream's rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.logical.graph import Stream
from headrace.state import FilePart, Store
from headrace.state.result_parquet import read_results

_FILES = 4  # of late rows that are looked at
_DAY = 86_400_000_000
_EARLIEST = 7_305 * _DAY  # 1990: times of data are after it, and not after tomorrow


def explain_rejected(store: Store, stream: Stream, files: Sequence[FilePart], now: int) -> str | None:
    """The likely cause and what to do, by the late rows of a batch; None if none of them was rejected. `now` is the clock,
    in microseconds.
    """
    columns = [read_results(store, file).select([stream.on, "_reason"]) for file in files[:_FILES]]
    rows = pa.concat_tables(columns) if columns else None
    reasons = Counter(rows["_reason"].to_pylist()) if rows is not None else Counter[str]()
    found = [
        (count, reason) for reason, count in reasons.items() if reason in ("null", "malformed", "implausible")
    ]
    if rows is None or not found:
        return None
    reason = max(found)[1]
    if reason == "null":
        return (
            f"their {stream.on} is NULL: is it called otherwise in the source, or written otherwise than a "
            f"{dict(stream.columns)[stream.on]} is? Declare the column as it is there, or say how it is written, with "
            "OPTIONS (timestampFormat '…')"
        )
    if reason == "malformed":
        return (
            f"they do not parse as {stream.format} of the columns declared; their text is in the column _text"
        )
    values = rows.filter(pc.equal(rows["_reason"], reason))[stream.on]
    return _explain_implausible(stream, values, now)


def _explain_implausible(stream: Stream, values: pa.ChunkedArray, now: int) -> str:
    on = stream.on
    if stream.unit == "int":
        return f"their {on} is beyond the horizon, like {values[0]}; if such values are right, declare a larger HORIZON"
    if pa.types.is_date(values.type):
        ticks = values.cast(pa.int32()).to_numpy().astype(np.int64) * _DAY
    else:
        ticks = values.cast(pa.int64()).to_numpy()
    middle = int(np.median(ticks))
    if _EARLIEST <= middle // 1_000 <= now + _DAY:
        return (
            f"their {on} are numbers of milliseconds, and a TIMESTAMP is read from numbers of seconds. Declare {on} BIGINT, with "
            "SLACK, RANGE and SLIDE in milliseconds ([RANGE 60000] is a minute), or make a time of it in Python: "
            f"Session.stream('{stream.name}', frame.withColumn('{on}', timestamp_millis('{on}')), …)"
        )
    return (
        f"their {on} is more than the horizon ahead of the clock (by {(middle - now) / _DAY:,.0f} days); if such times are "
        "right, declare HORIZON with PROGRESSING ON"
    )
