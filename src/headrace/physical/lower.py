"""A `Plan` to a `Program`: what the source stage and the slots compute, in SQL. Nothing is decided here.

Each table becomes a node; its name is a hash of what it stores, so that state is found by meaning: where it comes
from, down to the text of each partial, its windows' grid, its cohort, and the windows that decide how old panes
settle. Aggregations over it are SQL over the relations that close its windows; what is windowed but stateless
(filters, projections, HAVING, the same window again) melts into SQL in the slot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from headrace.dialect.sql_quotes import quote_name
from headrace.kernels.sql_pieces import hash_sql
from headrace.optimizer.plan import Plan
from headrace.physical.lower_progress import find_ways, list_promised, lower_pending, lower_rules
from headrace.physical.lowering import Lowering
from headrace.physical.relation_kinds import RELATIONS
from headrace.program.node import Node
from headrace.program.program import Level, MissableJoins, MissableWindows, Program, RowsQuery, SourceStream
from headrace.program.slot_steps import Emit
from headrace.program.step import Step


def lower(plan: Plan) -> Program:
    """The program for a plan."""
    low = Lowering(plan)
    for name in plan.relations:
        relation = plan.graph.relations[name]
        if name in plan.used and not relation.is_over_streams:
            RELATIONS[type(relation)](low, relation)
            if name in plan.schemas:
                _emit(low, name)
    return _make_program(low)


def _emit(low: Lowering, name: str) -> None:
    columns = [quote_name(c) for c in low.graph.relations[name].columns]
    for view in low.views.get(name, ()):
        by = [c for c in view.part.partition or () if isinstance(c, str)]
        told = view.part.partition is not None and len(by) == len(view.part.partition) and not view.part.by_folder
        pid = [hash_sql([quote_name(c) for c in by])] if told else []
        sql = f"SELECT {', '.join([*columns, *pid])} FROM {view.name}"
        node = low.nodes[view.part.table].name
        low.step(view.part.level, Emit(name, sql, view.name, node, bool(pid)))


def _streams_into(low: Lowering, node: Node) -> set[str]:
    """The streams whose rows come to a node late if they are late: nothing between them waits."""
    table = low.plan.tables[next(id_ for id_, found in low.nodes.items() if found is node)]
    source = table.find_input(low.graph)
    return {f.stream for f in node.feeds} | low.graph.relations[source].find_passed_streams(low.graph)


def _make_program(low: Lowering) -> Program:
    plan, nodes = low.plan, tuple(low.nodes.values())
    passing = tuple(RowsQuery(p.query, p.stream, p.where, p.columns) for p in plan.passing)
    levels = tuple(_make_level(low.steps.get(i, [])) for i in range(max(low.steps, default=0) + 1))
    streams = []
    for stream in low.graph.streams.values():
        missable = [
            MissableWindows(window, node.name, find_ways(stream.name, node.waits))
            for node in nodes
            if node.windows and stream.name in _streams_into(low, node)
            for window in node.windows
        ]
        missable += [
            MissableWindows(window, node.name, find_ways(stream.name, node.waits), tuple(feed.keys[i] for i in keys))
            for id_, table in plan.tables.items()
            if (keys := table.closes_early)
            for feed in plan.feeds.get(id_, ())
            if feed.stream == stream.name
            for node in (low.nodes[id_],)
            for window in node.windows
        ]
        joined = [
            MissableJoins(n.name, find_ways(stream.name, n.waits))
            for n in nodes
            if not n.takes_late and stream.name in _streams_into(low, n)
        ]
        observed = plan.observed[stream.name]
        streams.append(
            SourceStream(
                stream.name,
                stream.unit,
                stream.policy,
                stream.horizon,
                tuple(dict.fromkeys(missable)),
                tuple(dict.fromkeys(joined)),
                observed.groups,
                observed.mark,
                stream.marks_are_data,
                stream.idle,
            )
        )
    steps = [step for level in levels for step in level.steps]
    return Program(
        fingerprint=hashlib.sha256(repr((nodes, levels, passing)).encode()).hexdigest()[:16],
        pids=plan.settings.pids,
        streams=tuple(streams),
        nodes=nodes,
        levels=levels,
        passing=passing,
        rules=lower_rules(plan, low.rules),
        pending=lower_pending(nodes, steps),
        promised=list_promised(plan),
        schemas=dict(plan.schemas),
        late_schemas=dict(plan.late_schemas),
        user=tuple(plan.settings.user.values()),
        time_zone=plan.settings.time_zone,
    )


def _make_level(steps: Sequence[Step]) -> Level:
    """Relations read more than once are stored once computed; the others melt into their reader's statement."""
    readers = [step.reads for step in steps if step.reads is not None]
    return Level(tuple(steps), frozenset(name for name in readers if readers.count(name) > 1))
