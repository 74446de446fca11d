"""Whether folders keep what PARTITIONED BY promises: that one value is in one folder only.

Nobody sees all rows of a value where there is no exchange, so slots tell the driver of a sample: those values of a batch whose
hashes are the smallest. A value that two slots have is either in the samples of both or, if they have many values, in neither;
so rows that are spread at random are noticed at once, a few wrong rows among many values only by chance, and where a folder has
less than `MOST` values every one of them (bottom-k sampling, Cohen and Kaplan 2007). What matters is the mini-partition, not the
folder: rows of two folders that share one are together.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import numpy as np
import pyarrow as pa

from headrace.program.program import FindVersions, JoinRows, PaneNode, Program, RowNode, TransitNode

MOST = 256
Sample = dict[int, int]  # hash of a value -> mini-partition
Clash = tuple[int, int]  # two mini-partitions that have the same value


class FolderSampler:
    """The sample of each node of a slot in a batch."""

    def __init__(self, program: Program) -> None:
        self._nodes = {n.name: n for n in program.fed_nodes(by_folder=True) if not isinstance(n, TransitNode)}
        self._found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}

    def add(self, con: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
        node = self._nodes.get(name)
        if node is None or not rows.num_rows:
            return
        keys = [f"k{key}" if isinstance(key, int) else key for key in node.partition]
        meets_nobody = isinstance(node, RowNode) and not node.nulls  # a null
        where = " WHERE " + " AND ".join(f"({k}) IS NOT NULL" for k in keys) if meets_nobody else ""
        con.register("sampled", rows)
        found = con.sql(f"SELECT hash({', '.join(keys)}) AS h, pid FROM sampled{where}").fetchnumpy()
        con.unregister("sampled")
        self._found.setdefault(name, []).append(_take_least(np.asarray(found["h"]), np.asarray(found["pid"])))

    def give(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """By node, pairs of hash and mini-partition."""
        out = {}
        for name, parts in self._found.items():
            hashes, pids = _take_least(*(np.concatenate(side) for side in zip(*parts, strict=True)))
            out[name] = tuple(zip(hashes.tolist(), pids.tolist(), strict=True))
        return out


def _take_least(hashes: np.ndarray, pids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs with the `MOST` smallest hashes."""
    pairs = np.unique(np.stack([hashes.astype(np.uint64), pids.astype(np.uint64)]), axis=1)
    last = np.unique(pairs[0])[:MOST]
    inside = pairs[0] <= last[-1] if last.size else np.zeros(0, bool)
    return pairs[0][inside], pairs[1][inside]


def group_nodes(program: Program) -> dict[str, str]:
    """Nodes kept by folder whose rows meet have one name in common."""
    names = {n.name: n.name for n in program.fed_nodes(by_folder=True) if isinstance(n, (PaneNode, RowNode))}
    for level in program.levels:
        for step in level.steps:
            met = [s.node for s in step.inputs] if isinstance(step, JoinRows) else []
            met = [step.rows, step.versions] if isinstance(step, FindVersions) else met
            common = {names[n] for n in met if n in names}
            names = {n: min(common) if g in common else g for n, g in names.items()}
    return names


def find_clash(known: Sample, pairs: Iterable[tuple[int, int]]) -> Clash | None:
    """Adds pairs to what is known; two mini-partitions with one value, if there are."""
    for hashed, pid in pairs:
        if known.setdefault(hashed, pid) != pid:
            return known[hashed], pid
    return None
