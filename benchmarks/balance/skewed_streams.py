"""Streams whose load is even, skewed, or skewed elsewhere after a while, as Parquet files of one batch each.

A row is (ts, k, s, v). The set is partitioned by `k` and grouped by `k, s`, where `s` is hardly ever the same twice in a pane: so
no pre-aggregation in the source tasks takes the skew away before it reaches a slot, and what a slot has to do is in proportion to
its rows, whichever keys they have. Each file covers ten seconds.

    even      every key alike
    zipf      keys by a zipf law with exponent 1.2: the first has a fifth of all rows, more than a slot's share
    changing  six rows in ten on twelve keys, twelve others after every ten batches
    focused   nine rows in ten on two of the 128 mini-partitions, both on the first slot of a new checkpoint
    single    nine rows in ten on one mini-partition, in hundreds of keys
    hot       six rows in ten with one key
    burst     every key alike, but in every eighth batch six rows in ten on one mini-partition, in hundreds of keys
    few       one row in ten with that key: what `hot` is joined with
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.optimizer.plan import PIDS

KEYS = 100_000
SECONDS = 10  # of the stream, in a file
CHANGES = 10  # batches between two sets of hot keys
BURSTS = 8  # batches from burst to burst
COLUMNS = ("ts", "k", "s", "v")
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def draw_even(rng: np.random.Generator, rows: int, _: int) -> np.ndarray:
    return rng.integers(0, KEYS, rows)


def draw_zipf(rng: np.random.Generator, rows: int, _: int) -> np.ndarray:
    ends = np.cumsum(1 / np.arange(1, KEYS + 1) ** 1.2)
    names = np.random.default_rng(1).permutation(KEYS)
    return names[np.minimum(np.searchsorted(ends, rng.random(rows) * ends[-1]), KEYS - 1)]


def draw_changing(rng: np.random.Generator, rows: int, batch: int) -> np.ndarray:
    hot = np.random.default_rng(100 + batch // CHANGES).permutation(KEYS)[:12]
    return np.where(rng.random(rows) < 0.6, rng.choice(hot, rows), rng.integers(0, KEYS, rows))


def draw_focused(rng: np.random.Generator, rows: int, _: int, pids: tuple[int, ...] = (4, 5)) -> np.ndarray:
    inside = np.isin(find_pids(), pids)
    hot, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
    return np.where(rng.random(rows) < 0.9, rng.choice(hot, rows), rng.choice(rest, rows))


def draw_single(rng: np.random.Generator, rows: int, batch: int) -> np.ndarray:
    return draw_focused(rng, rows, batch, (4,))


def draw_burst(rng: np.random.Generator, rows: int, batch: int) -> np.ndarray:
    keys = draw_even(rng, rows, batch)
    if batch % BURSTS != BURSTS - 1:
        return keys
    return np.where(rng.random(rows) < 0.6, rng.choice(np.flatnonzero(find_pids() == 4), rows), keys)


def draw_hot(rng: np.random.Generator, rows: int, _: int, share: float = 0.6) -> np.ndarray:
    return np.where(rng.random(rows) < share, 7, rng.integers(0, KEYS, rows))


def draw_few(rng: np.random.Generator, rows: int, batch: int) -> np.ndarray:
    return draw_hot(rng, rows, batch, 0.1)


STREAMS: dict[str, Draw] = {
    "even": draw_even,
    "zipf": draw_zipf,
    "changing": draw_changing,
    "focused": draw_focused,
    "single": draw_single,
    "burst": draw_burst,
    "hot": draw_hot,
    "few": draw_few,
}


def find_pids() -> np.ndarray:
    """The mini-partition of every key."""
    with duckdb.connect() as db:
        found = db.execute(f"SELECT hash(k::INTEGER) % {PIDS} AS pid FROM range({KEYS}) t(k) ORDER BY k").fetchnumpy()
    return np.asarray(found["pid"]).astype(np.int64)


def make_stream(folder: Path, name: str, rows: int, batches: int) -> list[Path]:
    """The files of a stream, `rows` rows in each; made once."""
    target = folder / f"{name}-{rows}x{batches}"
    if not (target / "_made.json").exists():
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for batch in range(batches):
            rng = np.random.default_rng((sum(map(ord, name)), batch))
            start = (batch * SECONDS + 1_700_000_000) * 1000
            millis = np.sort(rng.integers(start, start + SECONDS * 1000, rows))
            table = pa.table(
                {
                    "ts": pa.array(millis * 1000, pa.timestamp("us", "UTC")),
                    "k": pa.array(STREAMS[name](rng, rows, batch), pa.int32()),
                    "s": pa.array(rng.integers(0, 1 << 30, rows), pa.int32()),
                    "v": pa.array(rng.integers(0, 1000, rows), pa.int32()),
                }
            )
            file = target / f"part-{batch:05d}.parquet"
            pq.write_table(table, file, row_group_size=max(1, rows // 8))
            os.utime(file, (1_700_000_000 + batch, 1_700_000_000 + batch))
        (target / "_made.json").write_text(json.dumps({"rows": rows, "batches": batches}))
    return sorted(target.glob("part-*.parquet"))
