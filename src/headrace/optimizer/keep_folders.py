"""Streams that come partitioned, in folders: which tables of state can be kept folder by folder (document 000 §1, §3.2).

`PARTITIONED BY (destIP)` promises that rows with one value of destIP are in one folder of the stream's files. Where tasks read
the files themselves (`choose_reader.py`), the slot that owns a folder reads it, so a table whose keys tell the folder needs
no exchange: its mini-partition is the folder's number and not a hash. Folders of one name are one partition, whichever
stream they are of, so streams that are partitioned alike can be joined folder by folder.

A key must tell the folder exactly as the stream's own values do. Where rows of several streams are cast to a common type, values
that differ may become one, so such keys do not count; nor do floating-point values, of which two are zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp, parse_one

from headrace.logical.graph import Graph, Merge, Rows, Stream
from headrace.optimizer.carry_partition import carry_partition
from headrace.optimizer.plan import Settings, TypedPlan
from headrace.optimizer.trace_columns import find_leaves
from headrace.partitioning.choose_table_keys import TableKey
from headrace.partitioning.restrictions import read_restriction

Shown = tuple[str | exp.Expr, ...]


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


def show_folders(plan: TypedPlan, name: str) -> Shown | None:
    """What rows over streams are in folders by, in their own columns; None if they come otherwise, or do not show it."""
    leaves = find_leaves(plan.graph, name)
    if not leaves or not _is_of_streams(plan.graph, name):
        return None
    ways = [one for leaf in leaves for one in _show_branches(plan, leaf, name)]
    spelled = {None if one is None else tuple(map(_spell, one)) for one in ways}
    return ways[0] if len(spelled) == 1 else None


def _is_of_streams(graph: Graph, name: str) -> bool:
    """Whether all rows come straight from streams."""
    relation = graph.relations[name]
    if isinstance(relation, Merge):
        return all(_is_of_streams(graph, arm) for arm in relation.inputs)
    return isinstance(relation, Rows)


def _show_branches(plan: TypedPlan, leaf: Rows, name: str) -> Iterable[Shown | None]:
    alone = len(leaf.branches) == 1 and leaf.name == name
    for branch in leaf.branches:
        stream = plan.graph.streams[branch.stream]
        if stream.name not in (plan.settings.by_folder or ()):
            yield None
            continue
        types = {c: t.strip().lower() for c, t in stream.columns}
        keys = read_restriction(stream, stream.partition_by, True).keys
        outputs = list(branch.columns)
        if not alone:  # cast to what they are together
            united = plan.types.get(name, {})
            outputs = [(n, e) for n, e in outputs if isinstance(e, exp.Column) and types.get(e.name) == united.get(n)]
        yield carry_partition(tuple(k.expression for k in keys), outputs, types)


def find_folder_keys(plan: TypedPlan, name: str, keys: Sequence[exp.Expr]) -> tuple[TableKey, ...] | None:
    """How keys over rows of streams tell the folder; None if they do not."""
    return number_keys(show_folders(plan, name), keys, plan.types.get(name, {}))


def number_keys(shown: Shown | None, keys: Sequence[exp.Expr], types: Mapping[str, str]) -> tuple[TableKey, ...] | None:
    """What rows are in folders by, in terms of keys over them; None if these do not tell."""
    kept = carry_partition(shown, [(f"k{i}", k) for i, k in enumerate(keys)], types)
    return None if kept is None else tuple(_number(_spell(key)) for key in kept)


def _spell(key: str | exp.Expr) -> str:
    return key if isinstance(key, str) else key.sql(dialect="spark")


def _number(text: str) -> TableKey:
    return int(text[1:]) if text[:1] == "k" and text[1:].isdigit() else text


def uses_key(key: TableKey, number: int) -> bool:
    """Whether a key of a table is computed of the key of this number."""
    if isinstance(key, int):
        return key == number
    return any(c.name == f"k{number}" for c in parse_one(key, dialect="spark").find_all(exp.Column))
