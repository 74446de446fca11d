"""A run whose tasks die and are tried again, or answer twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable

import pyarrow as pa

from benchmarks.simulate.scenario import Disturb
from benchmarks.simulate.simulated_files import SimulatedFiles, TaskEnded
from headrace.kernels import connection
from headrace.testing import LocalRun

_OPERATIONS = 8  # in which a task that dies does so; one that does less has answered, and its answer is lost


class SimulatedRun(LocalRun):
    """Tasks as Spark runs them: one answer of each counts, whatever its other attempts have written."""

    _disturbance: tuple[Disturb, random.Random, SimulatedFiles, Counter[str]] | None = None

    def disturb(self, how: Disturb, files: SimulatedFiles, seen: Counter[str]) -> None:
        """From the next batch on."""
        self._disturbance = how, random.Random(how.seed), files, seen

    def _run_task(self, task: Callable[[], Iterable[pa.RecordBatch]]) -> list[pa.RecordBatch]:
        if self._disturbance is None:
            return list(task())
        how, rng, files, seen = self._disturbance
        for _ in range(2):
            if rng.random() < how.dies:
                files.end_task(rng.randrange(_OPERATIONS))
                try:
                    list(task())
                    seen["task whose answer is lost"] += 1
                except TaskEnded:
                    connection.reset()
                    seen["task that dies"] += 1
                finally:
                    files.end_task(None)
        first = list(task())
        if rng.random() >= how.doubles:
            return first
        seen["task that answers twice"] += 1
        return rng.choice([first, list(task())])
