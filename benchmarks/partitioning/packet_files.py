"""Packets as files, with columns that say which partition a splitter would send each row to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headrace.generate.packets import XMAS, Packets

FLOW = ("srcIP", "destIP", "srcPort", "destPort")
MINUTE = 60_000_000
FILES = 8  # one for each source task of four workers
ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


def make_packets(rows: int, groups: int, minutes: int) -> pa.Table:
    """A trace in order of time, of `groups` pairs of hosts with four flows each. One flow in twenty is
    suspicious, as in the document's trace."""
    packets = Packets(
        rows=rows,
        seed=7,
        groups=groups,
        sources=groups // 8,
        skew=0.5,
        start=1_704_067_200_000_000,
        duration=minutes * MINUTE,
        disorder="none",
        delay=0,
        block=1,
        lulls=0,
        lull=0,
        suspicious=0.0,
    )
    table = pa.concat_tables(packets.tables())
    flags = np.where(hash_columns(table, FLOW) % 20 == 7, XMAS, table["flags"].to_numpy()).astype(np.int32)
    return table.set_column(table.schema.get_field_index("flags"), "flags", pa.array(flags))


def split_for(table: pa.Table, workers: int) -> pa.Table:
    """The splitter's decisions: which of two partitions of each worker a row goes to, round robin or by a hash."""
    numbers = np.arange(table.num_rows)
    found = {
        "part": numbers % (2 * workers),
        "host": numbers % workers,
        "flow_part": hash_columns(table, FLOW) % (2 * workers),
        "pair_part": hash_columns(table, FLOW[:2]) % (2 * workers),
    }
    for name, values in found.items():
        table = table.append_column(name, pa.array(values.astype(np.int32)))
    return table


def hash_columns(table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    found = np.zeros(table.num_rows, np.uint64)
    for name in names:
        found = (found ^ table[name].to_numpy().astype(np.int64).view(np.uint64)) * np.uint64(ODD)
        found ^= found >> np.uint64(32)
    return (found >> np.uint64(1)).astype(np.int64)


def write_packets(table: pa.Table, folder: Path, files: int = FILES) -> None:
    """Equal parts, one after the other in time."""
    folder.mkdir(parents=True)
    for number, part in enumerate(split_table(table, files)):
        pq.write_table(part, folder / f"{number}.parquet")


def split_table(table: pa.Table, parts: int) -> Iterator[pa.Table]:
    bounds = [table.num_rows * i // parts for i in range(parts + 1)]
    return (table.slice(a, b - a) for a, b in pairwise(bounds))
