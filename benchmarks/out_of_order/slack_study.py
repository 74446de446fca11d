"""Latency against accuracy: punctuation, consistent and generous slack (document 003, section 6.1.5, Figures 6-11, 6-12).

The product runs the windows over punctuation (`PUNCTUATED BY`) and over its own `SLACK`, which is generous: one stream and one
query for each, in one set. Consistent slack is the benchmark's (`slack_windows`), over the same batches. A punctuation follows
every batch after which nothing of a window is still to come: the least time still to come, as the thesis prepared its data.

Latency of a window is the arrival of its result less the arrival of that punctuation, in seconds of the stream; it is
negative where slack gave the result before it was certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.out_of_order.arrivals import SECOND, START, Arrivals, Ints, make_arrivals
from benchmarks.out_of_order.slack_windows import BatchedRows, ClosedWindow, close_by_bounds
from headrace.testing import LocalRun

MARK = -1  # of a row that is a punctuation


@dataclass(frozen=True)
class SlackCase:
    """A figure: its disorder, its windows, its slacks in milliseconds."""

    name: str
    aggregate: str
    arrivals: Arrivals
    batch: int
    width: int
    slide: int
    slacks: tuple[int, ...]


def compare_slacks(
    seconds: int = 130, rate: int = 200, blocks: int = 8, block_rate: int = 10
) -> dict[str, Any]:
    """Both figures."""
    band = make_arrivals(rate, seconds, 1000, disorder="band", delay=3_200_000)
    block = make_arrivals(block_rate, 490 * blocks, 1000, disorder="block-sorted", block=490 * block_rate)
    slacks = (0, 320, 640, 1280, 2560, 3200)
    long = (0, 54_400, 109_100, 218_200, 327_300, 434_200, 490_900, 600_000)
    cases = (
        SlackCase("band", "avg", band, 640_000, 64 * SECOND, 6_400_000, slacks),
        SlackCase("block-sorted", "count", block, 35 * SECOND, 600 * SECOND, 60 * SECOND, long),
    )
    return {case.name: compare_case(case) for case in cases}


def compare_case(case: SlackCase) -> list[dict[str, Any]]:
    """For each policy: the mean error, the part of wrong results, the latency."""
    rows = make_rows(case)
    return judge_case(case, rows, run_product(case, rows, rows.find_marks()))


def judge_case(
    case: SlackCase, rows: BatchedRows, product: dict[str, dict[int, ClosedWindow]]
) -> list[dict[str, Any]]:
    """The same, of what the product gave."""
    last = int(rows.times.max())
    starts = np.arange(START, last - case.width + 1, case.slide, dtype=np.int64)
    exact = close_by_bounds(rows, rows.find_marks(), "all rows", starts, case.width)
    told = [_tell(case, "punctuation", None, product["punctuated"], exact)]
    for slack in case.slacks:
        consistent = close_by_bounds(rows, rows.find_bounds(slack * 1000), "consistent", starts, case.width)
        told.append(_tell(case, "consistent", slack, consistent, exact))
        told.append(_tell(case, "generous", slack, product[f"slack_{slack}"], exact))
    return told


def make_rows(case: SlackCase) -> BatchedRows:
    """The arrivals, with the batch each is in."""
    table = case.arrivals.rows
    number = (case.arrivals.at - START) // case.batch
    return BatchedRows(table["ts"].to_numpy(), table["len"].to_numpy().astype(np.int64), number)


def run_product(case: SlackCase, rows: BatchedRows, marks: Ints) -> dict[str, dict[int, ClosedWindow]]:
    """What the product gives for each policy, and after which batch."""
    policies = {"punctuated": f"PUNCTUATED BY (len = {MARK}) NOT DATA"}
    policies |= {f"slack_{s}": f"SLACK {s} MILLISECONDS" for s in case.slacks}
    text = "".join(
        f"CREATE STREAM of_{name} (ts TIMESTAMP, len INT) PROGRESSING ON ts {policy} FROM 'memory';\n"
        f"CREATE QUERY {name} AS SELECT count(*) AS n, sum(len) AS total FROM of_{name} "
        f"[RANGE {case.width // 1000} MILLISECONDS, SLIDE {case.slide // 1000} MILLISECONDS];\n"
        for name, policy in policies.items()
    )
    run = LocalRun(text, slots=1, tasks=1)
    edges = np.searchsorted(rows.batch, np.arange(rows.batches + 1))
    when: dict[str, dict[int, int]] = {name: {} for name in policies}
    for batch, (first, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        new = list(zip(rows.times[first:end].tolist(), rows.values[first:end].tolist(), strict=True))
        mark = [(min(int(marks[batch]), int(rows.times.max())), MARK)]
        manifest = run.push(**{f"of_{name}": new + mark if name == "punctuated" else new for name in policies})
        for name in policies:
            parts = run.log.results(name, manifest.version - 1)  # of this batch
            for _, _, start, _ in run._read(parts, False):
                when[name][start] = batch
    return {
        name: {start: ClosedWindow(n, total, when[name][start]) for n, total, start, _ in run.rows(name)}
        for name in policies
    }


def _tell(
    case: SlackCase,
    policy: str,
    slack: int | None,
    found: dict[int, ClosedWindow],
    exact: dict[int, ClosedWindow],
) -> dict[str, Any]:
    common = sorted(set(found) & set(exact))
    errors, wrong, waits = [], 0, []
    for start in common:
        one, truth = found[start], exact[start]
        value, right = (
            (one.total / one.rows if one.rows else 0.0, truth.total / truth.rows)
            if case.aggregate == "avg"
            else (one.rows, truth.rows)
        )
        errors.append(abs(value - right) / right * 100)
        wrong += one != ClosedWindow(truth.rows, truth.total, one.batch)
        waits.append((one.batch - truth.batch) * case.batch / SECOND)
    return {
        "policy": policy,
        "slack": slack,
        "windows": len(common),
        "error": fmean(errors),
        "wrong": 100 * wrong / len(common),
        "latency": fmean(waits),
    }
