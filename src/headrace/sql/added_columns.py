"""What a SELECT reads beside what is written: columns that its conditions or windows need, and rows that were there before."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headrace.errors import PlanError
from headrace.logical.graph import Join, JoinColumn, JoinInput, Output, Relation, Rows
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import find_progress
from headrace.logical.time_bounds import TimeBounds
from headrace.sql.divided_times import divide_times
from headrace.sql.join_names import FromItem
from headrace.sql.row_selector import RowSelector
from headrace.sql.scope import Scope


def divide_item_times(rows: RowSelector, select: exp.Select, items: list[FromItem]) -> list[FromItem]:
    """Inputs with one more column where a condition divides their time (`divided_times.py`)."""
    out = []
    for item in items:
        relation = item.relation
        if isinstance(relation, Rows) and relation.unit == "int" and len(items) > 1:
            added = divide_times(select, item.alias, tuple(find_progress(rows.graph(), relation.name)))
            copies = tuple((c, exp.column(exp.to_identifier(c, quoted=True))) for c in relation.columns)
            if added:
                relation = rows.add(rows.select(rows.name(), relation, (*copies, *added), None))
        out.append(replace(item, relation=relation))
    on = [None, *(join.args.get("on") for join in select.args.get("joins") or ())]
    return [replace(item, on=condition) for item, condition in zip(out, on, strict=True)]


def name_window_times(
    rows: RowSelector, scope: Scope, select: exp.Select
) -> tuple[Relation, exp.Select]:
    """`window(greatest(a.ts, b.ts), …)`: what a window is on becomes a column of what the SELECT reads."""
    source, select = scope.source, select.copy()
    calls = [c for c in select.find_all(exp.Anonymous) if c.name.lower() == "window" and len(c.expressions) > 1]
    found = {c.expressions[0]: scope.resolve(c.expressions[0]) for c in calls if not isinstance(c.expressions[0], exp.Column)}
    if not found or select.args.get("group") is None:
        return source, select
    names = {written: e.sql(dialect="spark").lower().replace("`", "") for written, e in found.items()}
    copies = [(c, exp.column(exp.to_identifier(c, quoted=True))) for c in source.columns]
    outputs = (*copies, *{names[written]: e for written, e in found.items()}.items())
    relation = rows.add(rows.select(rows.name(), source, outputs, None))
    for call in calls:
        if (name := names.get(call.expressions[0])) is not None:
            call.expressions[0].replace(exp.column(exp.to_identifier(name, quoted=True)))
    return relation, select


def find_distinct_rows(rows: RowSelector, name: str, source: Relation, outputs: tuple[Output, ...]) -> Relation:
    """SELECT DISTINCT of rows as they come: what was seen is remembered until progress passes it (document 003 §8.2)."""
    read = rows.add(rows.derive(rows.name(), source, outputs, None))
    time = next(iter(find_progress(rows.graph(), read.name)), None)
    if time is None:
        raise PlanError(
            "SELECT DISTINCT of rows remembers them until progress has passed them: select the progressing attribute too, "
            "or give the stream a window, like [RANGE 1 MINUTE], for the distinct rows of each window"
        )
    columns = tuple(JoinColumn(c, 0, c) for c in read.columns)
    keys = tuple(exp.column(exp.to_identifier(c, quoted=True)) for c in read.columns)
    inputs = (JoinInput(read.name, read.name, time, keys),)
    return Join(name, inputs, JoinKind.DISTINCT, TimeBounds(1), None, columns, (), read.unit)
