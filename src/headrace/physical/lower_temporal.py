"""Temporal joins of a plan as nodes and steps."""

from __future__ import annotations

from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import TemporalJoin
from headrace.optimizer.plan import Plan, RowTable
from headrace.physical.keys import normalize_key
from headrace.physical.result_sql import ResultSql
from headrace.program.program import FindVersions, RowFeed, RowNode, VersionNode
from headrace.progress.waits import unite_waits


def lower_temporal_table(plan: Plan, table: RowTable, name: str, partition: tuple[int | str, ...]) -> RowNode:
    """The node of the rows that wait for their version, or of the versions."""
    feeds = tuple(
        RowFeed(f.stream, f.where, tuple(map(normalize_key, f.keys, table.types)), f.values, f.steps)
        for f in plan.row_feeds[table.id]
    )
    joins = [join for name, _ in table.readers if isinstance(join := plan.graph.relations[name], TemporalJoin)]
    waits = [[plan.passages[i.relation].columns[i.time] for i in join.inputs] for join in joins]
    waiting = table.readers[0][1] == 0
    make = RowNode if waiting else VersionNode
    needed = unite_waits(*(w for rows, versions in waits for w in ((versions,) if waiting else (rows, versions))))
    return make(
        name,
        table.label,
        table.level,
        plan.waits_of(table.id),
        needed,
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
        fails = c.input == 1 and join.kind == "left" and condition is not None
        shown.append(f"CASE WHEN {condition} THEN {name} END AS {name}" if fails else name)
    return FindVersions(
        view,
        nodes[0].name,
        nodes[1].name,
        sides[0],
        sides[1],
        join.kind,
        len(join.inputs[0].keys),
        len(tables[1].columns),
        ", ".join(shown) or "1 AS _one",
        condition if join.kind == "inner" else None,
        plan.passages[join.inputs[1].relation].columns[join.inputs[1].time],
    )
