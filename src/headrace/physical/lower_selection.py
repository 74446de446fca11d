"""Selections and unions of rows of slots: SQL that melts into what reads them."""

from __future__ import annotations

from headrace.dialect.duck_cast import duck_type
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import Derive, Merge
from headrace.optimizer.plan import Part
from headrace.physical.lowering import Lowering, SlotView
from headrace.physical.result_sql import window_scope
from headrace.program.slot_steps import Compute


def lower_derive(low: Lowering, relation: Derive) -> None:
    scope = dict(low.plan.types[relation.input])
    if low.graph.is_windowed(relation.name):
        scope |= window_scope(low.plan, relation)
    for view, part in zip(low.views.get(relation.input, ()), low.plan.parts[relation.name], strict=True):
        sql = low.sql.select(relation, view.name, relation.where, scope, part.pid)
        low.define(relation.name, sql, view.name, part)


def lower_merge(low: Lowering, union: Merge) -> None:
    """Each part of each arm, in the types of the whole."""
    arms = [(arm, view) for arm in union.inputs for view in low.views.get(arm, ())]
    parts = low.plan.parts.get(union.name, ())
    low.views[union.name] = [_unite(low, union.name, *each, part) for each, part in zip(arms, parts, strict=True)]


def _unite(low: Lowering, union: str, arm: str, view: SlotView, part: Part) -> SlotView:
    """A part of one arm of a union, in the types of the whole."""
    theirs, ours = low.plan.types[arm], low.plan.types[union]
    if list(theirs.values()) == list(ours.values()):
        return SlotView(view.name, part)
    casts = [
        quote_name(c) if t == ours[c] else f"CAST({quote_name(c)} AS {duck_type(ours[c])}) AS {quote_name(c)}"
        for c, t in theirs.items()
    ]
    casts += ["_ws", "_we"] if low.graph.is_windowed(union) else []
    casts += ["_pid"] if part.pid else []
    name = low.name_view("r")
    low.step(part.level, Compute(name, f"SELECT {', '.join(casts)} FROM {view.name}", view.name))
    return SlotView(name, part)
