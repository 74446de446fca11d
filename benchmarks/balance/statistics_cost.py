"""What statistics and controller cost, as a share of a batch, without the noise of two runs that are compared.

In one process, over the even stream: every call that exists for balance only is timed where it happens, in the slots (what each
mini-partition did) and in the driver (reading the reports, the load in the manifest, the controller's step); the sum is set
against the seconds of the batch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.balance.live_runs import QUERY
from benchmarks.balance.skewed_streams import make_stream
from headrace.coordinator.balancer import Balancer, BatchLoad
from headrace.kernels.slot import Slot
from headrace.testing import LocalRun

TIMED: tuple[tuple[type, str], ...] = (
    (Slot, "_activity"),
    (Balancer, "read"),
    (Balancer, "observe"),
    (Balancer, "choose_route"),
    (BatchLoad, "to_json"),
)


def measure_cost(folder: Path, rows: int = 100_000, batches: int = 12, slots: int = 8) -> dict[str, Any]:
    """Seconds of a batch, and of what is timed in it, at the median of all but the first three."""
    spent: dict[str, float] = {}
    originals = [(kind, name, getattr(kind, name)) for kind, name in TIMED]

    def timed(label: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                spent[label] = spent.get(label, 0.0) + time.perf_counter() - started

        return wrapper

    stream = "CREATE STREAM events (ts TIMESTAMP, k INT, s INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory'"
    script = f"{stream}; CREATE QUERY pairs AS {QUERY};"
    run = LocalRun(script, slots=slots, balance="headrace", partition_by="k")
    shares = []
    try:
        for kind, name, call in originals:
            setattr(kind, name, timed(f"{kind.__name__}.{name}", call))
        for number, file in enumerate(make_stream(folder / "data", "even", rows, batches)):
            table = pq.read_table(file)
            micros = table.column("ts").cast("int64").to_pylist()
            columns = [table.column(c).to_pylist() for c in ("k", "s", "v")]
            spent.clear()
            manifest = run.push(events=list(zip(micros, *columns, strict=True)))
            if number >= 3:
                shares.append((sum(spent.values()), float(manifest.report["seconds"]), dict(spent)))
    finally:
        for kind, name, call in originals:
            setattr(kind, name, call)
    return {
        "rows": rows,
        "slots": slots,
        "batch": statistics.median(s for _, s, _ in shares),
        "balance": statistics.median(b for b, _, _ in shares),
        "share": statistics.median(b / s for b, s, _ in shares),
        "parts": {name: round(statistics.median(p[name] for _, _, p in shares), 6) for name in shares[0][2]},
    }
