"""What a SELECT says of its inputs, collected from FROM, ON, USING, WHERE and the sub-selects in WHERE.

The first of three steps of a join: *collect*, order (`pool_inner_joins.py`, `follow_outer_joins.py`), build (`build_join.py`).
Nothing is decided here: every column becomes one of the join's (`join_names.py`), every condition stands by itself. What the
conditions of inner joins say is sorted by `join_times.py`. The network layer reads joins by these two and goes its own way
from there, since it orders and places joins by what they cost between sites (`network/from_sql.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.logical.graph import WINDOW_COLUMNS, StaticTable
from headrace.logical.join_kind import JoinKind
from headrace.sql.bind_context import FailAt
from headrace.sql.join_conditions import split_conjuncts
from headrace.sql.join_names import FromItem, JoinNames, join_column, used_columns
from headrace.sql.join_windows import find_common_window
from headrace.sql.looked_up_items import is_looked_up
from headrace.sql.scope import Fail
from headrace.sql.select_parts import SubSelect
from headrace.windows import Sliding


@dataclass(frozen=True)
class SubSelectJoin:
    """EXISTS, NOT EXISTS or IN: a semi- or anti-join of what FROM gives with an item."""

    item: FromItem
    kind: JoinKind
    conditions: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class JoinClauses:
    """The clauses of one SELECT over the join's columns."""

    select: exp.Select  # its list, GROUP BY and HAVING are the join's; FROM and WHERE still as written
    items: tuple[FromItem, ...]
    names: JoinNames
    window: Sliding | None  # whose bounds results show
    on: tuple[tuple[exp.Expr, ...], ...]  # the conditions each item is joined by
    where: tuple[exp.Expr, ...]  # without sub-selects
    subselects: tuple[SubSelectJoin, ...]
    shown: frozenset[str]  # columns that the SELECT itself reads

    @property
    def is_outer(self) -> bool:
        """Whether some join is not an inner one, so that they are taken as written."""
        return any(i.kind is not JoinKind.INNER for i in self.items)

    @property
    def conjuncts(self) -> list[exp.Expr]:
        """All conditions."""
        joined = [c for each in self.on for c in each]
        return [*self.where, *joined, *(c for s in self.subselects for c in s.conditions)]

    def wanted_after(self, inside: set[str]) -> set[str]:
        """The columns that are read when `inside` are joined: by the SELECT, by conditions with or of others."""
        later = [c for c in self.conjuncts if not used_columns(c) <= inside]
        nested = ((s.item, s.conditions) for s in self.subselects)
        for item, conditions in (*zip(self.items, self.on, strict=True), *nested):
            if inside.isdisjoint(map(item.flat, item.relation.columns)):
                later += conditions
        return {*self.shown, *(n for c in later for n in used_columns(c))}


def collect_join(
    select: exp.Select,
    items: Sequence[FromItem],
    subselects: Sequence[SubSelect],
    fail: Fail,
    fail_at: FailAt,
    alike: bool = True,
) -> JoinClauses:
    """The clauses of a SELECT over `items`, whose windows with a SLIDE must be `alike` if results show their bounds."""
    _check_items([*items, *(item for _, item, _ in subselects)], fail)
    window = find_common_window([i for i in items if not is_looked_up(i)], fail_at, alike)
    names = JoinNames(items, fail, window is not None)
    select = select.copy()
    where = split_conjuncts(select.args["where"].this) if select.args.get("where") else []
    names.equal = _equal_columns([*where, *(c for i in items if i.on is not None for c in split_conjuncts(i.on))])
    plain = [names.flatten(c) for c in where if not any(c is node or c == node for node, _, _ in subselects)]
    grouped = select.args.get("group")
    names.windows |= (
        {e.alias.lower() for e in grouped.expressions if isinstance(e, exp.Alias)} if grouped else set()
    )
    select.set("expressions", names.select_list(select.expressions))
    for clause in ("group", "having"):
        if select.args.get(clause):
            select.set(clause, _flatten_clause(names, select, select.args[clause]))
    outer = any(i.kind is not JoinKind.INNER for i in items)
    shown = {
        c.name
        for part in (*select.expressions, grouped and select.args["group"], select.args.get("having"))
        if part
        for c in part.find_all(exp.Column)
    } | {n for c in plain if outer or speaks_of_windows(c) for n in used_columns(c)}
    return JoinClauses(
        select,
        tuple(items),
        names,
        window,
        on=tuple(tuple(_join_conditions(names, items, k)) for k in range(len(items))),
        where=tuple(plain),
        subselects=tuple(_subselect_join(names, *each) for each in subselects),
        shown=frozenset(shown),
    )


def _equal_columns(conjuncts: Sequence[exp.Expr]) -> list[set[str]]:
    """Columns with the names of their inputs, by what equalities between two of them say."""
    groups: list[set[str]] = []
    for node in conjuncts:
        ends = [node.this, node.expression] if isinstance(node, exp.EQ) else []
        if len(ends) == 2 and all(isinstance(e, exp.Column) and e.table for e in ends):
            both = {f"{e.table}.{e.name}".lower() for e in ends}
            groups = [*(g for g in groups if not g & both), both.union(*(g for g in groups if g & both))]
    return groups


def speaks_of_windows(node: exp.Expr) -> bool:
    return not used_columns(node).isdisjoint(WINDOW_COLUMNS)


def _check_items(items: Sequence[FromItem], fail: Fail) -> None:
    """Refuse names that are there twice, and times that cannot be compared."""
    seen: set[str] = set()
    for item in items:
        if item.alias.lower() in seen:
            raise fail(item.node, f"{item.alias!r} is in FROM twice: give one of them another name with AS")
        seen.add(item.alias.lower())
    units = {i.relation.unit for i in items if not isinstance(i.relation, StaticTable)}
    if len(units) > 1:
        raise fail(
            items[-1].node, "inputs with times and inputs with integers as progress have no common time"
        )


def _flatten_clause(names: JoinNames, select: exp.Select, clause: exp.Expr) -> exp.Expr:
    """GROUP BY and HAVING may speak of names that SELECT gives."""
    given = {e.alias.lower() for e in select.expressions if isinstance(e, exp.Alias)}
    given |= {e.alias.lower() for e in clause.find_all(exp.Alias)}

    def visit(child: exp.Expr) -> exp.Expr:
        if not isinstance(child, exp.Column) or isinstance(child.this, exp.Star):
            return child
        path = [part.name for part in child.parts]
        bare = len(path) == 1 and not names.find(path)
        window = path[0].lower() == "window" and not names.find(path)
        return child if (bare and path[0].lower() in given) or window else names.column(child)

    return clause.copy().transform(visit)


def _join_conditions(names: JoinNames, items: Sequence[FromItem], k: int) -> list[exp.Expr]:
    """What ON and USING say of an item."""
    item = items[k]
    out = split_conjuncts(names.flatten(item.on)) if item.on is not None else []
    for column in item.using:
        others = JoinNames(items[:k], names.fail, False).find([column])
        mine = JoinNames([item], names.fail, False).find([column])
        if not others or not mine:
            raise names.fail(item.node, f"USING ({column}): there is no column {column!r} on both sides")
        merged = JoinNames(items[:k], names.fail, False).merge_using(others)  # of outer joins before, whichever side is there
        left = merged if merged is not None else join_column(others[0][0].flat(others[0][1]))
        out.append(exp.EQ(this=left, expression=join_column(item.flat(mine[0][1]))))
    return out


def _subselect_join(names: JoinNames, node: exp.Expr, item: FromItem, own: exp.Expr | None) -> SubSelectJoin:
    inner = JoinNames([item], names.fail, False, outer=names)
    out = [inner.flatten(c) for c in split_conjuncts(own)]
    test = node.this if isinstance(node, exp.Not) else node
    if isinstance(test, exp.In):
        chosen = test.args["query"].this.expressions
        if len(chosen) != 1 or isinstance(chosen[0], exp.Star):
            raise names.fail(test, "IN takes a sub-select of one column")
        out.append(exp.EQ(this=names.flatten(test.this), expression=inner.flatten(chosen[0].unalias())))
    return SubSelectJoin(item, JoinKind.ANTI if isinstance(node, exp.Not) else JoinKind.SEMI, tuple(out))
