"""Statements to the query graph: names resolved, windows in ticks, what can never end refused.

`Binder` keeps the streams and relations known so far. Binding a query flattens what is stateless into raw
relations, gives sub-selects and the arms of unions names of their own, and checks the two promises of
DESIGN §4.4: a query must be able to emit (its window must rest on a progressing attribute) and must be able
to purge its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from headrace.errors import HeadraceError, PlanError, SqlError
from headrace.logical.functions import NAMES, aggregate_call
from headrace.logical.plan import (
    WINDOW_COLUMNS,
    Aggregate,
    Branch,
    Call,
    Derive,
    Graph,
    Merge,
    Output,
    Raw,
    Relation,
    Stream,
)
from headrace.progress import Ordered, Slack
from headrace.sql.source import error, suggest
from headrace.sql.statements import CreateQuery, CreateStream
from headrace.sql.window_clause import GroupWindow, bracket_window, group_window
from headrace.windows import WindowSpec, ticks

_INTEGERS = {"tinyint", "smallint", "int", "bigint", "byte", "short", "integer", "long"}
_TIMES = {"timestamp", "timestamp_ltz", "timestamp_ntz", "date"}
_REFUSED = {
    "order": "ORDER BY: results are published once, in any order; order them when you read them",
    "limit": "LIMIT: a continuous query has no last row to count to",
    "offset": "OFFSET: a continuous query has no order to skip in",
    "laterals": "LATERAL VIEW is not supported",
    "qualify": "QUALIFY is not supported",
    "windows": "a WINDOW clause is not supported",
    "sort": "SORT BY: results are published once, in any order; order them when you read them",
}


def unit_of(type_: str) -> str | None:
    """'us' for times, 'int' for integers, None for types that cannot make progress."""
    base = type_.strip().lower()
    return "us" if base in _TIMES else "int" if base in _INTEGERS else None


class Binder:
    """Everything registered so far, and the rules by which one more query joins it."""

    def __init__(self, user_defined: Iterable[str] = ()) -> None:
        self.streams: dict[str, Stream] = {}
        self.relations: dict[str, Relation] = {}
        self.queries: dict[str, str] = {}
        self.user_defined = list(user_defined)
        if taken := [n for n in self.user_defined if n.lower() in NAMES]:
            raise SqlError(f"the aggregate {taken[0]!r} is built in; give yours another name")
        self._script = ""
        self._query = ""
        self._anonymous = 0

    def graph(self) -> Graph:
        return Graph(dict(self.streams), dict(self.relations), dict(self.queries))

    # -- streams --------------------
    def create_stream(self, statement: CreateStream) -> Stream:
        columns = tuple((c.name, c.type) for c in statement.columns)
        stream = self.make_stream(statement.name, columns, statement.on, statement.slack, statement.horizon)
        stream = Stream(
            **{**stream.__dict__, "format": statement.format, "options": tuple(statement.options.items())}
        )
        return self.add_stream(stream)

    def make_stream(
        self,
        name: str,
        columns: tuple[tuple[str, str], ...],
        on: str,
        slack: str | int | None,
        horizon: str | int | None,
    ) -> Stream:
        lowered = [c.lower() for c, _ in columns]
        if doubled := {c for c in lowered if lowered.count(c) > 1}:
            raise SqlError(f"stream {name}: column {sorted(doubled)[0]!r} is declared twice")
        if reserved := set(lowered) & set(WINDOW_COLUMNS):
            raise SqlError(
                f"stream {name}: {sorted(reserved)[0]!r} is the name of a result column; rename it"
            )
        known = {c.lower(): (c, t) for c, t in columns}
        if on.lower() not in known:
            raise SqlError(
                f"stream {name}: the progressing attribute {on!r} is not a column."
                + suggest(on, [c for c, _ in columns])
            )
        column, type_ = known[on.lower()]
        unit = unit_of(type_)
        if unit is None:
            raise SqlError(
                f"stream {name}: {column} is {type_}, but a progressing attribute is a TIMESTAMP, a DATE "
                "or an integer"
            )
        try:
            policy = Ordered() if slack is None else Slack(ticks(slack, unit))  # type: ignore[arg-type]
            ahead = ticks(horizon, unit) if horizon is not None else None  # type: ignore[arg-type]
        except HeadraceError as e:
            raise SqlError(f"stream {name}: {e}") from e
        if ahead is None and unit == "us":
            ahead = ticks("1 day", "us")
        return Stream(name, columns, column, unit, policy, ahead)

    def add_stream(self, stream: Stream) -> Stream:
        self._new_name(stream.name)
        self.streams[stream.name] = stream
        columns = tuple((c, exp.column(c)) for c, _ in stream.columns)
        self.relations[stream.name] = Raw(
            stream.name, (Branch(stream.name, None, columns),), stream.on, stream.unit
        )
        return stream

    # -- queries --------------------
    def create_query(self, statement: CreateQuery) -> Relation:
        self._new_name(statement.name)
        self._script, self._query, self._anonymous = statement.script, statement.name, 0
        before = dict(self.relations)
        try:
            relation = self._body(statement.body, statement.name)
        except HeadraceError as e:
            self.relations = before
            if str(e).startswith("query "):
                raise
            raise type(e)(f"query {statement.name}: {e}") from e
        self.queries[statement.name] = statement.text
        return relation

    def drop_query(self, name: str) -> None:
        self.queries.pop(name)

    def _new_name(self, name: str) -> None:
        taken = {n.lower() for n in [*self.streams, *self.queries]}
        if name.lower() in taken:
            raise SqlError(f"the name {name!r} is taken by another stream or query")

    def _fail(self, node: exp.Expr | None, message: str) -> SqlError:
        places = [
            (i.meta["start"], i.meta["end"])
            for i in (
                node.find_all(exp.Identifier, exp.Column, exp.Anonymous, exp.Func) if node is not None else ()
            )
            if "start" in i.meta
        ]
        if not places:
            return SqlError(message + (f"\n  in: {node.sql(dialect='spark')}" if node is not None else ""))
        return error(self._script, min(p[0] for p in places), max(p[1] for p in places), message)

    def _body(self, body: exp.Expr, name: str) -> Relation:
        if isinstance(body, exp.Subquery):
            return self._body(body.this, name)
        if body.args.get("with_") or body.args.get("with"):
            raise self._fail(
                None, "WITH is not supported: register the part as a query of its own and read it by name"
            )
        for key, why in _REFUSED.items():
            if body.args.get(key):
                raise self._fail(body.args[key] if isinstance(body.args[key], exp.Expr) else None, why)
        if isinstance(body, exp.Union):
            return self._union(body, name)
        if not isinstance(body, exp.Select):
            raise self._fail(
                None, f"{body.key.upper()} is not supported: a query is a SELECT or a UNION ALL of SELECTs"
            )
        relation = self._select(body, name)
        self.relations[name] = relation
        return relation

    def _name_part(self) -> str:
        self._anonymous += 1
        return f"{self._query}${self._anonymous}"

    def _union(self, body: exp.Union, name: str) -> Relation:
        if body.args.get("distinct"):
            raise self._fail(None, "UNION removes duplicates, which needs all rows for ever: write UNION ALL")
        arms: list[exp.Expr] = []
        todo: list[exp.Expr] = [body]
        while todo:
            part = todo.pop()
            if isinstance(part, exp.Union) and not part.args.get("distinct"):
                todo += [part.expression, part.this]
            else:
                arms.append(part)
        parts = [self._body(arm, self._name_part()) for arm in arms]
        width = {len(p.columns) for p in parts}
        if len(width) > 1:
            raise self._fail(None, f"the arms of UNION ALL have {sorted(width)} columns; they must agree")
        relation: Relation
        raws = [p for p in parts if isinstance(p, Raw)]
        if len(raws) == len(parts):
            names = raws[0].columns
            branches = tuple(
                Branch(b.stream, b.where, tuple(zip(names, [e for _, e in b.columns], strict=True)))
                for raw in raws
                for b in raw.branches
            )
            times = {raw.columns.index(raw.time) if raw.time else None for raw in raws}
            units = {raw.unit for raw in raws}
            at = times.pop() if len(times) == 1 and len(units) == 1 else None
            relation = Raw(name, branches, None if at is None else names[at], raws[0].unit)
        elif raws:
            raise PlanError(
                "UNION ALL of rows with windows and rows without: give all arms a window, or none"
            )
        else:
            parts = [
                p if p.columns == parts[0].columns else self._renamed(p, parts[0].columns) for p in parts
            ]
            if len({p.unit for p in parts}) > 1:
                raise PlanError(
                    "UNION ALL of windows over timestamps and windows over integers: they have no common time"
                )
            relation = Merge(name, tuple(p.name for p in parts), parts[0].unit, parts[0].columns)
        self.relations[name] = relation
        return relation

    def _renamed(self, relation: Relation, columns: tuple[str, ...]) -> Relation:
        """An arm of a union under the names of the first one."""
        outputs = tuple((new, exp.column(old)) for new, old in zip(columns, relation.columns, strict=True))
        if any(
            (new in WINDOW_COLUMNS or old.name in WINDOW_COLUMNS) and new != old.name for new, old in outputs
        ):
            raise self._fail(
                None,
                f"the arms of UNION ALL have their window columns in different places: "
                f"({', '.join(columns)}) and ({', '.join(relation.columns)}); list the same columns "
                "in the same order",
            )
        renamed = Derive(self._name_part(), relation.name, relation.unit, outputs, None)
        self.relations[renamed.name] = renamed
        return renamed

    def _source(self, select: exp.Select) -> tuple[Relation, exp.Expr]:
        source = select.args.get("from_") or select.args.get("from")
        if source is None:
            raise self._fail(None, "a query needs FROM a stream or a query")
        if select.args.get("joins"):
            raise self._fail(select.args["joins"][0], "joins are not supported yet; read one stream or query")
        node = source.this
        if isinstance(node, exp.Subquery):
            return self._body(node.this, self._name_part()), node
        if not isinstance(node, exp.Table):
            raise self._fail(node, "FROM takes a stream, a query or a sub-select")
        found = {n.lower(): n for n in self.relations if "$" not in n}
        if node.db or node.name.lower() not in found:
            raise self._fail(
                node, f"there is no stream or query {node.sql()!r}." + suggest(node.name, found.values())
            )
        return self.relations[found[node.name.lower()]], node

    def _select(self, select: exp.Select, name: str) -> Relation:
        source, node = self._source(select)
        alias = node.alias_or_name
        clause = node.args.get("stream_window")
        scope = _Scope(self, source, alias)
        where = scope.resolve(select.args["where"].this) if select.args.get("where") else None
        if where is not None and (bad := self._aggregate_in(where)) is not None:
            raise self._fail(bad, "an aggregate in WHERE: use HAVING")
        group = select.args.get("group")
        if group is not None and any(
            group.args.get(k) for k in ("rollup", "cube", "grouping_sets", "all", "totals")
        ):
            raise self._fail(
                group, "GROUP BY takes expressions; ROLLUP, CUBE and GROUPING SETS are not supported"
            )
        grouped = (
            group is not None
            or self._aggregate_in(*select.expressions, select.args.get("having")) is not None
        )
        window: WindowSpec | None = None
        attribute = None
        if clause is not None:
            window = bracket_window(
                clause, source.unit, lambda m: error(self._script, clause.start, clause.end, m)
            )
            attribute = clause.attribute
        if not grouped and not select.args.get("distinct"):
            if select.args.get("having"):
                raise self._fail(select.args["having"], "HAVING without GROUP BY or an aggregate: use WHERE")
            if window is not None:
                raise PlanError(
                    "a window with nothing to aggregate: add GROUP BY, an aggregate or DISTINCT, "
                    "or leave the window out"
                )
            return self._stateless(name, source, scope, select, where)
        items = _Items(scope, select, group, window)
        window = items.window.spec if items.window else window
        attribute = items.window.attribute if items.window else attribute
        self._check_window(source, window, attribute, select)
        if where is not None:
            source = self._filtered(source, where)
        if grouped:
            aggregate = items.aggregate(name, source)
            if not select.args.get("distinct"):
                return aggregate
            inner = Aggregate(**{**aggregate.__dict__, "name": self._name_part()})
            self.relations[inner.name] = inner
            return _distinct(name, inner.name, inner.columns, None, inner.unit)
        outputs = scope.outputs(select.expressions)
        return _distinct(name, source.name, outputs, window, source.unit)

    def _aggregate_in(self, *nodes: exp.Expr | None) -> exp.Expr | None:
        for node in nodes:
            for child in node.walk() if node is not None else ():
                if aggregate_call(child, self.user_defined) is not None:
                    return child
                if isinstance(child, exp.AggFunc):
                    raise self._fail(
                        child,
                        f"the aggregate {child.sql(dialect='spark')} is not supported."
                        + suggest(child.key, NAMES),
                    )
        return None

    def _check_window(
        self, source: Relation, window: WindowSpec | None, attribute: str | None, select: exp.Select
    ) -> None:
        if not isinstance(source, Raw):
            if attribute and attribute.lower() not in WINDOW_COLUMNS:
                raise PlanError(
                    f"the window is on {attribute!r}, but {source.name} makes progress by its own windows; "
                    "leave the attribute out"
                )
            return
        if window is None:
            raise PlanError(
                f"no window: the aggregate over {source.name} would never be complete, "
                "and its state never purged. "
                "Write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or RANGE ALL for a landmark window"
            )
        if source.time is None:
            raise PlanError(
                f"{source.name} has no progressing attribute left (it is not among its columns), so the "
                "window could never close: keep it in the SELECT of " + source.name
            )
        if attribute is not None and attribute.lower() != source.time.lower():
            raise PlanError(
                f"the window is on {attribute!r}, but {source.name} makes progress on {source.time!r}, "
                f"so it could never close: put the window on {source.time}"
            )

    def _filtered(self, source: Relation, where: exp.Expr) -> Relation:
        """The source under a WHERE, as a relation of its own."""
        relation: Relation
        if isinstance(source, Raw):
            branches = tuple(
                Branch(b.stream, _and(b.where, _substitute(where, dict(b.columns))), b.columns)
                for b in source.branches
            )
            relation = Raw(self._name_part(), branches, source.time, source.unit)
        else:
            outputs = tuple((c, exp.column(c)) for c in source.columns)
            relation = Derive(self._name_part(), source.name, source.unit, outputs, where)
        self.relations[relation.name] = relation
        return relation

    def _stateless(
        self, name: str, source: Relation, scope: _Scope, select: exp.Select, where: exp.Expr | None
    ) -> Relation:
        outputs = scope.outputs(select.expressions)
        if not isinstance(source, Raw):
            return Derive(name, source.name, source.unit, _with_window(outputs), where)
        time = next((n for n, e in outputs if isinstance(e, exp.Column) and e.name == source.time), None)
        branches = []
        for b in source.branches:
            inner = dict(b.columns)
            branches.append(
                Branch(
                    b.stream,
                    _and(b.where, _substitute(where, inner) if where is not None else None),
                    tuple((n, _substitute(e, inner)) for n, e in outputs),
                )
            )
        return Raw(name, tuple(branches), time, source.unit)


class _Scope:
    """Column names of one FROM item."""

    def __init__(self, binder: Binder, source: Relation, alias: str) -> None:
        self.binder = binder
        self.source = source
        self.alias = alias
        self.columns = {c.lower(): c for c in source.columns}

    def resolve(
        self, node: exp.Expr, extra: Callable[[exp.Column], exp.Expr | None] | None = None
    ) -> exp.Expr:
        """A copy of `node` with every column checked and spelled as declared."""

        def visit(child: exp.Expr) -> exp.Expr:
            if isinstance(child, (exp.Subquery, exp.Select)):
                raise self.binder._fail(child, "a sub-select in an expression is not supported")
            if isinstance(child, exp.Window):
                raise self.binder._fail(child, "OVER (…) is not supported: group by a window instead")
            if not isinstance(child, exp.Column):
                return child
            if extra is not None and (replaced := extra(child)) is not None:
                return replaced
            return self.column(child)

        return node.copy().transform(visit)

    def column(self, node: exp.Column) -> exp.Expr:
        name, table = node.name, node.table
        if name.lower() in self.columns and (
            not table or table.lower() in (self.alias.lower(), self.source.name.lower())
        ):
            return exp.column(self.columns[name.lower()])
        if table and table.lower() in self.columns:  # a field of a struct column
            return exp.Dot(this=exp.column(self.columns[table.lower()]), expression=exp.to_identifier(name))
        raise self.binder._fail(
            node, f"{self.source.name} has no column {node.sql()!r}." + suggest(name, self.columns.values())
        )

    def outputs(self, expressions: Iterable[exp.Expr]) -> tuple[Output, ...]:
        """A SELECT list without aggregates: stars expanded, names given."""
        out: list[Output] = []
        for i, e in enumerate(expressions):
            if isinstance(e, exp.Star) or (isinstance(e, exp.Column) and isinstance(e.this, exp.Star)):
                out += [(c, exp.column(c)) for c in self.source.columns]
            else:
                out.append((output_name(e, i), self.resolve(e.unalias())))
        return _unique(out, self.binder._query)


class _Items:
    """The SELECT list, GROUP BY and HAVING of an aggregation, taken apart into keys, calls and outputs."""

    def __init__(
        self, scope: _Scope, select: exp.Select, group: exp.Expr | None, bracket: WindowSpec | None
    ) -> None:
        self.scope, self.select = scope, select
        self.binder = scope.binder
        self.keys: list[exp.Expr] = []
        self.calls: list[Call] = []
        self.window: GroupWindow | None = None
        self.bracket = bracket
        self.aliases = {e.alias.lower(): e.unalias() for e in select.expressions if isinstance(e, exp.Alias)}
        self.key_names: dict[str, exp.Expr] = {}
        for node in group.expressions if group is not None else ():
            self._group(node)

    def _group(self, node: exp.Expr) -> None:
        name = node.alias if isinstance(node, exp.Alias) else None
        node = node.unalias()
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this)
            if not 1 <= position <= len(self.select.expressions):
                raise self.binder._fail(None, f"GROUP BY {position}: the SELECT list has no such position")
            node = self.select.expressions[position - 1].unalias()
        elif (
            isinstance(node, exp.Column)
            and not node.table
            and node.name.lower() in self.aliases
            and node.name.lower() not in self.scope.columns
        ):
            name, node = node.name, self.aliases[node.name.lower()]
        source = self.scope.source
        time = source.time if isinstance(source, Raw) else None
        found = group_window(node, name, source.unit, time, lambda m: self.binder._fail(node, m))
        if found is not None and (found.function or self.bracket is None):
            if self.window is not None or self.bracket is not None:
                raise self.binder._fail(node, "a query has one window, this is a second one")
            self.window = found
            return
        if (
            not isinstance(source, Raw)
            and isinstance(node, exp.Column)
            and node.name.lower() in WINDOW_COLUMNS
        ):
            return  # the window of the input is always part of the grouping
        resolved = self.scope.resolve(node)
        if resolved not in self.keys:
            self.keys.append(resolved)
        if name:
            self.key_names[name.lower()] = resolved

    def aggregate(self, name: str, source: Relation) -> Aggregate:
        outputs: list[Output] = []
        for i, e in enumerate(self.select.expressions):
            if isinstance(e, exp.Star):
                raise self.binder._fail(None, "SELECT * with GROUP BY: name the columns")
            column = output_name(e, i)
            if column == "window" and self.window is not None:
                column = "window"
            outputs.append((column, self._output(e.unalias())))
        having = self.select.args.get("having")
        condition = self._output(having.this, aliases=True) if having is not None else None
        spec = self.window.spec if self.window else self.bracket
        return Aggregate(
            name,
            source.name,
            spec,
            source.unit,
            tuple(self.keys),
            tuple(self.calls),
            _with_window(_unique(outputs, self.binder._query)),
            condition,
        )

    def _output(self, node: exp.Expr, aliases: bool = False) -> exp.Expr:
        """An expression over k0…, a0… and the window columns."""

        def visit(child: exp.Expr) -> exp.Expr:
            call = aggregate_call(child, self.binder.user_defined)
            if call is not None:
                return self._call(child, call)
            if isinstance(child, exp.AggFunc):
                raise self.binder._fail(child, f"the aggregate {child.sql(dialect='spark')} is not supported")
            if (part := self._window_part(child)) is not None:
                return part
            resolved = self._try_key(child)
            if resolved is not None:
                return resolved
            if isinstance(child, exp.Column):
                if aliases and not child.table and child.name.lower() in self.aliases:
                    return self._output(self.aliases[child.name.lower()])
                self.scope.column(child)
                raise self.binder._fail(
                    child,
                    f"{child.sql()!r} is neither in GROUP BY nor inside an aggregate; add it to GROUP BY",
                )
            return child

        return _transform_top_down(node, visit)

    def _call(self, node: exp.Expr, call: Call) -> exp.Expr:
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
        if isinstance(node, (exp.Literal, exp.Identifier, exp.DataType)):
            return None
        try:
            resolved = self.scope.resolve(node)
        except SqlError:
            return None
        return exp.column(f"k{self.keys.index(resolved)}") if resolved in self.keys else None

    def _window_part(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Column) and node.name.lower() in WINDOW_COLUMNS and not node.table:
            return exp.column(node.name.lower())
        return self.window.part(node) if self.window is not None else None


def output_name(node: exp.Expr, position: int) -> str:
    """The name of a SELECT item: its alias, its column, or Spark-like text."""
    if isinstance(node, (exp.Alias, exp.Column)):
        return node.alias_or_name
    return node.alias_or_name or node.sql(dialect="spark").lower().replace("`", "") or f"_c{position}"


def _unique(outputs: list[Output], query: str) -> tuple[Output, ...]:
    names = [n.lower() for n, _ in outputs]
    if doubled := [n for n in names if names.count(n) > 1]:
        raise SqlError(f"two result columns are called {doubled[0]!r}; give one of them another name with AS")
    return tuple(outputs)


def _with_window(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    present = {n.lower() for n, _ in outputs}
    return outputs + tuple((c, exp.column(c)) for c in WINDOW_COLUMNS if c not in present)


def _distinct(
    name: str,
    source: str,
    outputs: tuple[Output, ...] | tuple[str, ...],
    window: WindowSpec | None,
    unit: str,
) -> Aggregate:
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
    return Aggregate(name, source, window, unit, tuple(keys), (), _with_window(tuple(out)))


def _and(left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    if left is None or right is None:
        return right if left is None else left
    return exp.and_(left.copy(), right.copy())


def _substitute(node: exp.Expr, columns: dict[str, exp.Expr]) -> exp.Expr:
    def visit(child: exp.Expr) -> exp.Expr:
        if isinstance(child, exp.Column) and child.name in columns:
            inner = columns[child.name].copy()
            return inner if isinstance(inner, (exp.Column, exp.Literal, exp.Func)) else exp.paren(inner)
        return child

    return _transform_top_down(node, visit)


def _transform_top_down(
    node: exp.Expr, visit: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr:
    """Replace from the root; what is replaced is not visited again."""
    new = visit(node)
    if new is not node:
        return new
    new = node.copy()
    for key, value in list(new.args.items()):
        if isinstance(value, exp.Expr):
            new.set(key, _transform_top_down(value, visit))
        elif isinstance(value, list):
            new.set(
                key, [_transform_top_down(v, visit) if isinstance(v, exp.Expr) else v for v in value]
            )
    return new
