"""Check-ins of the passengers of flights, made up: parties that come to a counter before their flight should leave.

A party of one to four comes between 20 minutes and 3 hours before the scheduled time, most an hour and a half before; how many
parties a flight has is random, and some have none. What is known of a flight later (delay, cancellation) changes nothing.
The desk reports with up to ten minutes of delay: arrival order is that of reports, the progressing attribute is `ts`, and a
slack of ten minutes is exact.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_TIME = pa.timestamp("us", "UTC")
CHECKINS = pa.schema(
    [
        ("ts", _TIME),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("origin", pa.string()),
        ("passengers", pa.int32()),
        ("bags", pa.int32()),
    ]
)
_MINUTE = 60_000_000
_PARTIES = 1.5  # per flight, on average
_DELAY = 10 * _MINUTE


def check_in_passengers(rng: np.random.Generator, flights: pa.Table) -> pa.Table:
    """The check-ins of `flights`, in order of arrival."""
    flight = np.repeat(np.arange(flights.num_rows), rng.poisson(_PARTIES, flights.num_rows))
    before = (rng.triangular(20, 90, 180, len(flight)) * _MINUTE).astype(np.int64)
    ts = flights["sched"].cast(pa.int64()).to_numpy()[flight] - before
    passengers = rng.integers(1, 5, len(flight), np.int32)
    reported = np.argsort(ts + rng.integers(0, _DELAY, len(flight)), kind="stable")
    columns = {
        "ts": pa.array(ts).cast(_TIME),
        **{name: flights[name].take(flight) for name in ("carrier", "flight", "origin")},
        "passengers": passengers,
        "bags": rng.binomial(passengers * 2, 0.4).astype(np.int32),
    }
    return pa.table(columns).cast(CHECKINS).take(reported)
