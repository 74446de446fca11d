"""Rows of state that lie under stale numbers, under the numbers that they have on a route (`state/leaf_numbers.py`)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernels.sql_pieces import name_pid_sql
from headrace.kernels.workspace import Workspace
from headrace.program.messages import Orders
from headrace.program.node import Node


def renumber_rows(space: Workspace, orders: Orders, node: Node, rows: pa.Table) -> pa.Table:
    """The same rows, numbered anew: copies that came with a leaf being dealt are gone when it is whole again."""
    copies = orders.copies.get(node.name)
    if copies:
        rows = rows.filter(pa.array(~np.isin(rows["pid"].to_numpy(), list(copies))))
    name = space.register("stale_rows", rows.append_column("_row", pa.array(np.arange(rows.num_rows))))
    numbered = name_pid_sql(node, orders.route, f"SELECT * EXCLUDE (pid) FROM {name}")
    found = space.fetch_numpy(f"SELECT _row, pid FROM ({numbered}) ORDER BY _row")
    space.forget(name)
    rows = rows.take(pa.array(np.asarray(found["_row"], np.int64)))
    before, after = rows["pid"].to_numpy(), np.asarray(found["pid"], np.uint16)
    pids = len(orders.route)
    if not np.array_equal(before % pids, after % pids):
        raise InternalError(f"keys of {node.label} have another hash in state than when they came")
    return rows.set_column(rows.column_names.index("pid"), "pid", pa.array(after))
