"""Lookups of a plan as SQL over a relation of the slot and a static table."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headrace.dialect.duck_cast import cast, duck_type
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import WINDOW_COLUMNS, Lookup
from headrace.logical.join_kind import JoinKind
from headrace.optimizer.plan import Plan, TransitTable
from headrace.physical.keys import normalize_key
from headrace.physical.lowered_node import KnownOfNode, lower_row_feeds
from headrace.physical.lowering import Lowering, SlotView
from headrace.physical.result_sql import ResultSql
from headrace.physical.stored_text import describe_stored
from headrace.program.slot_steps import Advance
from headrace.program.table_lookups import LookUp, TransitNode
from headrace.progress.advance_program import ProgressRule


def lower_lookup(low: Lowering, lookup: Lookup) -> None:
    """A step over what slots hold, or over rows that are sent through them."""
    parts, sources = low.plan.parts[lookup.name], low.views.get(lookup.input, [])
    table = low.plan.tables[parts[0].table] if parts else None
    transit = isinstance(table, TransitTable) and lookup.name in table.members
    if isinstance(table, TransitTable) and transit:
        if table.id not in low.nodes:
            name = low.name_node(table, describe_stored(low.plan, table))
            known = low.describe_node(table, name, len(table.keys))
            node = _lower_transit(low.plan, table, known)
            low.add_node(table, node, ProgressRule(name, node.waits, node.waits, level=node.level))
            low.send_rows(node, table, next(iter(low.plan.passages[table.input].columns), ""))
            low.step(table.level, Advance(name))
        sources = [SlotView(low.nodes[table.id].gives[0], parts[0])]
    for source, part in zip(sources, parts, strict=True):
        view = low.name_view("l")
        low.step(part.level, _make_step(low.plan, low.sql, lookup, source.name, view, transit))
        low.views.setdefault(lookup.name, []).append(SlotView(view, part))


def _lower_transit(plan: Plan, table: TransitTable, known: KnownOfNode) -> TransitNode:
    """The node of rows that pass."""
    return TransitNode(**known, names=table.columns, view=f"p_{known['name']}", feeds=lower_row_feeds(plan, table))


def _make_step(plan: Plan, sql: ResultSql, lookup: Lookup, source: str, view: str, transit: bool) -> LookUp:
    """The rows of `source` with those of the table; rows that passed through slots bring their keys along as _k0…"""
    types, graph = plan.joins[lookup.name], plan.graph
    scope = dict(plan.types[lookup.input])
    if graph.is_windowed(lookup.input):
        scope |= dict.fromkeys(WINDOW_COLUMNS, graph.window_type(lookup.input))
    columns = (*lookup.visible, *lookup.hidden)
    sides: list[list[str]] = [["_ws", "_we"] if graph.is_windowed(lookup.input) else [], []]
    for column in columns:
        sides[column.input].append(f"{quote_name(column.column)} AS {quote_name(column.name)}")
    theirs = plan.types[lookup.table]
    keys: list[tuple[str, str]] = []
    for i, (mine, other) in enumerate(lookup.keys):
        type_ = types.keys[i]
        own = f"_k{i}" if transit else _key(sql, lookup, mine, scope, types.inputs[0][i], type_)
        found = _key(sql, lookup, other, theirs, types.inputs[1][i], type_)
        sides[0].append(f"{own} AS _l{i}")
        sides[1].append(f"{found} AS _r{i}")
        keys.append((f"CAST({found} AS {duck_type(type_)})", f"CAST({own} AS {duck_type(type_)})"))
    used = {c.column for c in columns if c.input == 1} | {c.name for _, k in lookup.keys for c in k.find_all(exp.Column)}
    read = tuple(c for c in theirs if c in used)
    names = (source, f"static_{view}")
    left, right = (f"(SELECT {', '.join(s) or '1 AS _one'} FROM {n})" for s, n in zip(sides, names, strict=True))
    on = [f"_l{i} = _r{i}" for i in range(len(lookup.keys))]
    if lookup.condition is not None:
        both = {c.name: (scope if c.input == 0 else theirs)[c.column] for c in columns}
        on.append(f"({sql.translate(lookup, lookup.condition, both).sql})")
    windows = ["_ws", "_we"] if graph.is_windowed(lookup.input) else []
    listed = ", ".join([*(quote_name(c.name) for c in lookup.visible), *windows]) or "1 AS _one"
    meets = " AND ".join(on) or "true"
    pairs = f"SELECT {listed} FROM {left} JOIN {right} ON {meets}"
    partner = f"EXISTS (SELECT 1 FROM {right} WHERE {meets})"
    if lookup.kind is JoinKind.SEMI:
        text = f"SELECT {listed} FROM {left} WHERE {partner}"
    elif lookup.kind is JoinKind.ANTI:
        text = f"SELECT {listed} FROM {left} WHERE NOT {partner}"
    elif lookup.kind is JoinKind.INNER:
        text = pairs
    elif keys:
        text = f"SELECT {listed} FROM {left} LEFT JOIN {right} ON {meets}"
    else:  # LEFT JOIN by inequalities alone is wrong in DuckDB 2.0 (docs/design/joins.md)
        padded = [f"{'NULL AS ' if c.input else ''}{quote_name(c.name)}" for c in lookup.visible]
        text = f"{pairs} UNION ALL SELECT {', '.join([*padded, *windows]) or '1 AS _one'} FROM {left} WHERE NOT {partner}"
    hashed = tuple(k for k, _ in keys), tuple(k for _, k in keys)
    return LookUp(view, text, source, lookup.table, names[1], read, *hashed, transit)


def _key(
    sql: ResultSql, lookup: Lookup, expression: exp.Expr, scope: Mapping[str, str], have: str, want: str
) -> str:
    return normalize_key(cast(sql.translate(lookup, expression, scope).sql, have, want), want)
