"""How a query set is planned on a checkpoint: what has state as it was, what is new by what the last batches measured.

What a table is partitioned by decides the hash of its rows, so it is chosen once, when the table is new, and is part of the
record that the first manifest with a row of it names. From then on neither measured nor declared rates change it.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.coordinator.epoch_record import EpochRecord, find_lost_tables, load_record
from headrace.coordinator.measured_rates import borrow_rates, read_measured_rates
from headrace.coordinator.reconcile_set import reconcile
from headrace.errors import CheckpointError
from headrace.logical.graph import Graph
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import Settings
from headrace.program.limits import SHIPPED
from headrace.sql import parse_query
from headrace.sql.bind import Binder
from headrace.state import ManifestLog, Store


def continue_settings(
    store: Store,
    old: EpochRecord | None,
    record: EpochRecord,
    graph: Graph,
    measured_batches: int = SHIPPED.measured_batches,
    rates_from: str | None = None,
) -> Settings:
    """What the plan of `graph` takes from the checkpoint: `old` is its record, `record` the same with what is new. A new one
    takes the rates that `rates_from` measured.
    """
    settled = max(old.cohorts.values(), default=-1) if old is not None else -1
    grown = old is not None and record.queries.keys() != old.queries.keys()
    measured = None
    if old is None and rates_from is not None:
        measured = borrow_rates(rates_from, graph, measured_batches)
    elif grown:
        measured = read_measured_rates(store, graph, measured_batches)
    return Settings(
        pids=record.pids,
        cohorts=record.cohorts,
        retired=record.retired,
        time_zone=record.time_zone,
        partition_by=record.partition_by,
        by_folder=None if record.by_folder is None else frozenset(record.by_folder),
        placements=record.placed,
        measured=measured,
        settled=settled,
    )


def preview_plan(
    store: Store, graph: Graph, user: Mapping[str, UserAggregate], partition_by: str | None
) -> tuple[Graph, Settings] | None:
    """The graph and the settings that a run on this checkpoint would plan with; None if it would begin anew, or not begin."""
    latest = ManifestLog(store).latest()
    old = None if latest is None else load_record(store, latest)
    if old is None:
        return None
    try:
        record = reconcile(store, old, graph, old.time_zone, partition_by)
    except CheckpointError:
        return None
    restored = restore_order(graph, record, user)
    return restored, continue_settings(store, old, record, restored)


def restore_order(graph: Graph, record: EpochRecord, user: Mapping[str, UserAggregate]) -> Graph:
    """The graph in the order of the record, with removed queries that still share state."""
    if (
        not record.retired
        and list(record.queries) == list(graph.queries)
        and list(record.streams) == list(graph.streams)
    ):
        return graph
    binder = Binder(user, opened=None)  # they were checked when they were registered, then or now
    for table in (*graph.tables.values(), *find_lost_tables(record, graph)):
        binder.add_table(table)
    for name in record.streams:
        binder.add_stream(graph.streams[name])
    for name, query in record.queries.items():
        binder.create_query(parse_query(name, query["text"]))
    return binder.graph()
