"""Joins of which some are outer, semi- or anti-joins are taken as written, from the left; WHERE comes after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from headrace.logical.join_kind import JoinKind
from headrace.sql.bind_lookup import choose_kind, is_table
from headrace.sql.build_join import JoinBuilder
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_item import join_item
from headrace.sql.join_names import FromItem, Joined, join_nothing, used_columns
from headrace.sql.scope import Fail

On = Sequence[Sequence[exp.Expr]]  # the conditions each item is joined by


def follow_outer_joins(builder: JoinBuilder) -> tuple[Joined, list[exp.Expr]]:
    """What FROM gives, and the conditions of WHERE that are left."""
    where = builder.clauses.where
    items, on = _begin_with_stream(builder.clauses.items, builder.clauses.on, builder.context.fail)
    done = join_nothing(items[0])
    kept = all(0 not in i.kind.padded and i.kind.shows_both for i in items[1:])
    first = {items[0].flat(c) for c in items[0].relation.columns}
    early = [c for c in where if kept and (used := used_columns(c)) and used <= first]
    if early:
        done = builder.narrow([done], Conditions(single=[(0, c) for c in early]))[0]
    waiting = [c for c in where if c not in early]
    for k in range(1, len(items)):
        item = items[k]
        more: list[exp.Expr] = []
        if item.kind is JoinKind.INNER:  # what WHERE says of an inner join may be all that bounds it
            seen = {name for one in items[: k + 1] for name in (one.flat(c) for c in one.relation.columns)}
            safe = all(0 not in i.kind.padded and i.kind.shows_both for i in items[k:])
            own = {item.flat(n) for n in item.relation.columns}
            more = [c for c in waiting if safe and used_columns(c) <= seen and used_columns(c) & own]
            waiting = [c for c in waiting if c not in more]
        done = join_item(builder, done, item, item.kind, [*on[k], *more])
    return done, waiting


def _begin_with_stream(items: Sequence[FromItem], on: On, fail: Fail) -> tuple[Sequence[FromItem], On]:
    """A table that is written first is looked up by what is joined to it."""
    if not is_table(items[0]):
        return items, on
    second = items[1]
    if is_table(second):
        raise fail(items[0].node, "write a stream before the tables it is joined with")
    kind = choose_kind(
        second.kind.flipped, items[0], second.alias, fail
    )
    if not second.kind.shows_both:
        raise fail(items[0].node, f"{items[0].alias} is a table, whose rows cannot be results of a stream")
    return [second, replace(items[0], kind=kind), *items[2:]], [[], on[1], *on[2:]]
