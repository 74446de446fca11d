"""A simulator that runs the policies of this package: the paper's cluster in tuple mode, Spark's micro-batches
in batch mode."""

from benchmarks.balance.simulate.batch_mode import BatchCluster, BatchRun, simulate_batches
from benchmarks.balance.simulate.paper_cluster import (
    CpuLoad,
    Disturbance,
    MemoryLoss,
    PaperCluster,
    rotate_load,
    spread_80_20,
    spread_evenly,
)
from benchmarks.balance.simulate.tuple_mode import TupleRun, simulate_tuples

__all__ = [
    "BatchCluster",
    "BatchRun",
    "CpuLoad",
    "Disturbance",
    "MemoryLoss",
    "PaperCluster",
    "TupleRun",
    "rotate_load",
    "simulate_batches",
    "simulate_tuples",
    "spread_80_20",
    "spread_evenly",
]
