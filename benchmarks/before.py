"""Two checkouts of Headrace on the same workloads, turn by turn, so that a slow minute hits both.

The ratio is of seconds per million rows in steady state, or of the whole run where there is no steady state; for
empty batches, of the seconds of a batch. Above 1, this tree is faster.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.measure import Options, measure
from benchmarks.workloads import HEADRACE, Workload

HERE = Path(__file__).parents[1]


def compare_trees(
    workloads: Sequence[Workload], other: Path, options: Options, repeat: int, say: Callable[[str], object]
) -> list[dict[str, Any]]:
    """The records of all runs, each with the `tree` it is of: 'before' or 'after'."""
    records = []
    for turn in range(1, repeat + 1):
        for workload in workloads:
            trees, files = {"before": other, "after": HERE}, None if _is_quiet(workload.name) else options.files
            for name in trees if turn % 2 else reversed(trees):
                record = measure(workload, HEADRACE, replace(options, tree=trees[name], files=files))
                records.append({**record, "tree": name, "reports": None, "batches": None})
                seconds = record.get("error") or f"{cost(record):.3f} s"
                say(f"turn {turn}: {workload.name} {name}: {seconds}")
    return records


def cost(record: dict[str, Any]) -> float:
    """What is compared of one run."""
    if _is_quiet(record["workload"]):
        return float(record["batch_seconds"])
    return float(record["steady"] or record["whole"])


def _is_quiet(workload: str) -> bool:
    """Whether a workload is of empty batches, all of which are needed."""
    return workload.startswith("quiet")


def draw_trees(records: Sequence[dict[str, Any]]) -> Table:
    table = Table("workload", "before", "after", "ratio", "memory before", "after", "results", box=None)
    for name in dict.fromkeys(r["workload"] for r in records):
        runs = {tree: [r for r in records if r["workload"] == name and r["tree"] == tree] for tree in ("before", "after")}
        if any("error" in r for both in runs.values() for r in both):
            table.add_row(name, "failed")
            continue
        old, new = (statistics.median(map(cost, runs[tree])) for tree in ("before", "after"))
        memory = [statistics.median(r["memory_mb"]["total"] for r in runs[tree]) for tree in ("before", "after")]
        same = all(r["check"] == runs["before"][0]["check"] for both in runs.values() for r in both)
        shown = [f"{m:,.0f} MB" for m in memory]
        table.add_row(name, f"{old:.3f}", f"{new:.3f}", f"{old / new:.2f}", *shown, "equal" if same else "DIFFER")
    return table
