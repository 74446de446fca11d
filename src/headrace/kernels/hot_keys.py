"""The keys behind a hot mini-partition: which values most of its new rows have (document 002, section 5.3: what cannot be moved).

Asked for only where the driver saw a mini-partition near a slot's share, so a balanced set pays nothing. Rows are those that
came to the slot: of an aggregation that source tasks have done in part already, a group has a row for each pane and task.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from headrace.kernels.workspace import Workspace
from headrace.program.messages import HotKey
from headrace.program.node import Node

NAMED = 3  # keys of a mini-partition, at most


def name_hot_keys(
    space: Workspace, node: Node, arrived: Sequence[pa.Table], hot: Collection[int], pids: int
) -> list[HotKey]:
    """The most frequent keys among what arrived in each of these mini-partitions."""
    tables = [table for table in arrived if table.num_rows]
    if not node.keys or not hot or not tables:
        return []
    rows = space.register("hot_rows", pa.concat_tables(tables))
    key = f"list_value({', '.join(f'{k}::VARCHAR' for k in node.list_keys())})"
    listed = ", ".join(map(str, sorted(hot)))
    counted = (
        f"SELECT pid % {pids} AS hot, {key} AS key, count(*) AS n FROM {rows} WHERE pid % {pids} IN ({listed}) GROUP BY ALL"
    )
    found = space.query(
        f"SELECT * FROM ({counted}) QUALIFY row_number() OVER (PARTITION BY hot ORDER BY n DESC, key) <= {NAMED}"
    ).to_pylist()
    space.forget(rows)
    return [HotKey(node.name, row["hot"], tuple(row["key"]), row["n"]) for row in found]
