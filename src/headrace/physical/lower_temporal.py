"""Temporal joins of a plan as nodes and steps."""

from __future__ import annotations

from headrace.dialect.duck_cast import spell_null
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import TemporalJoin
from headrace.logical.progress_rules import name_column
from headrace.optimizer.plan import Plan, RowTable
from headrace.physical.keys import normalize_key
from headrace.physical.result_sql import ResultSql
from headrace.program.program import FindVersions, RowFeed, RowNode, VersionNode


def lower_temporal_table(plan: Plan, table: RowTable, name: str, partition: tuple[int | str, ...]) -> RowNode:
    """The node of the rows that wait for their version, or of the versions."""
    feeds = tuple(
        RowFeed(f.stream, f.where, tuple(map(normalize_key, f.keys, table.types)), f.values, f.steps)
        for f in plan.row_feeds[table.id]
    )
    make = RowNode if table.readers[0][1] == 0 else VersionNode
    return make(
        name,
        table.label,
        table.level,
        plan.waits_of(table.id),
        len(table.keys),
        len(table.columns),
        partition,
        0,
        False,
        feeds,
    )


def lower_temporal(
    plan: Plan, sql: ResultSql, join: TemporalJoin, nodes: tuple[RowNode, RowNode], tables: tuple[RowTable, RowTable], view: str
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
