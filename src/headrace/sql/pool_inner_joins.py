"""Inner joins are pooled: their conditions, in ON or WHERE, say together which keys are equal and how near rows are in time.

In which order they are joined is chosen: all by one operator where they have a key in common, else by a tree
(`logical/order_joins.py`). What concerns one input alone is applied to that input, before anything is kept. Static tables
and versions are looked up when the streams are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from headrace.logical.graph import WINDOW_COLUMNS
from headrace.logical.join_kind import JoinKind
from headrace.logical.order_joins import JoinStep, order_joins
from headrace.logical.time_bounds import TimeBounds
from headrace.sql.build_join import JoinBuilder
from headrace.sql.collect_join import speaks_of_windows
from headrace.sql.join_bounds import refuse_unbounded
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_item import join_item
from headrace.sql.join_keys import equality_classes
from headrace.sql.join_names import FromItem, Joined, join_nothing, used_columns
from headrace.sql.looked_up_items import is_looked_up
from headrace.windows import Sliding

_SECOND = 1_000_000


def pool_inner_joins(builder: JoinBuilder, window: Sliding | None) -> tuple[Joined, list[exp.Expr]]:
    """The streams first, then the tables, each with the conditions that need nothing after it; and the conditions that are
    left. `window`: the one with a SLIDE that all streams have.
    """
    clauses = builder.clauses
    streams = [i for i in clauses.items if not is_looked_up(i)]
    if not streams:
        raise builder.context.fail(
            clauses.items[0].node, "tables alone never change: join them with a stream or a query"
        )
    inside = {i.flat(c) for i in streams for c in i.relation.columns} | set(WINDOW_COLUMNS)
    waiting = [*(c for each in clauses.on for c in each), *clauses.where]
    mine, waiting = _divide(waiting, inside)
    done, rest = _pool_streams(builder, streams, mine, window)
    for item in filter(is_looked_up, clauses.items):
        inside |= {item.flat(c) for c in item.relation.columns}
        mine, waiting = _divide(waiting, inside)
        done = join_item(builder, done, item, JoinKind.INNER, mine)
    return done, [*rest, *waiting]


def _pool_streams(
    builder: JoinBuilder, items: Sequence[FromItem], conjuncts: list[exp.Expr], window: Sliding | None
) -> tuple[Joined, list[exp.Expr]]:
    parts = [join_nothing(item) for item in items]
    conditions = builder.times.sort_pooled(parts, conjuncts)
    after = [c for i, c in conditions.single if i < 0]  # of the window's bounds, which only results have
    parts = builder.narrow(parts, conditions)
    if len(parts) == 1:
        return parts[0], conditions.rest
    bounds = TimeBounds(len(items), tuple(conditions.gaps), tuple(conditions.windows))
    classes = equality_classes(conditions)
    unit = _SECOND if items[0].relation.unit == "us" else 1
    tree = order_joins(len(items), [frozenset(i for i, _ in c) for c in classes], bounds, unit)
    if tree is None:
        refuse_unbounded(builder.context.graph(), parts, bounds)
    assert tree is not None
    by_all = window is not None or any(i.node.args.get("within") is not None for i in items[2:])
    if by_all and len(items) != len(tree.parts):  # which windows rows share, and who is the latest, is told by the times of all
        times = {name for part in parts for name, c in part.columns.items() if c == builder.times.find(part)}
        builder = replace(builder, clauses=replace(builder.clauses, shown=builder.clauses.shown | times))
    order = f"order {_describe(tree, items)}" if len(tree.parts) < len(items) else ""
    after += [c for c in conditions.rest if speaks_of_windows(c)]
    conditions.rest = [c for c in conditions.rest if not speaks_of_windows(c)]
    done = _build_tree(builder, tree, parts, conditions, bounds, window, order)
    owned = {name for part in parts for name in part.columns}
    return done, [*after, *(c for c in conditions.rest if used_columns(c).isdisjoint(owned))]


def _build_tree(
    builder: JoinBuilder,
    tree: JoinStep,
    parts: list[Joined],
    conditions: Conditions,
    bounds: TimeBounds,
    window: Sliding | None = None,
    order: str = "",
) -> Joined:
    """The joins of a tree, from its leaves; `bounds` are those of all inputs."""
    done: list[Joined] = []
    groups: list[frozenset[int]] = []
    for part in tree.parts:
        if isinstance(part, JoinStep):
            done.append(_build_tree(builder, part, parts, conditions, bounds))
            groups.append(_leaves(part))
        else:
            done.append(parts[part])
            groups.append(frozenset({part}))
    mine = _across(conditions, parts, {i: k for k, group in enumerate(groups) for i in group})
    return builder.build(done, groups, parts, mine, JoinKind.INNER, window, order, bounds)


def _across(conditions: Conditions, parts: Sequence[Joined], place: dict[int, int]) -> Conditions:
    """The conditions between parts that are in different places, of those that have one."""

    def crosses(used: set[int]) -> bool:
        return bool(used) and used <= place.keys() and len({place[i] for i in used}) > 1

    owner = {name: i for i, part in enumerate(parts) for name in part.columns}
    return Conditions(
        gaps=[g for g in conditions.gaps if crosses({g.before, g.after})],
        windows=[w for w in conditions.windows if crosses({w.one, w.other})],
        equal=[e for e in conditions.equal if crosses({e[0][0], e[1][0]})],
        rest=[c for c in conditions.rest if crosses({owner[n] for n in used_columns(c) if n in owner})],
    )


def _divide(conjuncts: Sequence[exp.Expr], inside: set[str]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Conditions over these columns alone, and the others."""
    mine = [c for c in conjuncts if used_columns(c) <= inside]
    return mine, [c for c in conjuncts if not used_columns(c) <= inside]


def _leaves(step: JoinStep) -> frozenset[int]:
    return frozenset(i for p in step.parts for i in (_leaves(p) if isinstance(p, JoinStep) else (p,)))


def _describe(step: JoinStep | int, items: Sequence[FromItem]) -> str:
    if isinstance(step, int):
        return items[step].alias
    return "(" + " ⋈ ".join(_describe(p, items) for p in step.parts) + ")"
