"""An aggregation taken apart into keys, calls and outputs over them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from headrace.errors import SqlError
from headrace.logical.functions import aggregate_call, nearest_aggregate, there_is
from headrace.logical.graph import WINDOW_COLUMNS, Aggregate, Call, JointTime, Output, Relation
from headrace.logical.read_length import EXACT_UNITS
from headrace.logical.rewrite import substitute, top_down
from headrace.sql.expand_star import read_star
from headrace.sql.scope import Scope, output_name, unique, with_window, written
from headrace.sql.window_clause import GroupWindow, group_window, spell_start, tick_window
from headrace.windows import Sliding, WindowSpec


class Grouping:
    """The SELECT list, GROUP BY and HAVING of an aggregation, taken apart into keys, calls and outputs."""

    def __init__(
        self,
        scope: Scope,
        select: exp.Select,
        group: exp.Expr | None,
        bracket: WindowSpec | None,
        times: Collection[str],  # columns that carry progress
        windowed: bool,  # whether the source is
    ) -> None:
        self.scope, self.select, self.times, self.windowed = scope, select, times, windowed
        self.keys: list[exp.Expr] = []
        self.calls: list[Call] = []
        self.window: GroupWindow | None = None
        self.boxes: list[tuple[GroupWindow, exp.Expr]] = []  # windows of several times, each with the key that is its start
        self.bracket = bracket
        self.aliases = {e.alias.lower(): e.unalias() for e in select.expressions if isinstance(e, exp.Alias)}
        self.key_names: dict[str, exp.Expr] = {}
        for node in group.expressions if group is not None else ():
            self._group(node)
        if self.boxes:
            self._check_boxes()
        self._take_tick()
        # what can be a key when its names are resolved; `st.a` is a column before, and a field after
        self.key_types = {type(k) for k in self.keys} | {exp.Column}

    def _group(self, node: exp.Expr) -> None:
        name = node.alias if isinstance(node, exp.Alias) else None
        node = node.unalias()
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this)
            if not 1 <= position <= len(self.select.expressions):
                raise self.scope.fail(None, f"GROUP BY {position}: the SELECT list has no such position")
            node = self.select.expressions[position - 1].unalias()
        elif (
            isinstance(node, exp.Column)
            and not node.table
            and node.name.lower() in self.aliases
            and node.name.lower() not in self.scope.columns
        ):
            name, node = node.name, self.aliases[node.name.lower()]
        found = group_window(node, name, self.scope.source.unit, self.times, lambda m: self.scope.fail(node, m))
        if found is not None and (found.function or self.bracket is None):
            if self.window is None and not self.boxes and self.bracket is None:
                self.window = found
                return
            others = [w for w, _ in self.boxes] + ([self.window] if self.window is not None else [])
            if not all(map(self._is_box, [*others, found])) or found.attribute in {w.attribute for w in others}:
                raise self.scope.fail(
                    node, "a query has one window, this is a second one; only tumbling windows of different inputs go together"
                )
            self.boxes += [(w, self._add_start(w)) for w in (self.window, found) if w is not None]
            self.window = None
            return
        bounds = isinstance(node, exp.Column) and node.name.lower() in WINDOW_COLUMNS
        if bounds and (self.windowed or (self.bracket is not None and node.name.lower() not in self.scope.columns)):
            return  # the window, of the input or of this SELECT, is always part of the grouping
        resolved = self.scope.resolve(node)
        if resolved not in self.keys:
            self.keys.append(resolved)
        if name:
            self.key_names[name.lower()] = resolved

    def _take_tick(self) -> None:
        """`GROUP BY time` without another window is one of a single tick."""
        times = [k for k in self.keys if isinstance(k, exp.Column) and k.name in self.times]
        if not times or self.window is not None or self.boxes or self.bracket is not None or self.windowed or self.find_joint():
            return
        self.keys.remove(times[0])
        names = [n for n, key in self.key_names.items() if key == times[0]]
        self.key_names = {n: key for n, key in self.key_names.items() if n not in names}
        self.window = tick_window(times[0].name, times[0], next(iter(names), None))

    def _check_boxes(self) -> None:
        """Of several windows without a name none is `window`."""
        if sum(w.name is None for w, _ in self.boxes) > 1:
            self.boxes = [(replace(w, name=w.name or ""), key) for w, key in self.boxes]

    def _is_box(self, window: GroupWindow) -> bool:
        """Whether a window may stand beside that of another input."""
        tumbling = isinstance(window.spec, Sliding) and window.spec.tumbling
        known = window.attribute in self.times and not self.scope.source.is_over_streams
        return window.function and tumbling and known and self.bracket is None and not self.windowed

    def _add_start(self, window: GroupWindow) -> exp.Expr:
        """The start of a window as a key."""
        assert isinstance(window.spec, Sliding)
        start = spell_start(exp.column(exp.to_identifier(window.attribute, quoted=True)), window.spec, self.scope.source.unit)
        start = self.scope.resolve(start)
        self.keys.append(start)
        return start

    def find_joint(self) -> tuple[JointTime, ...]:
        """Keys that are the times of several inputs, together instead of a window."""
        if self.window is not None or self.bracket is not None or self.windowed or self.scope.source.is_over_streams:
            return ()
        found = [JointTime(i, *time) for i, key in enumerate(self.keys) if (time := self._time_key(key)) is not None]
        for window, key in self.boxes:
            assert isinstance(window.spec, Sliding)
            offset = window.spec.origin % window.spec.range
            found.append(JointTime(self.keys.index(key), window.attribute, window.spec.range, offset))
        return tuple(found) if len({t.column for t in found}) > 1 else ()

    def _time_key(self, key: exp.Expr) -> tuple[str, int] | None:
        if isinstance(key, exp.Column) and key.name in self.times:
            return key.name, 1
        if isinstance(key, exp.TimestampTrunc) and isinstance(key.this, exp.Column) and key.this.name in self.times:
            width = EXACT_UNITS.get(str(key.args["unit"].name).lower())
            return None if width is None else (key.this.name, width)
        return None

    def aggregate(self, name: str, source: Relation, on: str | None) -> Aggregate:
        outputs: list[Output] = []
        for i, e in enumerate(self.select.expressions):
            if read_star(e) is not None:
                raise self.scope.fail(e, "SELECT * with GROUP BY: name the columns")
            outputs.append((output_name(e, i), self._output(e.unalias())))
        having = self.select.args.get("having")
        condition = self._output(having.this, aliases=True) if having is not None else None
        spec = self.window.spec if self.window else self.bracket
        joint = self.find_joint()
        return Aggregate(
            name,
            source.name,
            spec,
            source.unit,
            tuple(self.keys),
            tuple(self.calls),
            unique(outputs) if joint else with_window(unique(outputs)),
            condition,
            on,
            joint,
        )

    def _output(self, node: exp.Expr, aliases: bool = False) -> exp.Expr:
        """An expression over k0…, a0… and the window columns."""

        def visit(child: exp.Expr) -> exp.Expr:
            call = aggregate_call(child, self.scope.user_defined, self.scope.fail)
            if call is not None:
                return self._call(call)
            if isinstance(child, exp.AggFunc):
                raise self.scope.fail(child, f"the aggregate {child.sql(dialect='spark')} is not supported")
            if (part := self._window_part(child)) is not None:
                return part
            resolved = self._try_key(child)
            if resolved is not None:
                return resolved
            if isinstance(child, (exp.Column, exp.Star)):
                self._check_misspelt(child)
            if isinstance(child, exp.Column):
                if aliases and not child.table and child.name.lower() in self.aliases:
                    return self._output(self.aliases[child.name.lower()])
                self.scope.column(child)
                raise self.scope.fail(
                    child,
                    f"{written(child)!r} is neither in GROUP BY nor inside an aggregate; add it to GROUP BY",
                )
            return child

        return top_down(node, visit)

    def _check_misspelt(self, argument: exp.Expr) -> None:
        """A column that is not grouped, inside something that was perhaps meant to be an aggregate."""
        call = argument.find_ancestor(exp.Anonymous)
        if call is not None and (near := nearest_aggregate(call.name, self.scope.user_defined)):
            raise self.scope.fail(call, f"there is no aggregate {call.name!r}. Did you mean {near!r}?")
        if call is not None and call.find_ancestor(exp.AggFunc) is None:
            what = f"{written(argument)!r} is neither in GROUP BY nor inside an aggregate"
            raise self.scope.fail(call, f"{what}; {call.name!r} is no aggregate." + there_is())

    def _call(self, call: Call) -> exp.Expr:
        if (inner := self.scope.aggregate_in(*call.arguments, call.where)) is not None:
            raise self.scope.fail(
                inner, "an aggregate inside an aggregate: make the inner one a query of its own and read it"
            )
        arguments = tuple(self.scope.resolve(a) for a in call.arguments)
        where = self.scope.resolve(call.where) if call.where is not None else None
        call = Call(call.function, arguments, call.parameters, call.text, where)
        if call not in self.calls:
            self.calls.append(call)
        return exp.column(f"a{self.calls.index(call)}")

    def _try_key(self, node: exp.Expr) -> exp.Expr | None:
        name = node.name.lower() if isinstance(node, exp.Column) and not node.table else ""
        if name in self.key_names and name not in self.scope.columns:
            return exp.column(f"k{self.keys.index(self.key_names[name])}")
        if type(node) not in self.key_types or isinstance(node, exp.Literal):
            return None
        try:
            resolved = self.scope.resolve(node)
        except SqlError:
            return None
        if resolved in self.keys:
            return exp.column(f"k{self.keys.index(resolved)}")
        return self._field_of_key(resolved)

    def _field_of_key(self, node: exp.Expr) -> exp.Expr | None:
        """`st.a` where the key is `st`."""
        base = node
        while isinstance(base, exp.Dot):
            base = base.this
        if base is node or base not in self.keys:
            return None
        base.replace(exp.column(f"k{self.keys.index(base)}"))
        return node

    def _window_part(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Column) and node.name.lower() in WINDOW_COLUMNS and not node.table and not self.boxes:
            return exp.column(node.name.lower())
        if self.window is not None:
            return self.window.part(node)
        for window, key in self.boxes:
            if (part := window.part(node)) is not None:
                return self._spell_box(part, window, exp.column(f"k{self.keys.index(key)}"))
        return None

    def _spell_box(self, part: exp.Expr, window: GroupWindow, start: exp.Column) -> exp.Expr:
        """A part of one window of several, over the key that is its start."""
        assert isinstance(window.spec, Sliding)
        length: exp.Expr = exp.Literal.number(window.spec.range)
        if self.scope.source.unit == "us":
            length = exp.Interval(this=exp.Literal.string(str(window.spec.range)), unit=exp.var("MICROSECOND"))
        bounds: dict[str, exp.Expr] = {"window_start": start, "window_end": exp.Add(this=start.copy(), expression=length)}
        return substitute(part, bounds)


def distinct(
    name: str,
    source: str,
    outputs: tuple[Output, ...] | tuple[str, ...],
    window: WindowSpec | None,
    unit: str,
    on: str | None = None,
) -> Aggregate:
    """SELECT DISTINCT: a grouping by all that is selected."""
    pairs = [(o, exp.column(o)) if isinstance(o, str) else o for o in outputs]
    keys: list[exp.Expr] = []
    out: list[Output] = []
    for column, e in pairs:
        if isinstance(e, exp.Column) and e.name in WINDOW_COLUMNS:
            out.append((column, e))
            continue
        if e not in keys:
            keys.append(e)
        out.append((column, exp.column(f"k{keys.index(e)}")))
    return Aggregate(name, source, window, unit, tuple(keys), (), with_window(tuple(out)), on=on)
