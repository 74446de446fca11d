"""Bounds of groups that make progress by themselves, as the tables and values that SQL and rows are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from headrace.progress import Frontier, Group

Columns = tuple[str, ...]  # of a source
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class GroupBounds:
    """The groups that are ahead of the rest, before or after the batch: group -> bounds."""

    bounds: dict[Group, tuple[int, int]]

    @property
    def furthest(self) -> int:
        return max(after for _, after in self.bounds.values())


def find_group_bounds(before: Frontier, after: Frontier) -> GroupBounds | None:
    """What two frontiers say of single groups; None if nothing."""
    named = {g for g, _ in (*before.groups, *after.groups)}
    if not named:
        return None
    old, new = dict(before.groups), dict(after.groups)
    return GroupBounds({g: (old.get(g, before.bound), new.get(g, after.bound)) for g in named})


def find_bounds(con: duckdb.DuckDBPyConnection, rows: pa.Table, frontier: Frontier, columns: Columns) -> Array:
    """The bound that holds for each row, whose group these columns tell."""
    rest = frontier.bound
    if not frontier.groups:
        return np.full(rows.num_rows, rest)
    names = [f"g{i}" for i in range(len(columns))]
    numbered = rows.select(list(columns)).rename_columns(names).append_column("_n", pa.array(range(len(rows))))
    con.register("judged", numbered)
    con.register("own_bounds", make_bounds_table(names, {g: (b,) for g, b in frontier.groups}, ("own",)))
    same = " AND ".join(f"j.{n} IS NOT DISTINCT FROM b.{n}" for n in names)
    sql = f"SELECT coalesce(own, {rest}) AS own FROM judged j LEFT JOIN own_bounds b ON {same} ORDER BY _n"
    found = con.sql(sql).fetchnumpy()["own"]
    con.unregister("judged")
    con.unregister("own_bounds")
    return np.asarray(found)


def make_bounds_table(
    names: list[str], bounds: Mapping[Group, tuple[int, ...]], values: tuple[str, ...]
) -> pa.Table:
    """Groups and their bounds as a table of columns `names` and `values`."""
    keys = list(zip(*bounds, strict=True)) if bounds else [() for _ in names]
    columns = {n: pa.array(k, pa.string() if all(v is None for v in k) else None) for n, k in zip(names, keys, strict=True)}
    numbers = list(zip(*bounds.values(), strict=True)) if bounds else [() for _ in values]
    return pa.table(columns | {n: pa.array(v, pa.int64()) for n, v in zip(values, numbers, strict=True)})
