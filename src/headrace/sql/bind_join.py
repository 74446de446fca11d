"""A SELECT over several FROM items, or with EXISTS and IN, as joins and a SELECT over one relation.

Three steps. *Collect* what the clauses say of the inputs (`collect_join.py`, sorted by `join_times.py` and
`join_conditions.py`). *Order* the inputs: inner joins are pooled and their order chosen (`pool_inner_joins.py`), outer joins
are taken as written (`follow_outer_joins.py`); EXISTS, IN and NOT EXISTS are semi- and anti-joins of what FROM gives with what
the sub-select reads. *Build* one relation after the other (`build_join.py`; `bind_lookup.py` for static tables,
`looked_up_items.py` says what else is looked up).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.logical.graph import Relation
from headrace.logical.rewrite import substitute
from headrace.sql.bind_context import BindContext
from headrace.sql.build_join import JoinBuilder
from headrace.sql.collect_join import collect_join
from headrace.sql.follow_outer_joins import follow_outer_joins
from headrace.sql.join_item import join_item
from headrace.sql.join_names import FromItem, join_column
from headrace.sql.join_times import JoinTimes
from headrace.sql.pool_inner_joins import pool_inner_joins
from headrace.sql.select_parts import SubSelect


def bind_join(
    context: BindContext, select: exp.Select, items: Sequence[FromItem], subselects: Sequence[SubSelect]
) -> tuple[Relation, exp.Select]:
    """The relation that the SELECT reads, and the SELECT over it."""
    clauses = collect_join(select, items, subselects, context.fail, context.fail_at)
    builder = JoinBuilder(context, clauses, JoinTimes(context.graph, clauses.conjuncts, context.fail_at))
    window = clauses.window
    hops = window if window is not None and not window.tumbling else None
    if hops is not None and clauses.is_outer and (len(items) > 2 or not items[1].kind.shows_both):
        raise context.fail(
            items[-1].node,
            "windows with a SLIDE join rows of common windows: inner joins, or an outer join of two inputs",
        )
    done, rest = follow_outer_joins(builder) if clauses.is_outer else pool_inner_joins(builder, hops)
    for each in clauses.subselects:
        done = join_item(builder, done, each.item, each.kind, each.conditions)
    select = clauses.select
    select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    select.set("joins", None)
    renamed: dict[str, exp.Expr] = {name: join_column(c) for name, c in done.columns.items() if c != name}
    renewed = substitute(select, renamed)
    assert isinstance(renewed, exp.Select)
    return done.relation, renewed
