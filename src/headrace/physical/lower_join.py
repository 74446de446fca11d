"""Joins of a plan as nodes and steps: tables of rows, the SQL between their columns and the join's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headrace.dialect.duck_cast import spell_null
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import Join, KeyedJoin
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_rules import AT_END, wait_for
from headrace.optimizer.keep_rows import find_implied
from headrace.optimizer.plan import Plan, RowTable
from headrace.physical.lowered_node import KnownOfNode, lower_row_feeds
from headrace.physical.lowering import Lowering, SlotView
from headrace.physical.result_sql import ResultSql, show_window_sql
from headrace.physical.stored_text import describe_stored, tick_sql
from headrace.program.node import Node
from headrace.program.row_joins import JoinRows, JoinSide, RowNode
from headrace.program.slot_steps import Advance
from headrace.program.step import Step
from headrace.progress.advance_program import ProgressRule
from headrace.progress.waits import unite_waits


def lower_join(low: Lowering, join: Join) -> None:
    """The tables of its inputs, fed by the source stage or by slots, and the step that joins them."""
    nodes, tables = add_row_tables(low, join, _lower_row_table)
    add_join_step(low, join, lambda view: _make_step(low.plan, low.sql, join, nodes, tables, view))
    view, waits = low.views[join.name][0].name, join.wait_for_inputs()
    low.rules += [ProgressRule(name_side(view, i), join.bounds.needed(i, waits), ()) for i in range(len(tables))]


def name_side(join: str, number: int) -> str:
    """The rule that says up to where rows of an input of a join have met all they can."""
    return f"{join} {number}"


def add_row_tables(
    low: Lowering, join: KeyedJoin, lower_table: Callable[[Plan, RowTable, KnownOfNode], RowNode]
) -> tuple[list[Node], list[RowTable]]:
    """Of a join of any kind, the nodes of its inputs, made by `lower_table` where they are new."""
    tables = [t for id_ in low.plan.inputs_of[join.name] if isinstance(t := low.plan.tables[id_], RowTable)]
    for number, table in enumerate(tables):
        if table.id not in low.nodes:
            stored, agreed = describe_stored(low.plan, table), join.agree(number)
            name = low.name_node(table, stored if agreed is None else (stored, agreed))
            node = lower_table(low.plan, table, low.describe_node(table, name, len(table.keys)))
            low.add_node(table, node, *_list_rules(low, table, node))
            low.send_rows(node, table, join.inputs[number].time, join.at_window_end)
            low.step(table.level, Advance(node.name))
    return [low.nodes[table.id] for table in tables], tables


def _list_rules(low: Lowering, table: RowTable, node: RowNode) -> Iterator[ProgressRule]:
    """How far the rows of a table are known, and from where on they are needed."""
    joins, waits = table.list_joins(low.graph), wait_for(table.input, table.find_time(low.graph))
    at_end = joins[0][0].at_window_end and low.graph.is_windowed(table.input)
    yield ProgressRule(node.name, waits, tuple(w.then(AT_END) for w in waits) if at_end else waits, level=node.level)
    yield ProgressRule(node.needed, unite_waits(*(join.find_needed(number) for join, number in joins)), ())


def add_join_step(low: Lowering, join: KeyedJoin, make_step: Callable[[str], Step]) -> None:
    """The step that gives the results, as a relation of the slot."""
    (part,) = low.plan.parts[join.name]
    view = low.name_view("j")
    low.step(part.level, make_step(view))
    low.views[join.name] = [SlotView(view, part)]


def _lower_row_table(plan: Plan, table: RowTable, known: KnownOfNode) -> RowNode:
    """The node of a table of rows."""
    readers = [(join, i) for join, i in table.list_joins(plan.graph) if isinstance(join, Join)]
    return RowNode(
        **known,
        values=len(table.columns),
        nulls=any(join.kind is JoinKind.DISTINCT for join, _ in readers),
        feeds=lower_row_feeds(plan, table),
        reach=max(max(j.bounds.reach(i, k), j.bounds.reach(k, i)) for j, i in readers for k in range(len(j.inputs))),
    )


def _make_step(
    plan: Plan, sql: ResultSql, join: Join, nodes: Sequence[Node], tables: Sequence[RowTable], view: str
) -> JoinRows:
    """The step that joins."""
    types = {
        c.name: plan.types[join.inputs[c.input].relation][c.column] for c in (*join.visible, *join.hidden)
    }
    sides = []
    for i, (node, table) in enumerate(zip(nodes, tables, strict=True)):
        columns = [
            f"{_stored_sql(plan, join, i, table, c.column)} AS {quote_name(c.name)}"
            for c in (*join.visible, *join.hidden)
            if c.input == i
        ]
        sides.append(JoinSide(node.name, ", ".join(columns), name_side(view, i)))
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
        for i in range(len(tables))
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
        tuple(tick_sql(join.unit, name) + (" - 1" if ends else "") for name, ends in join.window_times),
    )


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


