"""Joins of a plan as nodes and steps: tables of rows, the SQL between their columns and the join's."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dialect.duck_cast import spell_null
from headrace.dialect.duck_expression import spark_sql
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import Aggregate, Graph, Join
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_rules import name_column
from headrace.optimizer.place_relations import find_implied
from headrace.optimizer.plan import Plan, RowTable, TransitTable
from headrace.optimizer.trace_columns import describe_rows, has_columns_of_streams
from headrace.physical.lower_progress import name_side
from headrace.physical.lowered_node import KnownOfNode, lower_row_feeds
from headrace.physical.result_sql import ResultSql, show_window_sql
from headrace.program.aggregations import JointNode
from headrace.program.row_joins import JoinRows, JoinSide, RowNode


def lower_row_table(plan: Plan, table: RowTable, known: KnownOfNode) -> RowNode:
    """The node of a table of rows."""
    readers = [(join, i) for n, i in table.readers if isinstance(join := plan.graph.relations[n], Join)]
    return RowNode(
        **known,
        values=len(table.columns),
        nulls=any(join.kind is JoinKind.DISTINCT for join, _ in readers),
        feeds=lower_row_feeds(plan, table),
        reach=max(max(j.bounds.reach(i, k), j.bounds.reach(k, i)) for j, i in readers for k in range(len(j.inputs))),
    )


def describe_stored(plan: Plan, table: RowTable | TransitTable) -> object:
    """What a table of rows stores, down to the text of its columns: its name is a hash of it."""
    feeds = []
    for feed in plan.row_feeds[table.id]:
        text = {c.name: spark_sql(c.expression) for c in plan.columns[feed.stream]}
        where = text[feed.where] if feed.where is not None else None
        stored = (feed.stream, where, [text[k] for k in feed.keys], [text[v] for v in feed.values])
        feeds.append((*stored, feed.steps) if feed.steps else stored)
    query = plan.graph.queries.get(table.input)
    keys = [spark_sql(k) for k in table.keys]
    generation = table.generation if isinstance(table, RowTable) else "transit"
    rows: object = feeds or (table.input, query)
    first = next(iter(plan.passages[table.input].columns), None)
    time = table.find_time(plan.graph) or first
    if feeds and not has_columns_of_streams(plan.graph, table.input):  # others may store the same of the stream
        rows = feeds, describe_rows(plan.graph, table.input), query, time
    elif time != first:  # results of a join have several
        rows = rows, time
    return ("rows", rows, keys, table.types, table.columns, generation)


def keeps_unmatched(plan: Plan, table: RowTable) -> bool:
    """Whether some join, or lookup of versions, shows rows of a table that meet nobody."""
    return any(i in join.kind.kept for join, i in table.list_joins(plan.graph))


def lower_join(
    plan: Plan,
    sql: ResultSql,
    join: Join,
    nodes: Mapping[str, RowNode],
    tables: Mapping[str, RowTable],
    view: str,
) -> JoinRows:
    """The step that joins."""
    ids = plan.inputs_of[join.name]
    types = {
        c.name: plan.types[join.inputs[c.input].relation][c.column] for c in (*join.visible, *join.hidden)
    }
    sides = []
    for i, id_ in enumerate(ids):
        columns = [
            f"{_stored_sql(plan, join, i, tables[id_], c.column)} AS {quote_name(c.name)}"
            for c in (*join.visible, *join.hidden)
            if c.input == i
        ]
        sides.append(JoinSide(nodes[id_].name, ", ".join(columns), name_side(view, i)))
    condition = None
    if join.condition is not None:
        condition = f"({sql.translate(join, join.condition, types).sql})"
    shown = [show_window_sql(plan.graph.window_type(join.name))] if join.window is not None else []
    outputs = [*(quote_name(c.name) for c in join.visible), *shown]
    padded = tuple(
        ", ".join(
            [
                *(
                    quote_name(c.name)
                    if c.input == i
                    else f"{spell_null(types[c.name])} AS {quote_name(c.name)}"
                    for c in join.visible
                ),
                *shown,
            ]
        )
        for i in range(len(ids))
    )
    return JoinRows(
        join.name,
        view,
        tuple(sides),
        join.kind,
        len(join.inputs[0].keys),
        join.bounds,
        condition,
        ", ".join(outputs) or "1 AS _one",
        padded,
        join.window,
        tuple(_tick_sql(join.unit, name) + (" - 1" if ends else "") for name, ends in join.window_times),
    )


def lower_joint_table(
    plan: Plan, aggregate: Aggregate, known: KnownOfNode, merges: tuple[str, ...], view: str
) -> JointNode:
    """The node of an aggregation by times of several inputs. Where it does not read a join directly, all there is of a time is
    what the join says of it.
    """
    each = [name_column(aggregate.input, t.column) for t in aggregate.joint]
    own, source = list(each), plan.graph.relations[aggregate.input]
    if isinstance(source, Join) and source.kind is JoinKind.INNER:
        places = {c.name: c.input for c in source.visible}
        numbers = [places[t.column] for t in aggregate.joint]
        if set(numbers) == set(range(len(source.inputs))):
            own = [name_column(source.inputs[i].relation, source.inputs[i].time) for i in numbers]
    unit = plan.graph.relations[aggregate.input].unit
    ticks = [f"epoch_us(k{t.key})" if unit == "us" else f"k{t.key}::BIGINT" for t in aggregate.joint]
    ends = tuple(f"{tick} + {t.width}" for tick, t in zip(ticks, aggregate.joint, strict=True))
    longest = max(t.width for t in aggregate.joint)
    return JointNode(**known, merges=merges, view=view, ends=ends, own=tuple(own), each=tuple(each), longest=longest)


def _stored_sql(plan: Plan, join: Join, number: int, table: RowTable, column: str) -> str:
    """A column of an input, from the rows that are stored of it."""
    if column in table.columns:
        return f"v{table.columns.index(column)}"
    stored, relation = find_implied(plan, join, number)[column], join.inputs[number].relation
    if stored != "_t":
        return stored
    tick = "_t + 1" if plan.graph.is_windowed(relation) else "_t"
    make = {"timestamp": "make_timestamptz({})", "timestamp_ntz": "make_timestamp({})"}
    return make.get(plan.types[relation][column], "{}").format(tick)


def time_sql(graph: Graph, relation: str, column: str) -> str:
    """The progressing value of a row of slots, in ticks."""
    if graph.is_windowed(relation):
        return "_we - 1"
    return _tick_sql(graph.relations[relation].unit, column)


def _tick_sql(unit: str, column: str) -> str:
    return f"epoch_us({quote_name(column)})" if unit == "us" else f"{quote_name(column)}::BIGINT"
