"""Whether folders keep what PARTITIONED BY promises: that one value is in one folder only.

Nobody sees all rows of a value where there is no exchange, so slots tell the driver of a sample: those values of a batch whose
hashes are the smallest. Slots that have the same values tell of the same ones, so rows that are spread at random are noticed at
once; a few wrong rows among many values are noticed only by chance, and where slots have less than `MOST` values every one of
them (bottom-k sampling, Cohen and Kaplan 2007). What matters is the mini-partition, not the
folder: rows of two folders that share one are together.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pyarrow as pa

from headrace.program.program import Program

MOST = 256
Sample = dict[int, int]  # hash of a value -> mini-partition
Clash = tuple[int, int]  # two mini-partitions that have the same value


class FolderSampler:
    """The sample of each node of a slot in a batch."""

    def __init__(self, program: Program) -> None:
        self._nodes = {n.name: n for n in program.fed_nodes(by_folder=True) if n.together}
        self._found: dict[str, list[tuple[int, int]]] = {}

    def add(self, con: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
        node = self._nodes.get(name)
        if node is None or not rows.num_rows:
            return
        known = self._found.get(name, [])
        keys = node.partition_keys
        conditions = [f"h <= {known[-1][0]}"] if len(known) == MOST else []
        if not node.meets_nulls:
            conditions += [f"({key}) IS NOT NULL" for key in keys]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        con.register("sampled", rows)
        hashed = f"SELECT *, hash({', '.join(keys)}) AS h FROM sampled"
        found = con.sql(f"SELECT DISTINCT h, pid FROM ({hashed}){where} ORDER BY h LIMIT {MOST}").fetchall()
        con.unregister("sampled")
        self._found[name] = sorted({*known, *found})[:MOST]

    def give(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """By node, pairs of hash and mini-partition."""
        return {name: tuple(pairs) for name, pairs in self._found.items()}


def group_nodes(program: Program) -> dict[str, str]:
    """Nodes kept by folder whose rows meet have one name in common."""
    names = {n.name: n.name for n in program.fed_nodes(by_folder=True) if n.together}
    for step in (step for level in program.levels for step in level.steps):
        common = {names[n] for n in step.meets if n in names}
        names = {n: min(common) if g in common else g for n, g in names.items()}
    return names


def find_clash(known: Sample, pairs: Iterable[tuple[int, int]]) -> Clash | None:
    """Adds pairs to what is known; two mini-partitions with one value, if there are."""
    for hashed, pid in pairs:
        if known.setdefault(hashed, pid) != pid:
            return known[hashed], pid
    return None
