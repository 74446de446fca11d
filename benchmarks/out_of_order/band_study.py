"""OA-Join against order-preserving joins over band sizes (document 003, section 7.3, Figures 7-6 and 7-7).

M1 and M2 are ordered and in step. A punctuation follows the rows of each second. Held rows are counted after the rows of
a batch and again after its punctuation, and the most is told. Latency is the processor time between the punctuation that
completes a minute and its count; `wait` is the same in seconds of the stream. Ours is run in two ways: as kernels in memory,
like its rivals, and as the whole product (`LocalRun`, the first 75 seconds), whose checkpoint is looked at after each batch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import pyarrow.compute as pc

from benchmarks.out_of_order.arrivals import SCHEMA_SQL, SECOND, START, Arrivals, as_tuples, make_arrivals
from benchmarks.out_of_order.band_joins import JOINS, MINUTE, Counts
from benchmarks.out_of_order.kernel_join import BACK, FLOW, bound_of, keyed
from headrace.program.aggregations import PaneNode
from headrace.progress import bound_at
from headrace.testing import LocalRun

QUERY = """
CREATE STREAM m1 ({columns}) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM m2 ({columns}) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY pairs AS
  SELECT count(*) AS n [RANGE 1 MINUTE, SLIDE 1 MINUTE, WA m1.ts]
  FROM m1 [RANGE {band} SECONDS, WA ts], m2 [RANGE {band} SECONDS, WA ts]
  WHERE m1.srcIP = m2.destIP AND m1.destIP = m2.srcIP AND m1.srcPort = m2.destPort AND m1.destPort = m2.srcPort;
"""

Steps = Sequence[tuple[int, int]]  # batches, from when to when they arrive


def compare_bands(
    bands: Sequence[int] = (1, 3, 5, 7, 9),
    rate: int = 1000,
    seconds: int = 130,
    groups: int = 25_000,
    repeats: int = 2,
    batch: int = 1,
) -> dict[str, Any]:
    """For each band and join: rows and bytes held at most, latency, time."""
    packets = make_arrivals(2 * rate, seconds, groups)
    m1, m2 = packets.every(2), packets.every(2, 1).opposite()
    steps = [(START + s * SECOND, START + (s + batch) * SECOND) for s in range(0, seconds, batch)]
    found = []
    for band in bands:
        run = LocalRun(QUERY.format(columns=SCHEMA_SQL, band=band), slots=1, tasks=1)
        for name in JOINS:
            runs = [run_join(name, run, m1, m2, steps) for _ in range(repeats)]
            least = min(runs, key=lambda one: one["seconds"])
            least["latency"] = min(r["latency"] for r in runs)
            found.append({"band": band, "join": name, **least})
        early = [s for s in steps if s[1] <= START + 75 * SECOND]
        found.append({"band": band, "join": "product", **run_product(run, m1, m2, early)})
    return {"rate": rate, "seconds": seconds, "groups": groups, "rows": found}


def run_join(name: str, run: LocalRun, m1: Arrivals, m2: Arrivals, steps: Steps) -> dict[str, Any]:
    """One join over the whole stream."""
    join = JOINS[name](run.program)
    (count,) = [n for n in run.program.nodes if isinstance(n, PaneNode)]
    batches = [(keyed(m1.between(*s), FLOW), keyed(m2.between(*s), BACK)) for s in steps]
    pairs: Counts = {}
    rows = size = 0
    latencies, waits, used = [], [], 0.0
    allowed: dict[int, int] = {}
    for number, (one, two) in enumerate(batches):
        frontiers = {"m1": bound_at(pc.max(one["_t"]).as_py()), "m2": bound_at(pc.max(two["_t"]).as_py())}
        started = time.process_time()
        join.absorb(one, two)
        told = time.process_time()
        most = join.held()
        asked = time.process_time()
        closed = join.punctuate(frontiers)
        ended = time.process_time()
        used += told - started + ended - asked
        rows, size = max(rows, most[0], join.held()[0]), max(size, most[1], join.held()[1])
        bound = bound_of(count.waits, frontiers)
        for minute in range(START, bound - MINUTE + 1, MINUTE):
            allowed.setdefault(minute, number)
        for minute in closed:
            waits.append((steps[number][1] - steps[allowed[minute]][1]) // SECOND)
            latencies.append(ended - asked)
        pairs.update(closed)
    return {
        "pairs": {str((m - START) // MINUTE): n for m, n in pairs.items()},
        "held_rows": rows,
        "held_bytes": size,
        "latency": median(latencies) if latencies else 0.0,
        "wait": max(waits, default=0),
        "seconds": used,
    }


def run_product(run: LocalRun, m1: Arrivals, m2: Arrivals, steps: Steps) -> dict[str, Any]:
    """The same by the whole product: what its checkpoint holds at most, and its results."""
    rows = size = 0
    for step in steps:
        manifest = run.push(m1=as_tuples(m1.between(*step)), m2=as_tuples(m2.between(*step)))
        rows = max(rows, sum(s.live_rows for s in manifest.segments))
        size = max(size, sum(s.bytes for s in manifest.segments))
    pairs = {str((start - START) // MINUTE): n for n, start, _ in run.rows("pairs")}
    return {"pairs": pairs, "held_rows": rows, "held_bytes": size}
