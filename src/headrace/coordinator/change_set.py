"""Another query set than the one that runs: queries and tables that are added, and queries that are dropped.

It is bound as a whole, as a start binds its script, so what a start would refuse is refused here. A change that was made
already changes nothing: a request is read again after a kill.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.coordinator.epoch import Epoch, plan_epoch, reads_in_tasks
from headrace.coordinator.reconcile_set import same_text
from headrace.coordinator.run_options import Engine, RunOptions
from headrace.errors import OptionError
from headrace.logical.graph import Graph
from headrace.optimizer import check_graph
from headrace.sql import CreateQuery, CreateStream, parse_query, parse_script
from headrace.sql.bind import Binder
from headrace.sql.check_functions import OpenFunctions
from headrace.sql.error_places import suggest
from headrace.state import Manifest, Store
from headrace.state.set_requests import SetChange


def change_set(epoch: Epoch, change: SetChange, user: list[str], opened: OpenFunctions) -> Graph:
    """The set of an epoch, changed."""
    statements = parse_script(change.add) if change.add.strip() else []
    if streams := [one.name for one in statements if isinstance(one, CreateStream)]:
        raise OptionError(
            f"stream {streams[0]}: a running set is given no new stream; start a set that has it on a new checkpoint"
        )
    known = epoch.record.queries
    if unknown := [name for name in change.drop if name not in known]:
        raise OptionError(f"there is no query {unknown[0]!r} to drop." + suggest(unknown[0], epoch.queries))
    binder = Binder(user, opened=None)  # what runs was checked when it was added
    for table in epoch.graph.tables.values():
        binder.add_table(table)
    for stream in epoch.graph.streams.values():
        binder.add_stream(stream)
    for name in epoch.queries:
        if name not in change.drop:
            binder.create_query(parse_query(name, known[name]["text"]))
    binder.opened = opened
    for statement in statements:
        here = binder.queries.get(statement.name)
        if isinstance(statement, CreateQuery) and here is not None and same_text(here, statement.text):
            continue
        if statement.name in epoch.graph.tables and not isinstance(statement, CreateQuery):
            continue
        binder.create(statement)
    graph = binder.graph()
    if not graph.queries:
        raise OptionError("a set needs a query: of all that there are none would be left; stop the run instead")
    check_graph(graph)
    return graph


def plan_change(
    store: Store, before: Epoch, latest: Manifest, change: SetChange, engine: Engine, options: RunOptions
) -> Epoch:
    """The epoch after a change of the set of another, when `latest` is committed. Who reads the sources stays."""
    in_tasks = reads_in_tasks(before.plan)
    graph = change_set(before, change, list(engine.user), engine.opened)
    if not in_tasks:
        engine = replace(engine, spark_reads="the run began so")
    epoch = plan_epoch(store, before.record, before.path, latest, graph, engine, options)
    if reads_in_tasks(epoch.plan) != in_tasks:
        reasons = [one.reason for one in epoch.plan.readings.values() if not one.in_tasks]
        raise OptionError(
            f"tasks read the files of this run, and now Spark had to: {reasons[0]}. Stop the run and start it anew"
        )
    return epoch
