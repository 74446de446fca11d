"""90 % of the rows on 1 % of the mini-partitions, with splits and without: the slowest slot over the mean.

    python -m benchmarks.balance.hot_mini_partition [ROWS]

Eight slots in one process (`LocalRun`), one after the other, so that the processor's seconds of each are its own. The hot
mini-partition, one of 128, has a few hundred keys. The load is that of a join of two streams: an aggregation gets only a
partial row for each group and task.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Sequence

import duckdb

from headrace.coordinator import balancer
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM a (t BIGINT, k INT, v INT) PROGRESSING ON t SLACK 1 FROM 'memory';
CREATE STREAM b (t BIGINT, k INT, w INT) PROGRESSING ON t SLACK 1 FROM 'memory';
CREATE QUERY pairs AS SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 20 AND a.t;
"""
SLOTS, BATCHES, STEADY = 8, 24, 12


def run(policy: str, splits: bool, rows: int) -> tuple[list[float], list[float], int]:
    """By batch: the slowest slot over the mean, in seconds and in rows; and the moves."""
    balancer.SPLITTING = ("headrace",) if splits else ()
    found = duckdb.sql("SELECT i FROM range(1000000) t(i) WHERE hash(i::INT) % 128 = 17 LIMIT 400").fetchall()
    hot, rng = [int(i) for (i,) in found], random.Random(0)

    def row(batch: int) -> tuple[int, int, int]:
        return 10 * batch + rng.randrange(10), rng.choice(hot) if rng.random() < 0.9 else rng.randrange(10_000), 1

    local = LocalRun(SCRIPT, slots=SLOTS, balance=policy)
    seconds, came, moves = [], [], 0
    for batch in range(BATCHES):
        report = local.push(**{s: [row(batch) for _ in range(rows)] for s in ("a", "b")}).report
        loads = report["slot_loads"]
        seconds.append(_over_mean([one["cpu"] for one in loads]))
        came.append(_over_mean([one["rows"] for one in loads]))
        moves += len(report["moves"])
    local.close()
    return seconds, came, moves


def _over_mean(values: Sequence[float]) -> float:
    return max(values) / statistics.fmean(values)


def main(arguments: Sequence[str]) -> None:
    rows = int(arguments[0]) if arguments else 8_000
    print("| policy | slowest slot over the mean: seconds | rows | by batch, rows | moves |\n|---|---:|---:|---|---:|")
    lines = (("static", "static", False), ("headrace, no splits", "headrace", False), ("headrace", "headrace", True))
    for name, policy, splits in lines:
        seconds, came, moves = run(policy, splits, rows)
        each = " ".join(f"{c:.2f}" for c in came[:10])
        steady = [f"{statistics.median(values[STEADY:]):.2f}" for values in (seconds, came)]
        print(f"| {name} | {steady[0]} | {steady[1]} | {each} | {moves} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
