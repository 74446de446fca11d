"""One more item of FROM, or of a sub-select in WHERE, joined to what FROM has given so far."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import find_progress
from headrace.sql.bind_lookup import is_table
from headrace.sql.build_join import JoinBuilder
from headrace.sql.collect_join import speaks_of_windows
from headrace.sql.join_names import FromItem, Joined, join_nothing, used_columns
from headrace.sql.looked_up_items import find_looked_up, is_looked_up


def join_item(
    builder: JoinBuilder, left: Joined, item: FromItem, kind: JoinKind, conjuncts: Sequence[exp.Expr]
) -> Joined:
    """A stream or query is joined, a table or the versions of a stream are looked up."""
    context, clauses = builder.context, builder.clauses
    wanted = clauses.wanted_after({*left.columns, *(item.flat(c) for c in item.relation.columns)})
    if (looked_up := find_looked_up(item)) is not None:
        return looked_up.bind(context, clauses.names, left, item, kind, conjuncts, wanted)
    return _join_rows(builder, left, item, kind, conjuncts)


def _join_rows(
    builder: JoinBuilder, left: Joined, item: FromItem, kind: JoinKind, conjuncts: Sequence[exp.Expr]
) -> Joined:
    right = join_nothing(item)
    parts = [*(_part_of(left, i) for i in left.items), right]
    mine, other = frozenset(range(len(left.items))), frozenset({len(left.items)})
    flipped = kind is JoinKind.RIGHT
    done, groups = ([right, left], [other, mine]) if flipped else ([left, right], [mine, other])
    kind = kind.flipped if flipped else kind
    conditions = builder.times.sort(parts, conjuncts, groups)
    if any(speaks_of_windows(c) for c in conditions.rest) or any(i < 0 for i, _ in conditions.single):
        raise builder.context.fail(
            item.node, "window_start and window_end are those of results: speak of them in WHERE"
        )
    _check_within(builder, left, item)
    for i, one in enumerate(left.items):
        if not is_looked_up(one) and _concerns(one, left.items, conjuncts):
            builder.times.add_windows(conditions, [one, item], [i, len(left.items)])
    conditions.rest += [c for i, c in conditions.single if i in kind.kept]
    conditions.single = [(i, c) for i, c in conditions.single if i not in kind.kept]
    window = builder.clauses.window if kind.padded else None
    if window is not None and not window.tumbling and conditions.windows:
        raise builder.context.fail(
            item.node, "windows with a SLIDE, and equal windows beside them, in an outer join: leave one out"
        )
    hops = window if window is not None and not window.tumbling else None
    return builder.build(builder.narrow(done, conditions), groups, parts, conditions, kind, hops)


def _check_within(builder: JoinBuilder, left: Joined, item: FromItem) -> None:
    """Refuse WITHIN of what several inputs have given where one of them may be NULL."""
    shown = [one for one in left.items if not is_looked_up(one) and one.kind.shows_both]
    if item.node.args.get("within") is None or len(shown) < 2:
        return
    columns = [next(iter(find_progress(builder.context.graph(), one.relation.name)), "ts") for one in (shown[0], item)]
    first, own = f"{shown[0].alias}.{columns[0]}", f"{item.alias}.{columns[1]}"
    raise builder.context.fail(
        item.node,
        f"WITHIN behind {item.alias}: beside an outer join, say whose time is meant, {' or '.join(i.alias for i in shown)}: "
        f"write the band as a condition in ON, like {own} BETWEEN {first} - INTERVAL 5 SECONDS AND {first} + INTERVAL 5 SECONDS",
    )


def _part_of(joined: Joined, item: FromItem) -> Joined:
    """An item by itself; a table that was looked up has columns, and no time."""
    if not is_table(item):
        return join_nothing(item)
    return Joined(joined.relation, {item.flat(c): c for c in item.relation.columns}, (item,))


def _concerns(one: FromItem, items: Sequence[FromItem], conjuncts: Sequence[exp.Expr]) -> bool:
    """Whether what is joined now has to do with an item before: it speaks of it, or of none of them."""
    used = {name for c in conjuncts for name in used_columns(c)}
    named = [i for i in items if any(i.flat(c) in used for c in i.relation.columns)]
    return not named or one in named
