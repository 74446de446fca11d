"""The rivals' settings, chosen in their favour: each is tried on the first files of a workload, the fastest
is kept.

Spark: 2 or 4 shuffle (and so state) partitions; RocksDB with or without its changelog, for joins with four
state stores (format 2) or one indexed by time (format 4). Flink: mini-batches or not. What the slowest
workloads would choose takes too long to find; they use what a lighter one of their kind chose.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, measure
from benchmarks.workloads import DEFAULT_STORE, FLINK, JOINS, ROCKSDB, Workload

CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    ROCKSDB: {"partitions": (2, 4), "changelog": (True, False)},
    DEFAULT_STORE: {"partitions": (2, 4)},
    FLINK: {"mini_batch": (False, True)},
}
JOIN_CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {ROCKSDB: {"join_format": (2, 4)}}
_SAME_AS = {
    **dict.fromkeys(("sliding_60_1_50k", "sliding_60_1_1k", "twenty_queries"), "sliding_10_1_50k"),
    **dict.fromkeys(("outer_join", "ten_joins"), "band_join"),
}


def variants(contender: str, joins: bool = False) -> list[dict[str, Any]]:
    choices = CHOICES.get(contender, {}) | (JOIN_CHOICES.get(contender, {}) if joins else {})
    return (
        [dict(zip(choices, values, strict=True)) for values in product(*choices.values())] if choices else []
    )


def tune(
    workloads: Sequence[Workload], contenders: Sequence[str], options: Options, say: Callable[[str], Any]
) -> None:
    """Try all variants and write down the best of each; what is already known and not tried stays."""
    best = _read(options.out, options.rows)
    for workload in workloads:
        if workload.name in _SAME_AS:
            continue
        for contender in [c for c in workload.contenders if c in contenders]:
            tried = []
            for settings in variants(contender, workload in JOINS):
                record = measure(workload, contender, replace(options, settings={contender: settings}))
                seconds = record.get("steady") or record.get("whole")
                said = f"{seconds:.2f} s per million rows" if seconds else record["error"]
                say(f"{workload.name} {contender} {settings}: {said}")
                if seconds:
                    tried.append((seconds, settings))
            if tried:
                best.setdefault(workload.name, {})[contender] = min(tried, key=lambda t: t[0])[1]
        _path(options.out, options.rows).write_text(json.dumps(best, indent=1) + "\n")


def tuned(out: Path, rows: int) -> dict[str, dict[str, dict[str, Any]]]:
    """The best settings known, by workload and contender; empty where nothing was tried."""
    best = _read(out, rows)
    for workload, other in _SAME_AS.items():
        if other in best:
            best.setdefault(workload, best[other])
    return best


def _path(out: Path, rows: int) -> Path:
    return out / f"tuned-{rows}.json"


def _read(out: Path, rows: int) -> dict[str, dict[str, dict[str, Any]]]:
    path = _path(out, rows)
    return json.loads(path.read_text()) if path.exists() else {}
