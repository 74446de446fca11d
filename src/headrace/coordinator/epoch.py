"""An epoch as one value: a query set as it was understood, planned and lowered, and the record of it that the checkpoint keeps.

`plan_epoch` makes the epoch that follows another, or the first, and refuses what does not fit before anything changes: it
writes nothing. The driver holds one epoch at a time and goes to the next between two batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.coordinator.continue_plan import continue_settings, restore_order
from headrace.coordinator.epoch_record import FOLDER, EpochRecord, save_record
from headrace.coordinator.reconcile_set import reconcile, settle
from headrace.coordinator.run_options import Engine, RunOptions
from headrace.logical.graph import Graph
from headrace.optimizer import Plan, optimize
from headrace.physical.lower import lower
from headrace.program.program import Program
from headrace.state import Manifest, Store


@dataclass(frozen=True)
class Epoch:
    """A query set, its plan and its program; `path` names the record, and with it all of that."""

    path: str
    record: EpochRecord
    plan: Plan
    program: Program

    @property
    def graph(self) -> Graph:
        """With removed queries that still share state."""
        return self.plan.graph

    @property
    def queries(self) -> tuple[str, ...]:
        """Those that give results."""
        return tuple(name for name in self.record.queries if name not in self.record.retired)

    def save(self, store: Store) -> None:
        """Keep the record; nobody is bound by it before a manifest names it."""
        if not store.exists(self.path):
            save_record(store, self.path, self.record)


def plan_epoch(
    store: Store,
    old: EpochRecord | None,
    old_path: str | None,
    latest: Manifest | None,
    graph: Graph,
    engine: Engine,
    options: RunOptions,
) -> Epoch:
    """The epoch of a set on the checkpoint in `store`, after that with the record `old`, when `latest` is committed."""
    functions = {name.lower(): one for name, one in engine.user.items()}
    limits = options.limits
    record = reconcile(store, old, graph, engine.time_zone, options.partition_by, limits.mini_partitions)
    graph = restore_order(graph, record, functions)
    settings = continue_settings(store, old, record, graph, limits.measured_batches, options.rates_from)
    settings = replace(settings, user=functions, spark_reads=engine.spark_reads, folders=engine.folders)
    if settings.by_folder is None:
        settings = replace(settings, by_folder=engine.by_folder, flat=engine.flat)
    plan = optimize(graph, engine.make_typer(graph), settings)
    program = lower(plan)
    record = settle(store, record, plan, program, latest)
    if old_path is not None and old == record:
        return Epoch(old_path, record, plan, program)
    version = 1 if latest is None else latest.version + 1
    return Epoch(f"{FOLDER}/{version:012d}-{record.fingerprint}.json", record, plan, program)


def reads_in_tasks(plan: Plan) -> bool:
    """Whether tasks read the sources by themselves; else Spark does."""
    return all(reading.in_tasks for reading in plan.readings.values())
