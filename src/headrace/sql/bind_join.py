"""A SELECT over several FROM items, or with EXISTS and IN, as joins and a SELECT over one relation.

Inner joins are pooled: their conditions, in ON or WHERE, say together which keys are equal and how near rows are in time, and
the order they are joined in is chosen (`logical/order_joins.py`). Outer joins are taken as written, from the left. EXISTS,
IN and NOT EXISTS are semi- and anti-joins of what FROM gives with what the sub-select reads. What concerns one input alone is
applied to that input, before anything is kept. Static tables are looked up when the streams are joined (`bind_lookup.py`).

A join that nothing bounds in time is refused: its state could never be purged (document 003, section 5.2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from headrace.errors import PlanError, SqlError
from headrace.logical.graph import (
    WINDOW_COLUMNS,
    Aggregate,
    Graph,
    Join,
    JoinColumn,
    JoinInput,
    Relation,
    StaticTable,
)
from headrace.logical.order_joins import JoinStep, order_joins
from headrace.logical.progress_columns import find_progress
from headrace.logical.rewrite import both, substitute
from headrace.logical.time_bounds import CommonWindow, Gap, TimeBounds
from headrace.sql.bind_lookup import bind_lookup, choose_kind, is_table
from headrace.sql.bind_temporal import bind_temporal, find_moment, is_versioned
from headrace.sql.join_conditions import Conditions, ConditionSorter, TimeColumn, split_conjuncts
from headrace.sql.join_names import FromItem, Joined, JoinNames, join_column, used_columns
from headrace.sql.join_windows import add_time_clauses, find_common_window
from headrace.windows import Sliding

_SUGGESTION = (
    "bound it in time, like {b}.{bt} BETWEEN {a}.{at} - INTERVAL 5 MINUTES AND {a}.{at} + INTERVAL 5 MINUTES, or by windows, "
    "like {a} [RANGE 5 MINUTES], {b} [RANGE 5 MINUTES]"
)
_SECOND = 1_000_000


@dataclass
class JoinBinder:
    """Binds the FROM clause and the sub-selects in WHERE of one SELECT."""

    graph: Callable[[], Graph]
    add: Callable[[Relation], Relation]
    name: Callable[[], str]
    narrow: Callable[[Relation, exp.Expr], Relation]  # a relation under a WHERE
    fail: Callable[[exp.Expr | None, str], SqlError]
    fail_at: Callable[[int, int, str], SqlError]
    names: JoinNames = field(init=False)
    shown: set[str] = field(default_factory=set)  # columns that the SELECT itself reads
    conjuncts: list[exp.Expr] = field(default_factory=list)  # all conditions

    # -- the whole --------------------
    def bind(
        self,
        select: exp.Select,
        items: Sequence[FromItem],
        lookups: Sequence[tuple[exp.Expr, FromItem, exp.Expr | None]],
    ) -> tuple[Relation, exp.Select]:
        """The relation that the SELECT reads, and the SELECT over it. `lookups` are sub-selects of WHERE: the condition
        they stand in, what they read, and their own WHERE.
        """
        self._check_items([*items, *(item for _, item, _ in lookups)])
        window = find_common_window([i for i in items if not _comes_after(i)], self.fail_at)
        self.names = names = JoinNames(items, self.fail, window is not None)
        select = select.copy()
        where = split_conjuncts(select.args["where"].this) if select.args.get("where") else []
        plain = [names.flatten(c) for c in where if not any(c is node or c == node for node, _, _ in lookups)]
        grouped = select.args.get("group")
        names.windows |= (
            {e.alias.lower() for e in grouped.expressions if isinstance(e, exp.Alias)} if grouped else set()
        )
        select.set("expressions", names.select_list(select.expressions))
        for clause in ("group", "having"):
            if select.args.get(clause):
                select.set(clause, self._flatten_clause(select, select.args[clause]))
        outer = any(i.kind != "inner" for i in items)
        self.shown = {
            c.name
            for part in (*select.expressions, grouped and select.args["group"], select.args.get("having"))
            if part
            for c in part.find_all(exp.Column)
        } | {n for c in plain if outer or _speaks_of_windows(c) for n in used_columns(c)}
        looked = [(node, item, self._lookup_conditions(node, item, own)) for node, item, own in lookups]
        on = [self._on(items, k) for k in range(len(items))]
        self.conjuncts = [
            *plain,
            *(c for each in on for c in each),
            *(c for _, _, each in looked for c in each),
        ]
        hops = window if window is not None and not window.tumbling else None
        if hops is not None and outer:
            raise self.fail(
                items[-1].node,
                "windows with a SLIDE join rows of common windows, and only inner joins have these",
            )
        done, rest = self._sequence(items, on, plain) if outer else self._pool(items, on, plain, hops)
        for node, item, conditions in looked:
            kind = "anti" if isinstance(node, exp.Not) else "semi"
            done = self._join_two(done, item, kind, conditions)
        select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
        select.set("joins", None)
        renamed: dict[str, exp.Expr] = {name: join_column(c) for name, c in done.columns.items() if c != name}
        renewed = substitute(select, renamed)
        assert isinstance(renewed, exp.Select)
        return done.relation, renewed

    def _flatten_clause(self, select: exp.Select, clause: exp.Expr) -> exp.Expr:
        """GROUP BY and HAVING may speak of names that SELECT gives."""
        given = {e.alias.lower() for e in select.expressions if isinstance(e, exp.Alias)}
        given |= {e.alias.lower() for e in clause.find_all(exp.Alias)}

        def visit(child: exp.Expr) -> exp.Expr:
            if not isinstance(child, exp.Column) or isinstance(child.this, exp.Star):
                return child
            path = [part.name for part in child.parts]
            bare = len(path) == 1 and not self.names.find(path)
            window = path[0].lower() == "window" and not self.names.find(path)
            return child if (bare and path[0].lower() in given) or window else self.names.column(child)

        return clause.copy().transform(visit)

    def _check_items(self, items: Sequence[FromItem]) -> None:
        seen: set[str] = set()
        for item in items:
            if item.alias.lower() in seen:
                raise self.fail(
                    item.node, f"{item.alias!r} is in FROM twice: give one of them another name with AS"
                )
            seen.add(item.alias.lower())
        units = {i.relation.unit for i in items if not isinstance(i.relation, StaticTable)}
        if len(units) > 1:
            raise self.fail(
                items[-1].node, "inputs with times and inputs with integers as progress have no common time"
            )

    def _on(self, items: Sequence[FromItem], k: int) -> list[exp.Expr]:
        """The conditions an item is joined by."""
        item = items[k]
        out = split_conjuncts(self.names.flatten(item.on)) if item.on is not None else []
        for column in item.using:
            others = JoinNames(items[:k], self.fail, False).find([column])
            mine = JoinNames([item], self.fail, False).find([column])
            if not others or not mine:
                raise self.fail(item.node, f"USING ({column}): there is no column {column!r} on both sides")
            left, right = others[0][0].flat(others[0][1]), item.flat(mine[0][1])
            out.append(exp.EQ(this=join_column(left), expression=join_column(right)))
        return out

    def _lookup_conditions(self, node: exp.Expr, item: FromItem, own: exp.Expr | None) -> list[exp.Expr]:
        if (clause := item.node.args.get("stream_window")) is not None:
            what = "a sub-select in WHERE has no window: bound it by a condition on the times of both"
            raise self.fail_at(clause.start, clause.end, what)
        inner = JoinNames([item], self.fail, False, outer=self.names)
        out = [inner.flatten(c) for c in split_conjuncts(own)]
        test = node.this if isinstance(node, exp.Not) else node
        if isinstance(test, exp.In):
            chosen = test.args["query"].this.expressions
            if len(chosen) != 1 or isinstance(chosen[0], exp.Star):
                raise self.fail(test, "IN takes a sub-select of one column")
            out.append(
                exp.EQ(this=self.names.flatten(test.this), expression=inner.flatten(chosen[0].unalias()))
            )
        return out

    # -- inner joins --------------------
    def _pool(
        self,
        items: Sequence[FromItem],
        on: list[list[exp.Expr]],
        where: list[exp.Expr],
        window: Sliding | None,
    ) -> tuple[Joined, list[exp.Expr]]:
        """The streams first, then the tables, each with the conditions that need nothing after it."""
        streams = [i for i in items if not _comes_after(i)]
        if not streams:
            raise self.fail(items[0].node, "tables alone never change: join them with a stream or a query")
        inside = {i.flat(c) for i in streams for c in i.relation.columns} | set(WINDOW_COLUMNS)
        waiting = [*(c for each in on for c in each), *where]
        mine, waiting = _divide(waiting, inside)
        done, rest = self._pool_streams(streams, mine, window)
        for item in filter(_comes_after, items):
            inside |= {item.flat(c) for c in item.relation.columns}
            mine, waiting = _divide(waiting, inside)
            done = self._join_two(done, item, "inner", mine)
        return done, [*rest, *waiting]

    def _look_up(self, done: Joined, item: FromItem, kind: str, conjuncts: list[exp.Expr]) -> Joined:
        inside = {*done.columns, *(item.flat(c) for c in item.relation.columns)}
        later = {n for c in self.conjuncts if not used_columns(c) <= inside for n in used_columns(c)}
        return bind_lookup(self.graph(), self.add, self.name(), done, item, kind, conjuncts, self.shown | later)

    def _pool_streams(
        self, items: Sequence[FromItem], conjuncts: list[exp.Expr], window: Sliding | None
    ) -> tuple[Joined, list[exp.Expr]]:
        parts = [self._part(item) for item in items]
        conditions = self._sort(parts, conjuncts)
        self._add_windows(conditions, items, range(len(items)))
        after = [c for i, c in conditions.single if i < 0]  # of the window's bounds, which only results have
        parts = self._narrow(parts, conditions)
        if len(parts) == 1:
            return parts[0], conditions.rest
        bounds = TimeBounds(len(items), tuple(conditions.gaps), tuple(conditions.windows))
        classes = _equality_classes(conditions)
        unit = _SECOND if items[0].relation.unit == "us" else 1
        tree = order_joins(len(items), [frozenset(i for i, _ in c) for c in classes], bounds, unit)
        if tree is None:
            self._refuse_unbounded(parts, bounds)
        assert tree is not None
        if window is not None and len(items) != len(tree.parts):
            raise self.fail(items[0].node, "windows with a SLIDE join inputs that share a key; these do not")
        order = f"order {_describe(tree, items)}" if len(tree.parts) < len(items) else ""
        after += [c for c in conditions.rest if _speaks_of_windows(c)]
        conditions.rest = [c for c in conditions.rest if not _speaks_of_windows(c)]
        done, rest = self._build(tree, parts, conditions, bounds, window, order)
        return done, [*after, *rest]

    def _build(
        self,
        tree: JoinStep,
        parts: list[Joined],
        conditions: Conditions,
        bounds: TimeBounds,
        window: Sliding | None,
        order: str,
    ) -> tuple[Joined, list[exp.Expr]]:
        """The joins of a tree, from its leaves; `bounds` are those of all inputs."""
        done: list[Joined] = []
        groups: list[frozenset[int]] = []
        for part in tree.parts:
            if isinstance(part, JoinStep):
                done.append(self._build(part, parts, conditions, bounds, None, "")[0])
                groups.append(_leaves(part))
            else:
                done.append(parts[part])
                groups.append(frozenset({part}))
        place = {i: k for k, group in enumerate(groups) for i in group}
        inside = frozenset(place)
        mine = Conditions()
        for gap in conditions.gaps:
            if {gap.before, gap.after} <= inside and place[gap.before] != place[gap.after]:
                mine.gaps.append(gap)
        mine.windows += [
            w for w in conditions.windows if {w.one, w.other} <= inside and place[w.one] != place[w.other]
        ]
        mine.equal += [
            e for e in conditions.equal if {e[0][0], e[1][0]} <= inside and place[e[0][0]] != place[e[1][0]]
        ]
        owner = {name: i for i, part in enumerate(parts) for name in part.columns}
        mine.rest += [
            c
            for c in conditions.rest
            if (used := {owner[x.name] for x in c.find_all(exp.Column) if x.name in owner})
            and used <= inside
            and len({place[i] for i in used}) > 1
        ]
        joined = self._join(done, groups, parts, mine, "inner", window, order, bounds)
        left = [c for c in conditions.rest if not any(x.name in owner for x in c.find_all(exp.Column))]
        return joined, left

    # -- outer joins, semi-joins --------------------
    def _sequence(
        self, items: Sequence[FromItem], on: list[list[exp.Expr]], where: list[exp.Expr]
    ) -> tuple[Joined, list[exp.Expr]]:
        """Joins as written, from the left; WHERE comes after them."""
        items, on = self._begin_with_stream(items, on)
        done = self._part(items[0])
        kept = all(i.kind in ("inner", "left") for i in items[1:])
        first = {items[0].flat(c) for c in items[0].relation.columns}
        early = [c for c in where if kept and (used := used_columns(c)) and used <= first]
        if early:
            done = self._narrow([done], Conditions(single=[(0, c) for c in early]))[0]
        waiting = [c for c in where if c not in early]
        for k in range(1, len(items)):
            item, more = items[k], []
            if item.kind == "inner":  # what WHERE says of an inner join may be all that bounds it
                seen = {
                    name for one in items[: k + 1] for name in (one.flat(c) for c in one.relation.columns)
                }
                safe = all(i.kind in ("inner", "left") for i in items[k:])
                more = [
                    c
                    for c in waiting
                    if safe and used_columns(c) <= seen and used_columns(c) & {item.flat(n) for n in item.relation.columns}
                ]
                waiting = [c for c in waiting if c not in more]
            done = self._join_two(done, item, item.kind, [*on[k], *more])
        return done, waiting

    def _begin_with_stream(
        self, items: Sequence[FromItem], on: list[list[exp.Expr]]
    ) -> tuple[Sequence[FromItem], list[list[exp.Expr]]]:
        """A table that is written first is looked up by what is joined to it."""
        if not is_table(items[0]):
            return items, on
        second = items[1]
        if is_table(second):
            raise self.fail(items[0].node, "write a stream before the tables it is joined with")
        kind = choose_kind({"left": "right", "right": "left"}.get(second.kind, second.kind), items[0], second.alias, self.fail)
        if second.kind in ("semi", "anti"):
            raise self.fail(items[0].node, f"{items[0].alias} is a table, whose rows cannot be results of a stream")
        return [second, replace(items[0], kind=kind), *items[2:]], [[], on[1], *on[2:]]

    def _join_two(self, left: Joined, item: FromItem, kind: str, conjuncts: list[exp.Expr]) -> Joined:
        if is_table(item):
            kind = choose_kind(kind, item, left.items[0].alias, self.fail)
            return self._look_up(left, item, kind, conjuncts)
        if is_versioned(item):
            inside = {*left.columns, *(item.flat(c) for c in item.relation.columns)}
            later = {n for c in self.conjuncts if not used_columns(c) <= inside for n in used_columns(c)}
            moment = find_moment(item, self.names, self.fail)
            return bind_temporal(
                self.graph(), self.add, self.name(), left, item, moment, kind, conjuncts, self.shown | later, self.fail
            )
        right = self._part(item)
        parts = [*map(self._part, left.items), right]
        mine, other = frozenset(range(len(left.items))), frozenset({len(left.items)})
        flipped = kind == "right"
        done, groups = ([right, left], [other, mine]) if flipped else ([left, right], [mine, other])
        kind = "left" if flipped else kind
        conditions = self._sort(parts, conjuncts, groups)
        if any(_speaks_of_windows(c) for c in conditions.rest) or any(i < 0 for i, _ in conditions.single):
            raise self.fail(item.node, "window_start and window_end are those of results: speak of them in WHERE")
        for i, one in enumerate(left.items):
            if not _comes_after(one) and self._concerns(one, left.items, conjuncts):
                self._add_windows(conditions, [one, item], [i, len(left.items)])
        kept = {"inner": (), "left": (0,), "full": (0, 1), "semi": (), "anti": (0,)}[kind]
        conditions.rest += [c for i, c in conditions.single if i in kept]
        conditions.single = [(i, c) for i, c in conditions.single if i not in kept]
        return self._join(self._narrow(done, conditions), groups, parts, conditions, kind, None, "")

    def _concerns(self, one: FromItem, items: Sequence[FromItem], conjuncts: Sequence[exp.Expr]) -> bool:
        """Whether what is joined now has to do with an item before: it speaks of it, or of none of them."""
        used = {name for c in conjuncts for name in used_columns(c)}
        named = [i for i in items if any(i.flat(c) in used for c in i.relation.columns)]
        return not named or one in named

    # -- one join --------------------
    def _join(
        self,
        done: list[Joined],
        groups: list[frozenset[int]],
        parts: list[Joined],
        conditions: Conditions,
        kind: str,
        window: Sliding | None,
        order: str,
        every: TimeBounds | None = None,
    ) -> Joined:
        """One operator: conditions are over `parts`, which `groups` assigns to the inputs `done`. `every` are the bounds of all
        parts, of which some follow only from inputs that are joined later.
        """
        place = {i: k for k, group in enumerate(groups) for i in group}
        chosen = self._choose_times(done, groups, parts, conditions)
        gaps, windows = [], []
        for gap in conditions.gaps:
            if gap.before == chosen[place[gap.before]][0] and gap.after == chosen[place[gap.after]][0]:
                gaps.append(Gap(place[gap.before], place[gap.after], gap.ticks))
            else:
                conditions.rest.append(self._spell_gap(parts, gap))
        for common in conditions.windows:
            if {common.one, common.other} == {chosen[place[common.one]][0], chosen[place[common.other]][0]}:
                windows.append(
                    CommonWindow(place[common.one], place[common.other], common.width, common.offset)
                )
            elif every is None or not self._follows(common, [c for c, _ in chosen], place, every.windows):
                conditions.rest.append(self._spell_window(parts, common))
        bounds = TimeBounds(len(done), tuple(gaps), tuple(windows))
        if every is not None:
            gaps += _implied_gaps(bounds, every, [c for c, _ in chosen])
            bounds = TimeBounds(len(done), tuple(gaps), tuple(windows))
        if bounds.find_unbounded() is not None:
            self._refuse_unbounded(done, bounds)
        if bounds.is_empty:
            raise PlanError("no rows can ever satisfy the conditions on time of this join: the band is empty")
        keys, rest = _choose_keys(conditions, place, len(done))
        condition = exp.and_(*rest, *conditions.rest) if rest or conditions.rest else None
        inputs = tuple(
            JoinInput(
                d.relation.name, d.items[0].alias, chosen[i][1], tuple(self._own(d, k) for k in keys[i])
            )
            for i, d in enumerate(done)
        )
        shown = [i for i in range(len(done)) if i == 0 or kind not in ("semi", "anti")]
        inside = {n for d in done for n in d.columns}
        wanted = self.shown | {n for c in self.conjuncts if not used_columns(c) <= inside for n in used_columns(c)}
        needed = used_columns(condition) if condition is not None else set()
        columns = [JoinColumn(n, i, c) for i, d in enumerate(done) for n, c in d.columns.items()]
        times = [find_progress(self.graph(), d.relation.name) for d in done]
        visible = tuple(
            c for c in columns if c.input in shown and (c.name in wanted or c.column in times[c.input])
        )
        hidden = tuple(c for c in columns if c not in visible and c.name in needed)
        shows = window if window is not None else self._tumbling(conditions)
        name = self.name()
        join = Join(
            name, inputs, kind, bounds, condition, visible, hidden, done[0].relation.unit, shows, order
        )
        self.add(join)
        return Joined(join, {c.name: c.name for c in visible}, tuple(i for d in done for i in d.items))

    def _tumbling(self, conditions: Conditions) -> Sliding | None:
        """The window that all inputs share, if its bounds are asked for."""
        if not self.shown & set(WINDOW_COLUMNS) or not conditions.windows:
            return None
        width, offset = conditions.windows[0].width, conditions.windows[0].offset
        return Sliding(width, range=width, origin=offset)

    def _choose_times(
        self, done: list[Joined], groups: list[frozenset[int]], parts: list[Joined], conditions: Conditions
    ) -> list[tuple[int, str]]:
        """For each input the part whose time the join goes by, the one most conditions speak of, and its column."""
        out = []
        for k, group in enumerate(groups):
            spoken = [g.before for g in conditions.gaps] + [g.after for g in conditions.gaps]
            spoken += [w.one for w in conditions.windows] + [w.other for w in conditions.windows]
            progress = find_progress(self.graph(), done[k].relation.name)
            usable = [
                i
                for i in sorted(group)
                if (t := self._time_of(parts[i])) and self._column_in(done[k], parts[i], t) in progress
            ]
            if not usable:
                raise PlanError(
                    f"{done[k].items[0].alias} has no column that carries progress, so what is kept of the join could never be "
                    "purged: keep the progressing attribute among its columns"
                )
            best = max(usable, key=spoken.count)
            time = self._time_of(parts[best])
            assert time is not None
            out.append((best, self._column_in(done[k], parts[best], time) or ""))
        return out

    def _time_of(self, part: Joined) -> str | None:
        """The column of a part that carries progress: the one its window names, or conditions with other parts speak of most."""
        if len(part.items) == 1 and _comes_after(part.items[0]):
            return None
        progress = find_progress(self.graph(), part.relation.name)
        named = list(progress)
        clause = part.items[0].node.args.get("stream_window")
        if clause is not None and clause.attribute is not None:
            wanted = clause.attribute.rpartition(".")[2].lower()
            if wanted not in {c.lower() for c in named}:
                raise self.fail_at(
                    clause.start,
                    clause.end,
                    f"{part.items[0].alias} makes progress on {', '.join(named) or 'nothing'}, not on {clause.attribute}",
                )
            return next(c for c in named if c.lower() == wanted)
        own = set(part.columns)
        spoken = [n for c in self.conjuncts if not (used := used_columns(c)) <= own for n in used]
        flat = {c: n for n, c in part.columns.items()}
        return max(named, key=lambda c: spoken.count(flat.get(c, "")), default=None)

    def _column_in(self, done: Joined, part: Joined, column: str) -> str | None:
        """A column of a part, as the joined relation has it."""
        flat = next((n for n, c in part.columns.items() if c == column), None)
        return done.columns.get(flat) if flat is not None else None

    def _own(self, done: Joined, expression: exp.Expr) -> exp.Expr:
        """An expression over the join's columns as one over those of an input."""
        return substitute(
            expression,
            {name: exp.column(exp.to_identifier(c, quoted=True)) for name, c in done.columns.items()},
        )

    def _part(self, item: FromItem) -> Joined:
        assert not isinstance(item.relation, StaticTable)
        return Joined(item.relation, {item.flat(c): c for c in item.relation.columns}, (item,))

    # -- conditions --------------------
    def _sort(
        self, parts: list[Joined], conjuncts: Sequence[exp.Expr], groups: Sequence[frozenset[int]] | None = None
    ) -> Conditions:
        """What conditions say of `parts`; where these are grouped, times are of parts, the rest is of groups."""
        place = {i: k for k, group in enumerate(groups) for i in group} if groups is not None else {}
        owner = {name: place.get(i, i) for i, part in enumerate(parts) for name in part.columns}
        times: dict[str, TimeColumn] = {}
        for i, part in enumerate(parts):
            column = self._time_of(part)
            flat = next((n for n, c in part.columns.items() if c == column), None)
            if flat is not None:
                times |= self._window_times(part, i, flat) if column == "window_end" else {flat: TimeColumn(i)}
        found = ConditionSorter(lambda name: owner.get(name, -1), times, parts[0].relation.unit).take(conjuncts)
        if groups is not None:
            first = [min(group) for group in groups]
            found.equal = [((first[i], a), (first[j], b)) for (i, a), (j, b) in found.equal]
        return found

    def _window_times(self, part: Joined, i: int, end: str) -> dict[str, TimeColumn]:
        """The columns of a windowed relation that tell its time: the window's bounds, GSQL's bucket number, and copies of
        these under other names.
        """
        times = {end: TimeColumn(i, 1)}
        for flat, column in part.columns.items():
            if (traced := self._trace_window(part.relation, column)) is not None:
                times[flat] = TimeColumn(i, *traced)
        return times

    def _trace_window(self, relation: Relation, column: str) -> tuple[int, int] | None:
        """(offset, scale) of a column that is (window_end - 1 + offset) / scale; None if it is something else."""
        if column == "window_end":
            return 1, 1
        found = next((e for n, e in getattr(relation, "outputs", ()) if n == column), None)
        if isinstance(relation, Aggregate) and relation.window is not None:
            length = relation.window.range if isinstance(relation.window, Sliding) else None
            if length is not None and column == "window_start":
                return 1 - length, 1
            if length is not None and isinstance(found, exp.Anonymous) and found.name == "_bucket":
                return 1 - length, int(found.expressions[0].this)
        if not isinstance(found, exp.Column):
            return None
        if isinstance(relation, Aggregate) and found.name not in WINDOW_COLUMNS:
            if not (found.name.startswith("k") and found.name[1:].isdigit()):
                return None
            found = relation.keys[int(found.name[1:])]
            if relation.window is not None or not isinstance(found, exp.Column):
                return None
        elif isinstance(relation, Aggregate) and relation.window is not None:
            return self._trace_window(relation, found.name) if found.name != column else None
        source = getattr(relation, "input", None)
        return self._trace_window(self.graph().relations[source], found.name) if source is not None else None

    def _narrow(self, parts: list[Joined], conditions: Conditions) -> list[Joined]:
        """Each part under the conditions that concern it alone."""
        out = []
        for i, part in enumerate(parts):
            mine = [c for k, c in conditions.single if k == i]
            if mine:
                where = both(None, self._own(part, exp.and_(*mine)))
                assert where is not None
                part = replace(part, relation=self.narrow(part.relation, where))
            out.append(part)
        return out

    def _add_windows(self, conditions: Conditions, items: Sequence[FromItem], place: Sequence[int]) -> None:
        windowed = [self.graph().is_windowed(i.relation.name) for i in items]
        add_time_clauses(conditions, items, place, windowed, self.fail_at)

    # -- words --------------------
    def _refuse_unbounded(self, parts: Sequence[Joined], bounds: TimeBounds) -> None:
        found = bounds.find_unbounded() or (0, 1)
        one, two = (parts[i].items[0] for i in found)
        graph = self.graph()
        times = [next(iter(find_progress(graph, x.relation.name)), "ts") for x in (one, two)]
        advice = _SUGGESTION.format(a=one.alias, b=two.alias, at=times[0], bt=times[1])
        raise PlanError(
            f"nothing bounds this join in time: a row of {one.alias} could meet rows of {two.alias} that come at any later time, "
            f"so it would be kept for ever; {advice}"
        )

    def _spell_time(self, parts: Sequence[Joined], i: int) -> exp.Expr:
        time = self._time_of(parts[i])
        flat = next(n for n, c in parts[i].columns.items() if c == time)
        return join_column(flat)

    def _spell_gap(self, parts: Sequence[Joined], gap: Gap) -> exp.Expr:
        """A bound that is not on the attributes the join goes by, as a condition."""
        after, before = self._spell_time(parts, gap.after), self._spell_time(parts, gap.before)
        ends = [self.graph().is_windowed(parts[i].relation.name) for i in (gap.after, gap.before)]
        ticks = gap.ticks + ends[0] - ends[1]  # windowed rows are at a tick before their end
        length: exp.Expr = exp.Literal.number(ticks)
        if parts[gap.after].relation.unit == "us":
            length = exp.Interval(this=exp.Literal.string(str(ticks)), unit=exp.var("MICROSECOND"))
        return exp.LTE(this=after, expression=exp.Add(this=before, expression=length))

    def _follows(
        self, common: CommonWindow, chosen: Sequence[int], place: dict[int, int], every: Sequence[CommonWindow]
    ) -> bool:
        """Whether a common window follows from that of the parts the join goes by: each shares it with its own."""

        def shared(one: int, other: int) -> bool:
            same = [w for w in every if (w.width, w.offset) == (common.width, common.offset)]
            return one == other or any({w.one, w.other} == {one, other} for w in same)

        first, second = chosen[place[common.one]], chosen[place[common.other]]
        return shared(first, second) and shared(common.one, first) and shared(common.other, second)

    def _spell_window(self, parts: Sequence[Joined], common: CommonWindow) -> exp.Expr:
        raise PlanError(
            "a common window of inputs that are joined one after the other is not supported: put the window on inputs that "
            "share a key, or write the band as a condition on their times"
        )


def _implied_gaps(bounds: TimeBounds, every: TimeBounds, chosen: Sequence[int]) -> list[Gap]:
    """What follows for the parts a join goes by from the bounds of all, and is tighter than its own."""
    out = []
    for i, one in enumerate(chosen):
        for j, other in enumerate(chosen):
            own, implied = bounds.within[i][j], every.within[one][other]
            if i != j and implied is not None and (own is None or implied < own):
                out.append(Gap(i, j, implied))
    return out


def _speaks_of_windows(node: exp.Expr) -> bool:
    return not used_columns(node).isdisjoint(WINDOW_COLUMNS)


def _comes_after(item: FromItem) -> bool:
    """Whether an item is looked up by what the streams give."""
    return is_table(item) or is_versioned(item)


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


Member = tuple[int, exp.Expr]


def _equality_classes(conditions: Conditions) -> list[list[Member]]:
    """Expressions that must all be equal, each with its input."""
    classes: list[list[Member]] = []
    for pair in conditions.equal:
        touched = [c for c in classes if any(m in c for m in pair)]
        merged = list({m: None for c in touched for m in c} | dict.fromkeys(pair))
        classes = [c for c in classes if c not in touched] + [merged]
    return classes


def _choose_keys(
    conditions: Conditions, place: dict[int, int], count: int
) -> tuple[list[list[exp.Expr]], list[exp.Expr]]:
    """The keys that all inputs have, by input; and the equalities that are left."""
    keys: list[list[exp.Expr]] = [[] for _ in range(count)]
    rest: list[exp.Expr] = []
    for members in _equality_classes(conditions):
        of: dict[int, list[exp.Expr]] = {}
        for i, e in members:
            of.setdefault(place[i], []).append(e)
        if len(of) == count:
            for k in range(count):
                keys[k].append(of[k][0])
            chosen = [of[k][0] for k in range(count)]
            rest += [
                exp.EQ(this=chosen[k].copy(), expression=e.copy()) for k in range(count) for e in of[k][1:]
            ]
        else:
            flat = [e for each in of.values() for e in each]
            rest += [exp.EQ(this=a.copy(), expression=b.copy()) for a, b in itertools.pairwise(flat)]
    return keys, rest
