"""Temporal joins of a plan as nodes and steps."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.dialect.duck_cast import spell_null
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.progress_rules import name_column
from headrace.logical.temporal_join import TemporalJoin
from headrace.optimizer.plan import Plan, RowTable
from headrace.physical.lower_join import add_join_step, add_row_tables
from headrace.physical.lowered_node import KnownOfNode, lower_row_feeds
from headrace.physical.lowering import Lowering
from headrace.physical.result_sql import ResultSql
from headrace.program.node import Node
from headrace.program.row_joins import RowNode
from headrace.program.version_joins import FindVersions, VersionNode


def lower_temporal(low: Lowering, join: TemporalJoin) -> None:
    """The rows that wait, the versions, and the step that answers."""
    nodes, tables = add_row_tables(low, join, _lower_table)
    add_join_step(low, join, lambda view: _make_step(low.plan, low.sql, join, nodes, tables, view))


def _lower_table(plan: Plan, table: RowTable, known: KnownOfNode) -> RowNode:
    """The node of the rows that wait for their version, or of the versions."""
    make = RowNode if table.readers[0][1] == 0 else VersionNode
    return make(**known, values=len(table.columns), nulls=False, feeds=lower_row_feeds(plan, table))


def _make_step(
    plan: Plan, sql: ResultSql, join: TemporalJoin, nodes: Sequence[Node], tables: Sequence[RowTable], view: str
) -> FindVersions:
    """The step that answers. Of a left join the columns of a version that fails the condition are NULL."""
    every = (*join.visible, *join.hidden)
    types = {c.name: plan.types[join.inputs[c.input].relation][c.column] for c in every}
    sides = [
        ", ".join(
            f"v{tables[i].columns.index(c.column)} AS {quote_name(c.name)}" for c in every if c.input == i
        )
        for i in range(2)
    ]
    condition = None
    if join.condition is not None:
        condition = f"({sql.translate(join, join.condition, types).sql})"
    shown = []
    for c in join.visible:
        name = quote_name(c.name)
        fails = c.input == 1 and join.kind.kept and condition is not None
        shown.append(f"CASE WHEN {condition} THEN {name} END AS {name}" if fails else name)
    return FindVersions(
        view,
        nodes[0].name,
        nodes[1].name,
        sides[0],
        sides[1],
        join.kind,
        len(join.inputs[0].keys),
        tuple(spell_null(plan.types[tables[1].input][column]) for column in tables[1].columns),
        ", ".join(shown) or "1 AS _one",
        condition if not join.kind.kept else None,
        name_column(join.inputs[1].relation, join.inputs[1].time),
    )
