"""Statements to the query graph: names resolved, windows in ticks.

`Binder` keeps the streams and relations known so far. Binding a query flattens what is stateless into raw
relations and gives sub-selects and the arms of unions names of their own. Whether a query can ever emit, and
purge its state, is for the planner to say (`optimizer/check_plan.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from headrace.errors import HeadraceError, PlanError, SqlError
from headrace.logical.functions import NAMES, nearest_aggregate
from headrace.logical.graph import (
    WINDOW_COLUMNS,
    Aggregate,
    Branch,
    Derive,
    Graph,
    Merge,
    Relation,
    Rows,
    Stream,
)
from headrace.sql.declare import columns_of, declared_stream
from headrace.sql.error_places import error, suggest
from headrace.sql.grouping import Grouping, distinct
from headrace.sql.names import check_new_name, fold_name
from headrace.sql.rewrite import both, substitute
from headrace.sql.scope import Scope, with_window, written
from headrace.sql.statements import CreateQuery, CreateStream, Statement
from headrace.sql.window_clause import bracket_window
from headrace.windows import WindowSpec

_REFUSED = {
    "order": "ORDER BY: results are published once, in any order; order them when you read them",
    "limit": "LIMIT: a continuous query has no last row to count to",
    "offset": "OFFSET: a continuous query has no order to skip in",
    "laterals": "LATERAL VIEW is not supported",
    "qualify": "QUALIFY is not supported",
    "windows": "a WINDOW clause is not supported",
    "sort": "SORT BY: results are published once, in any order; order them when you read them",
}


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

    def create(self, statement: Statement) -> None:
        if isinstance(statement, CreateStream):
            self.create_stream(statement)
        else:
            self.create_query(statement)

    # -- streams --------------------
    def create_stream(self, statement: CreateStream) -> Stream:
        self._script = statement.script
        columns = columns_of(statement)
        stream = declared_stream(statement.name, columns, statement.on, statement.progress)
        stream = Stream(
            **{**stream.__dict__, "format": statement.format, "options": tuple(statement.options.items())}
        )
        return self.add_stream(stream)

    def add_stream(self, stream: Stream) -> Stream:
        self._new_name(stream.name)
        columns = tuple((c, exp.column(c)) for c, _ in stream.columns)
        rows = Rows(stream.name, (Branch(stream.name, None, columns),), stream.on, stream.unit)
        if stream.mark is not None:
            scope = Scope(rows, stream.name, self._fail, self.user_defined)
            if (bad := scope.aggregate_in(stream.mark)) is not None:
                raise self._fail(bad, f"stream {stream.name}: a row punctuates by its own columns, not by an aggregate")
            mark = scope.resolve(stream.mark)
            stream = replace(stream, mark=mark)
            if not stream.marks_are_data:
                others = exp.not_(exp.Coalesce(this=exp.paren(mark), expressions=[exp.false()]))
                rows = replace(rows, branches=(Branch(stream.name, others, columns),))
        self.streams[stream.name] = stream
        self.relations[stream.name] = rows
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

    def _new_name(self, name: str) -> None:
        check_new_name(name, [*self.streams, *self.queries])

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
        relation: Relation
        raws = [p for p in parts if isinstance(p, Rows)]
        if raws and len(raws) < len(parts):
            raise PlanError(
                "UNION ALL of rows with windows and rows without: give all arms a window, or none"
            )
        if other := next((p for p in parts if len(p.columns) != len(parts[0].columns)), None):
            raise self._fail(
                None,
                f"the arms of UNION ALL have different widths, ({', '.join(parts[0].columns)}) and "
                f"({', '.join(other.columns)})",
            )
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
            relation = Rows(name, branches, None if at is None else names[at], raws[0].unit)
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
        found = {fold_name(n): n for n in self.relations if "$" not in n}
        if node.db or fold_name(node.name) not in found:
            raise self._fail(
                node, f"there is no stream or query {written(node)!r}." + suggest(node.name, found.values())
            )
        return self.relations[found[fold_name(node.name)]], node

    def _select(self, select: exp.Select, name: str) -> Relation:
        source, node = self._source(select)
        alias = node.alias_or_name
        clause = node.args.get("stream_window")
        scope = Scope(source, alias, self._fail, self.user_defined)
        where = scope.resolve(select.args["where"].this) if select.args.get("where") else None
        if where is not None and (bad := scope.aggregate_in(where)) is not None:
            raise self._fail(bad, "an aggregate in WHERE: use HAVING")
        group = select.args.get("group")
        sets = (exp.Rollup, exp.Cube, exp.GroupingSets)
        if group is not None and (
            any(group.args.get(k) for k in ("rollup", "cube", "grouping_sets", "all", "totals"))
            or any(isinstance(e, sets) for e in group.expressions)
        ):
            raise self._fail(
                group, "GROUP BY takes expressions; ROLLUP, CUBE and GROUPING SETS are not supported"
            )
        grouped = (
            group is not None
            or scope.aggregate_in(*select.expressions, select.args.get("having")) is not None
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
                raise self._nothing_aggregated(select)
            return self._stateless(name, source, scope, select, where)
        items = Grouping(scope, select, group, window)
        window = items.window.spec if items.window else window
        attribute = items.window.attribute if items.window else attribute
        if where is not None:
            source = self._filtered(source, where)
        if grouped:
            aggregate = items.aggregate(name, source, attribute)
            if not select.args.get("distinct"):
                return aggregate
            inner = Aggregate(**{**aggregate.__dict__, "name": self._name_part()})
            self.relations[inner.name] = inner
            return distinct(name, inner.name, inner.columns, None, inner.unit)
        outputs = scope.outputs(select.expressions, windowed=True)
        return distinct(name, source.name, outputs, window, source.unit, attribute)

    def _nothing_aggregated(self, select: exp.Select) -> HeadraceError:
        for call in select.find_all(exp.Anonymous):
            if near := nearest_aggregate(call.name, self.user_defined):
                return self._fail(call, f"there is no aggregate {call.name!r}. Did you mean {near!r}?")
        return PlanError(
            "a window with nothing to aggregate: add GROUP BY, an aggregate or DISTINCT, "
            "or leave the window out"
        )

    def _filtered(self, source: Relation, where: exp.Expr) -> Relation:
        """The source under a WHERE, as a relation of its own."""
        relation: Relation
        if isinstance(source, Rows):
            branches = tuple(
                Branch(b.stream, both(b.where, substitute(where, dict(b.columns))), b.columns)
                for b in source.branches
            )
            relation = Rows(self._name_part(), branches, source.time, source.unit)
        else:
            outputs = tuple((c, exp.column(c)) for c in source.columns)
            relation = Derive(self._name_part(), source.name, source.unit, outputs, where)
        self.relations[relation.name] = relation
        return relation

    def _stateless(
        self, name: str, source: Relation, scope: Scope, select: exp.Select, where: exp.Expr | None
    ) -> Relation:
        outputs = scope.outputs(select.expressions)
        if not isinstance(source, Rows):
            return Derive(name, source.name, source.unit, with_window(outputs), where)
        time = next((n for n, e in outputs if isinstance(e, exp.Column) and e.name == source.time), None)
        branches = []
        for b in source.branches:
            inner = dict(b.columns)
            branches.append(
                Branch(
                    b.stream,
                    both(b.where, substitute(where, inner) if where is not None else None),
                    tuple((n, substitute(e, inner)) for n, e in outputs),
                )
            )
        return Rows(name, tuple(branches), time, source.unit)
