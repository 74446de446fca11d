"""Streams that come partitioned, in folders: which tables of state can be kept folder by folder (document 000 §1, §3.2).

`PARTITIONED BY (destIP)` promises that rows with one value of destIP are in one folder of the stream's files. Where tasks read
the files themselves (`choose_reader.py`), the slot that owns a folder reads it, so a table whose keys tell the folder needs
no exchange: its mini-partition is the folder's number and not a hash. Folders of one name are one partition, whichever
stream they are of, so streams that are partitioned alike can be joined folder by folder.

A key must tell the folder exactly as the stream's own values do. Where rows of several streams are cast to a common type, values
that differ may become one, so such keys do not count; nor do floating-point values, of which two are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.logical.graph import Graph, Stream
from headrace.optimizer.plan import Settings
from headrace.partitioning.follow_rows import RowFollower, TableKey, compute_keys
from headrace.partitioning.restrictions import read_restriction
from headrace.partitioning.row_places import Place


def find_folder_streams(graph: Graph, settings: Settings) -> frozenset[str]:
    """The streams whose clause may count: their files are in folders below one path. Who wants state
    partitioned in a way of his own has it so. Files that all lie in one folder would all be of one slot:
    their rows go through the exchange.
    """
    if settings.partition_by is not None:
        return frozenset()
    known = {s.name for s in graph.streams.values() if _is_in_folders(s, s.name in settings.folders)}
    return frozenset(known - settings.flat)


def _is_in_folders(stream: Stream, is_folder: bool) -> bool:
    path = stream.option("path") or ""
    named = is_folder or not any(c in path for c in "*?[{")
    parquet = (stream.format or "").lower() == "parquet"
    return parquet and named and comes_partitioned(stream)


def comes_partitioned(stream: Stream) -> bool:
    """Whether a stream is declared PARTITIONED BY values of which equal ones are the same."""
    if not stream.partition_by or not stream.partition_fixed:
        return False
    return all(key.exact for key in read_restriction(stream, stream.partition_by, True).keys)


def find_folder_keys(
    follower: RowFollower, places: Sequence[Place], keys: Sequence[exp.Expr], types: Sequence[str]
) -> tuple[TableKey, ...] | None:
    """How keys over rows, of these types, tell the folder; None if they do not. All rows come straight from streams, or are
    in slots of one level, and know the folder they are from.
    """
    if not places or not all(p.brings_pid for p in places) or len({p.level for p in places}) > 1:
        return None
    ways = {follower.find_table_keys(place, compute_keys(keys, types, place)) for place in places}
    return ways.pop() if len(ways) == 1 else None
