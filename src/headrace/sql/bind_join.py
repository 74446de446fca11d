"""A SELECT over several FROM items, or with EXISTS and IN, as joins and a SELECT over one relation.

Inner joins are pooled: their conditions, in ON or WHERE, say together which keys are equal and how near rows are in time, and
the order they are joined in is chosen (`logical/order_joins.py`). Outer joins are taken as written, from the left. EXISTS,
IN and NOT EXISTS are semi- and anti-joins of what FROM gives with what the sub-select reads. What concerns one input alone is
applied to that input, before anything is kept.

A join that nothing bounds in time is refused: its state could never be purged (document 003, section 5.2).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from headrace.errors import PlanError, SqlError
from headrace.logical.graph import WINDOW_COLUMNS, Aggregate, Graph, Join, JoinColumn, JoinInput, Relation
from headrace.logical.order_joins import JoinStep, order_joins
from headrace.logical.progress_columns import find_progress
from headrace.logical.rewrite import both, substitute
from headrace.logical.time_bounds import CommonWindow, Gap, TimeBounds
from headrace.sql.join_conditions import Conditions, ConditionSorter, TimeColumn, split_conjuncts
from headrace.sql.join_names import FromItem, JoinNames, join_column
from headrace.sql.join_windows import add_time_clauses, find_common_window
from headrace.windows import Sliding

_SUGGESTION = (
    "bound it in time, like {b}.{bt} BETWEEN {a}.{at} - INTERVAL 5 MINUTES AND {a}.{at} + INTERVAL 5 MINUTES, or by windows, "
    "like {a} [RANGE 5 MINUTES], {b} [RANGE 5 MINUTES]"
)
_SECOND = 1_000_000


@dataclass
class Joined:
    """What FROM has given so far: a relation, and which columns of the join it has under which names."""

    relation: Relation
    columns: dict[str, str]  # name in the join -> column of the relation
    items: tuple[FromItem, ...]


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
        self._check_items(items)
        window = find_common_window(items, self.fail_at)
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
        } | ({n for c in plain for n in _used(c)} if outer else set())
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
            done = self._join_two(done, item, kind, conditions, [])
        select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
        select.set("joins", None)
        return self._rename(done), select

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
        units = {i.relation.unit for i in items}
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
        parts = [self._part(item) for item in items]
        conditions = self._sort(parts, [c for each in on for c in each] + where)
        self._add_windows(conditions, items, range(len(items)))
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
        return self._build(tree, parts, conditions, window, order)

    def _build(
        self, tree: JoinStep, parts: list[Joined], conditions: Conditions, window: Sliding | None, order: str
    ) -> tuple[Joined, list[exp.Expr]]:
        """The joins of a tree, from its leaves."""
        done: list[Joined] = []
        groups: list[frozenset[int]] = []
        for part in tree.parts:
            if isinstance(part, JoinStep):
                done.append(self._build(part, parts, conditions, None, "")[0])
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
        joined = self._join(done, groups, parts, mine, "inner", window, order)
        left = [c for c in conditions.rest if not any(x.name in owner for x in c.find_all(exp.Column))]
        return joined, left

    # -- outer joins, semi-joins --------------------
    def _sequence(
        self, items: Sequence[FromItem], on: list[list[exp.Expr]], where: list[exp.Expr]
    ) -> tuple[Joined, list[exp.Expr]]:
        """Joins as written, from the left; WHERE comes after them."""
        done = self._part(items[0])
        kept = all(i.kind in ("inner", "left") for i in items[1:])
        first = {items[0].flat(c) for c in items[0].relation.columns}
        early = [c for c in where if kept and (used := _used(c)) and used <= first]
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
                    if safe and _used(c) <= seen and _used(c) & set(self._part(item).columns)
                ]
                waiting = [c for c in waiting if c not in more]
            done = self._join_two(done, item, item.kind, [*on[k], *more], items[:k])
        return done, waiting

    def _join_two(
        self, left: Joined, item: FromItem, kind: str, conjuncts: list[exp.Expr], before: Sequence[FromItem]
    ) -> Joined:
        right = self._part(item)
        parts = [right, left] if kind == "right" else [left, right]
        kind = "left" if kind == "right" else kind
        flipped = parts[0] is right
        conditions = self._sort(parts, conjuncts)
        for one in before:
            self._add_windows(conditions, [one, item], [int(flipped), 1 - int(flipped)])
        kept = {"inner": (), "left": (0,), "full": (0, 1), "semi": (), "anti": (0,)}[kind]
        conditions.rest += [c for i, c in conditions.single if i in kept]
        conditions.single = [(i, c) for i, c in conditions.single if i not in kept]
        parts = self._narrow(parts, conditions)
        return self._join(parts, [frozenset({0}), frozenset({1})], parts, conditions, kind, None, "")

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
    ) -> Joined:
        """One operator: conditions are over `parts`, which `groups` assigns to the inputs `done`."""
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
            else:
                conditions.rest.append(self._spell_window(parts, common))
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
        wanted = self.shown | {n for c in self.conjuncts if not _used(c) <= inside for n in _used(c)}
        needed = _used(condition) if condition is not None else set()
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
        """The column of a part that carries progress."""
        progress = find_progress(self.graph(), part.relation.name)
        named = list(progress)
        clause = part.items[0].node.args.get("stream_window") if len(part.items) == 1 else None
        if clause is not None and clause.attribute is not None:
            wanted = clause.attribute.rpartition(".")[2].lower()
            if wanted not in {c.lower() for c in named}:
                raise self.fail_at(
                    clause.start,
                    clause.end,
                    f"{part.items[0].alias} makes progress on {', '.join(named) or 'nothing'}, not on {clause.attribute}",
                )
            return next(c for c in named if c.lower() == wanted)
        return named[0] if named else None

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
        return Joined(item.relation, {item.flat(c): c for c in item.relation.columns}, (item,))

    def _rename(self, done: Joined) -> Relation:
        """The relation, its columns under the names of the join."""
        if all(name == column for name, column in done.columns.items()):
            return done.relation
        raise PlanError("a query over one input has nothing to join")  # pragma: no cover

    # -- conditions --------------------
    def _sort(self, parts: list[Joined], conjuncts: Sequence[exp.Expr]) -> Conditions:
        owner = {name: i for i, part in enumerate(parts) for name in part.columns}
        times: dict[str, TimeColumn] = {}
        for i, part in enumerate(parts):
            for column in find_progress(self.graph(), part.relation.name):
                flat = next((n for n, c in part.columns.items() if c == column), None)
                if flat is not None:
                    times |= (
                        self._window_times(part, i, flat) if column == "window_end" else {flat: TimeColumn(i)}
                    )
        sorter = ConditionSorter(lambda name: owner.get(name, -1), times, parts[0].relation.unit)
        return sorter.take(conjuncts)

    def _window_times(self, part: Joined, i: int, end: str) -> dict[str, TimeColumn]:
        """The columns of a windowed relation that tell its time: the window's bounds, and GSQL's bucket number."""
        times = {end: TimeColumn(i, 1)}
        aggregate = self._aggregate_of(part.relation)
        if aggregate is not None and isinstance(aggregate.window, Sliding):
            length = aggregate.window.range
            prefix = end.removesuffix("window_end")
            times[f"{prefix}window_start"] = TimeColumn(i, 1 - length)
            for name, e in aggregate.outputs:
                if isinstance(e, exp.Anonymous) and e.name == "_bucket" and aggregate is part.relation:
                    times[f"{prefix}{name}"] = TimeColumn(i, 1 - length, int(e.expressions[0].this))
        return times

    def _aggregate_of(self, relation: Relation) -> Aggregate | None:
        """The aggregation whose windows a relation shows, if there is one."""
        while not isinstance(relation, Aggregate) or relation.window is None:
            source = getattr(relation, "input", None)
            if source is None:
                return None
            relation = self.graph().relations[source]
        return relation

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
        length: exp.Expr = exp.Literal.number(gap.ticks)
        if parts[gap.after].relation.unit == "us":
            length = exp.Interval(this=exp.Literal.string(str(gap.ticks)), unit=exp.var("MICROSECOND"))
        return exp.LTE(this=after, expression=exp.Add(this=before, expression=length))

    def _spell_window(self, parts: Sequence[Joined], common: CommonWindow) -> exp.Expr:
        raise PlanError(
            "a common window of inputs that are joined one after the other is not supported: put the window on inputs that "
            "share a key, or write the band as a condition on their times"
        )


def _used(node: exp.Expr) -> set[str]:
    return {c.name for c in node.find_all(exp.Column)}


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
