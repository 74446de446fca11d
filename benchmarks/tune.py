"""The rivals' settings, chosen in their favour: tried one after another on the first files of a workload, the
fastest of each is kept.

Spark: 2 or 4 shuffle (and so state) partitions; RocksDB with or without its changelog, for joins with four
state stores (format 2) or one indexed by time (format 4). Flink: mini-batches or not. What the slowest
workloads would choose takes too long to find; they use what a lighter one of their kind chose, joins what the band
join did.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    **dict.fromkeys(("tumbling_join", "three_way_join", "outer_join", "ten_joins"), "band_join"),
}


def list_choices(contender: str, joins: bool = False) -> dict[str, tuple[Any, ...]]:
    return CHOICES.get(contender, {}) | (JOIN_CHOICES.get(contender, {}) if joins else {})


def climb(choices: dict[str, tuple[Any, ...]], cost: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """The cheapest settings found by changing one after another, each kept if it is better."""
    best = {name: values[0] for name, values in choices.items()}
    least = cost(best)
    for name, values in choices.items():
        for value in values[1:]:
            if (found := cost(tried := best | {name: value})) < least:
                best, least = tried, found
    return best


def tune(
    workloads: Sequence[Workload], contenders: Sequence[str], options: Options, say: Callable[[str], Any]
) -> None:
    """Try settings and write down the best of each; what is already known and not tried stays."""
    best = _read(options.out, options.rows)
    for workload in workloads:
        if workload.name in _SAME_AS:
            continue
        for contender in [c for c in workload.contenders if c in contenders]:

            def cost(settings: dict[str, Any], workload: Workload = workload, contender: str = contender) -> float:
                record = measure(workload, contender, replace(options, settings={contender: settings}))
                seconds = record.get("steady") or record.get("whole")
                said = f"{seconds:.2f} s per million rows" if seconds else record["error"]
                say(f"{workload.name} {contender} {settings}: {said}")
                return float(seconds) if seconds else math.inf

            if choices := list_choices(contender, workload in JOINS):
                best.setdefault(workload.name, {})[contender] = climb(choices, cost)
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
