"""Small streams as files, and runs of query sets over them, for the tests that use Spark.

A stream is a folder of files, one per batch (`maxFilesPerTrigger 1`). Their modification times go up with their numbers,
since Spark reads files in that order. Results are compared as multisets: they are published in any order.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from headrace.program.limits import SHIPPED, Limits
from headrace.runtime.loop import Run

START = datetime(2024, 3, 9, 22, 0, tzinfo=UTC)
EVENTS = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("k", pa.string()),
        ("v", pa.int32()),
        ("price", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("x", pa.float64()),
        ("ok", pa.bool_()),
    ]
)
COLUMNS = "ts TIMESTAMP, k STRING, v INT, price DECIMAL(10,2), day DATE, x DOUBLE, ok BOOLEAN"
Row = Mapping[str, Any]


def at(seconds: float) -> datetime:
    """A moment so many seconds after the start of the data."""
    return START + timedelta(seconds=seconds)


def events(
    count: int, seconds: float = 600, disorder: float = 20, seed: int = 1, start: float = 0
) -> list[dict[str, Any]]:
    """Rows of EVENTS over `seconds`, each up to `disorder` seconds behind its place, with NULLs in every other column."""
    rng = random.Random(seed)

    def sometimes(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    rows = []
    for i in range(count):
        ts = at(start + seconds * i / count - rng.random() * disorder)
        rows.append(
            {
                "ts": ts,
                "k": sometimes(rng.choice(["a", "b", "ä", "", "Z z"])),
                "v": sometimes(rng.randint(-50, 50)),
                "price": sometimes(Decimal(rng.randint(-99999, 99999)) / 100),
                "day": sometimes(date(2024, 3, 1) + timedelta(days=rng.randint(0, 20))),
                "x": sometimes(rng.uniform(-1, 1)),
                "ok": sometimes(rng.random() < 0.5),
            }
        )
    return rows


def write(folder: Path, rows: Sequence[Row], number: int = 0, schema: pa.Schema = EVENTS) -> Path:
    """One Parquet file of a stream, in one step, as Spark's file source wants it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:05d}.parquet"
    hidden = folder / f".{path.name}"
    pq.write_table(pa.Table.from_pylist([dict(r) for r in rows], schema), hidden)
    return place(hidden, path, number)


def place(hidden: Path, path: Path, number: int) -> Path:
    """Show a file under its name, with the modification time of its number."""
    os.utime(hidden, (1.7e9 + number, 1.7e9 + number))
    return hidden.rename(path)


def write_batches(folder: Path, rows: Sequence[Row], batches: int, schema: pa.Schema = EVENTS) -> None:
    step = -(-len(rows) // batches)
    for number in range(batches):
        write(folder, rows[number * step : (number + 1) * step], number, schema)


def stream_sql(
    name: str,
    path: Path,
    slack: str = "SLACK 30 SECONDS",
    columns: str = COLUMNS,
    on: str = "ts",
    **options: Any,
) -> str:
    """CREATE STREAM over a folder of Parquet files, one per batch unless told otherwise."""
    given = {"path": str(path), "maxFilesPerTrigger": 1, **options}
    listed = ", ".join(
        f"{k} '{v}'" if isinstance(v, str) else f"{k} {v}" for k, v in given.items() if v is not None
    )
    return (
        f"CREATE STREAM {name} ({columns}) PROGRESSING ON {on} {slack} FROM 'parquet' OPTIONS ({listed});\n"
    )


def session(spark: Any, checkpoint: Path, script: str, slots: int = 2, limits: Limits = SHIPPED) -> hr.Session:
    return hr.Session(spark, checkpoint=checkpoint, slots=slots, limits=limits).sql(script)


def drained(
    spark: Any, checkpoint: Path, script: str, slots: int = 2, limits: Limits = SHIPPED, **options: Any
) -> Run:
    """A run over all that is there, ended."""
    run = session(spark, checkpoint, script, slots, limits).start(available_now=True, **options)
    run.wait()
    return run


# -- comparing -----------------------------------------------------------------------------------------------------
def multiset(table: pa.Table, columns: Iterable[str] | None = None) -> Counter[tuple[Any, ...]]:
    """The rows of a table, times as microseconds and floats to ten digits, in the order of `columns`."""
    names = list(columns) if columns is not None else table.column_names
    lists = [_plain(table.column(n)) for n in names]
    return Counter(zip(*lists, strict=True))


def _plain(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    return [_value(v) for v in column.to_pylist()]


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.10g}" if value else "0"
    if isinstance(value, list):
        return tuple(_value(v) for v in value)
    return value


def same(ours: pa.Table, theirs: pa.Table) -> None:
    """Assert that two tables have the same columns and the same rows, in any order of either."""
    assert sorted(ours.column_names) == sorted(theirs.column_names)
    mine, other = multiset(ours), multiset(theirs, ours.column_names)
    extra, missing = mine - other, other - mine
    assert (extra, missing) == (Counter(), Counter()), (
        f"only ours: {list(extra.items())[:5]}\nonly theirs: {list(missing.items())[:5]}"
    )


def tables(run: Run, *names: str) -> dict[str, Counter[tuple[Any, ...]]]:
    """The results of queries as multisets, to compare runs."""
    return {n: multiset(run.results(n).arrow()) for n in names or run.driver.program.schemas}
