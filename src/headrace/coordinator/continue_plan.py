"""How a query set is planned on a checkpoint: what has state as it was, what is new by what the last batches measured.

What a table is partitioned by decides the hash of its rows, so it is chosen once, when the table is new, and kept in the plan
file before the first batch that could write a row of it. From then on neither measured nor declared rates change it, also
after a kill between the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.coordinator import plan_file
from headrace.coordinator.measured_rates import read_measured_rates
from headrace.errors import CheckpointError
from headrace.logical.graph import Graph
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import Settings
from headrace.program.limits import SHIPPED, Limits
from headrace.sql import parse_query
from headrace.sql.bind import Binder
from headrace.state import ManifestLog, Store


def continue_settings(
    store: Store, old: plan_file.PlanFile | None, file: plan_file.PlanFile, graph: Graph, limits: Limits = SHIPPED
) -> Settings:
    """What the plan of `graph` takes from the checkpoint: `old` is its plan file, `file` the same with what is new."""
    settled = max(old.generations.values(), default=-1) if old is not None else -1
    grown = old is not None and file.queries.keys() != old.queries.keys()
    return Settings(
        pids=limits.mini_partitions,
        generations=file.generations,
        retired=file.retired,
        time_zone=file.time_zone,
        partition_by=file.partition_by,
        by_folder=None if file.by_folder is None else frozenset(file.by_folder),
        placements=file.placed,
        measured=read_measured_rates(store, graph, limits.measured_batches) if grown else None,
        settled=settled,
    )


def preview_plan(
    store: Store, graph: Graph, user: Mapping[str, UserAggregate], partition_by: str | None
) -> tuple[Graph, Settings] | None:
    """The graph and the settings that a run on this checkpoint would plan with; None if it would begin anew, or not begin."""
    old = plan_file.load(store)
    if old is None or ManifestLog(store).latest() is None:
        return None
    try:
        file = plan_file.reconcile(store, old, graph, old.time_zone, partition_by)
    except CheckpointError:
        return None
    restored = restore_order(graph, file, user)
    return restored, continue_settings(store, old, file, restored)


def restore_order(graph: Graph, file: plan_file.PlanFile, user: Mapping[str, UserAggregate]) -> Graph:
    """The graph in the order of the plan file, with removed queries that still share state."""
    if (
        not file.retired
        and list(file.queries) == list(graph.queries)
        and list(file.streams) == list(graph.streams)
    ):
        return graph
    binder = Binder(user, opened=None)  # they were checked when they were registered, then or now
    for table in (*graph.tables.values(), *plan_file.find_lost_tables(file, graph)):
        binder.add_table(table)
    for name in file.streams:
        binder.add_stream(graph.streams[name])
    for name, query in file.queries.items():
        binder.create_query(parse_query(name, query["text"]))
    return binder.graph()
