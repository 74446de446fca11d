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
from headrace.logical.functions import NAMES, nearest_aggregate, there_is
from headrace.logical.graph import (
    WINDOW_COLUMNS,
    Aggregate,
    Branch,
    Derive,
    Graph,
    Merge,
    Relation,
    Rows,
    StaticTable,
    Stream,
)
from headrace.logical.progress_columns import find_progress
from headrace.sql.added_columns import divide_item_times, find_distinct_rows, name_window_times
from headrace.sql.bind_context import BindContext
from headrace.sql.bind_join import bind_join
from headrace.sql.bind_lookup import check_table_item
from headrace.sql.check_functions import SAFE_ONLY, OpenFunctions, check_functions
from headrace.sql.declare import check_options, columns_of, declared_stream, declared_table
from headrace.sql.error_places import error, point_at, suggest
from headrace.sql.grouping import Grouping, distinct
from headrace.sql.join_names import FromItem
from headrace.sql.looked_up_items import find_looked_up, is_looked_up
from headrace.sql.names import check_new_name, fold_name
from headrace.sql.row_selector import RowSelector
from headrace.sql.scope import Scope, unique, written
from headrace.sql.select_parts import SubSelect, gather_items, gather_subselects
from headrace.sql.statements import CreateQuery, CreateStream, CreateTable, Statement
from headrace.sql.window_clause import bracket_window, read_attribute
from headrace.windows import WindowSpec


class Binder:
    """Everything registered so far, and the rules by which one more query joins it."""

    def __init__(self, user_defined: Iterable[str] = (), opened: OpenFunctions | None = SAFE_ONLY) -> None:
        """`opened`: the functions that texts may call beyond those that are known to be safe; None: texts were checked before."""
        self.streams: dict[str, Stream] = {}
        self.relations: dict[str, Relation] = {}
        self.queries: dict[str, str] = {}
        self.tables: dict[str, StaticTable] = {}
        self.user_defined, self.opened = list(user_defined), opened
        if taken := [n for n in self.user_defined if n.lower() in NAMES]:
            raise SqlError(f"the aggregate {taken[0]!r} is built in; give yours another name")
        self._script = ""
        self._query = ""
        self._anonymous = 0

    @property
    def rows(self) -> RowSelector:
        return RowSelector(self.graph, self._add_part, self._name_part)

    def graph(self) -> Graph:
        return Graph(dict(self.streams), dict(self.relations), dict(self.queries), dict(self.tables))

    def create(self, statement: Statement) -> None:
        if isinstance(statement, CreateStream):
            self.create_stream(statement)
        elif isinstance(statement, CreateTable):
            self.add_table(declared_table(statement))
        else:
            self.create_query(statement)

    # -- streams --------------------
    def create_stream(self, statement: CreateStream) -> Stream:
        self._script = statement.script
        self._check_functions([*statement.partition_by, *filter(None, [statement.progress.by])])
        columns = columns_of(statement)
        check_options(f"stream {statement.name}", statement.format, statement.options)
        stream = declared_stream(statement.name, columns, statement.on, statement.progress)
        stream = Stream(
            **{
                **stream.__dict__,
                "format": statement.format,
                "options": tuple(statement.options.items()),
                "partition_by": statement.partition_by,
                "partition_fixed": statement.partition_fixed,
                "rate": statement.rate,
            }
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

    def add_table(self, table: StaticTable) -> StaticTable:
        self._new_name(table.name)
        self.tables[table.name] = table
        return table

    # -- queries --------------------
    def create_query(self, statement: CreateQuery) -> Relation:
        self._new_name(statement.name)
        self._script, self._query, self._anonymous = statement.script, statement.name, 0
        before = dict(self.relations)
        try:
            self._check_functions([statement.body])
            relation = self._body(statement.body, statement.name)
        except HeadraceError as e:
            self.relations = before
            if str(e).startswith("query "):
                raise
            raise type(e)(f"query {statement.name}: {e}") from e
        self.queries[statement.name] = statement.text
        return relation

    def _check_functions(self, nodes: list[exp.Expr]) -> None:
        if self.opened is not None:
            check_functions(nodes, self._script, self.user_defined, self.opened)

    def _new_name(self, name: str) -> None:
        check_new_name(name, [*self.streams, *self.tables, *self.queries])

    def _fail(self, node: exp.Expr | None, message: str) -> SqlError:
        return point_at(self._script, node, message)

    def _body(self, body: exp.Expr, name: str) -> Relation:
        if isinstance(body, exp.Subquery):
            return self._body(body.this, name)
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
        windowed = [self.graph().is_windowed(p.name) for p in parts]
        if any(windowed) and not all(windowed):
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
            wanted = [names[raw.columns.index(raw.time)] for raw in raws if raw.time]
            relation = self.rows.unite(name, branches, wanted, raws[0].unit)
        else:
            rename = self._renamed if all(windowed) else self.rows.rename
            parts = [p if p.columns == parts[0].columns else rename(p, parts[0].columns) for p in parts]
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

    # -- FROM --------------------
    def _item(self, node: exp.Expr) -> FromItem:
        if isinstance(node, exp.Subquery):
            relation = self._rename_columns(self._body(node.this, self._name_part()), node)
            return FromItem(relation, node.alias or relation.name, node)
        if not isinstance(node, exp.Table):
            raise self._fail(node, "FROM takes a stream, a query or a sub-select")
        found = {fold_name(n): n for n in (*self.relations, *self.tables) if "$" not in n}
        if node.db or fold_name(node.name) not in found:
            raise self._fail(
                node, f"there is no stream or query {written(node)!r}." + suggest(node.name, found.values())
            )
        name = found[fold_name(node.name)]
        if name in self.tables:
            check_table_item(node, self.tables[name], self._fail, lambda at, end, m: error(self._script, at, end, m))
            return FromItem(self.tables[name], node.alias_or_name, node)
        return FromItem(self._rename_columns(self.relations[name], node), node.alias_or_name, node)

    def _rename_columns(self, relation: Relation, node: exp.Expr) -> Relation:
        """`AS b(x, y)`: the columns of an item under other names. The bounds of its window keep theirs where none is given."""
        names = [n.name for n in node.args["alias"].columns] if node.args.get("alias") else []
        if not names:
            return relation
        own = [c for c in relation.columns if c not in WINDOW_COLUMNS] if self.graph().is_windowed(relation.name) else []
        columns = own if len(names) == len(own) else list(relation.columns)
        if len(names) != len(columns):
            what = f"{node.alias} has {len(columns)} columns, ({', '.join(columns)})"
            raise self._fail(node.args["alias"], f"{what}, and {len(names)} names are given")
        pairs = zip(names, columns, strict=True)
        outputs = unique([(new, exp.column(exp.to_identifier(old, quoted=True))) for new, old in pairs])
        return self._add_part(self.rows.select(self._name_part(), relation, outputs, None))

    def _join(
        self, select: exp.Select, items: list[FromItem], subselects: list[SubSelect]
    ) -> tuple[Relation, exp.Select]:
        context = BindContext(
            self.graph,
            self._add_part,
            self._name_part,
            self.rows.filter,
            self._fail,
            lambda start, end, message: error(self._script, start, end, message),
        )
        return bind_join(context, select, items, subselects)

    def _add_part(self, relation: Relation) -> Relation:
        self.relations[relation.name] = relation
        return relation

    def _select(self, select: exp.Select, name: str) -> Relation:
        items = gather_items(select, self._item, self._fail)
        items = divide_item_times(self.rows, select, items)
        subselects = gather_subselects(select, self._item, self._fail)
        if (first := find_looked_up(items[0])) is not None:
            first.check_first(items[0], self._fail)
        node, alias = items[0].node, items[0].alias
        clause, own = node.args.get("aggregate_window"), node.args.get("stream_window")
        source = items[0].relation
        if len(items) > 1 or subselects:
            streams = [i for i in items if not is_looked_up(i)]
            own = streams[0].node.args.get("stream_window") if len(streams) == 1 else None
            source, select = self._join(select, items, subselects)
            alias = ""
        if clause is not None and own is not None:
            raise error(self._script, own.start, own.end, "a query has one window, behind its stream or behind what it computes")
        clause = clause or own
        if isinstance(source, StaticTable):
            raise self._fail(node, f"{alias} is a table, and a table alone never changes: join it with a stream or a query")
        windowed = self.graph().is_windowed(source.name)
        if not windowed:
            source, select = name_window_times(self.rows, Scope(source, alias, self._fail, self.user_defined), select)
        times = () if windowed else tuple(find_progress(self.graph(), source.name))
        scope = Scope(source, alias, self._fail, self.user_defined)
        where = scope.resolve(select.args["where"].this) if select.args.get("where") else None
        if where is not None and (bad := scope.aggregate_in(where)) is not None:
            raise self._fail(bad, "an aggregate in WHERE: use HAVING")
        group = select.args.get("group")
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
            attribute = read_attribute(clause.attribute, times)
        if not grouped and not select.args.get("distinct"):
            if select.args.get("having"):
                raise self._fail(select.args["having"], "HAVING without GROUP BY or an aggregate: use WHERE")
            if window is not None:
                raise self._nothing_aggregated(select)
            return self._stateless(name, source, scope, select, where)
        grouping = Grouping(scope, select, group, window, times, windowed)
        window = grouping.window.spec if grouping.window else window
        attribute = grouping.window.attribute if grouping.window else attribute
        if where is not None:
            source = self.rows.filter(source, where)
        if grouped:
            aggregate = grouping.aggregate(name, source, attribute)
            if not select.args.get("distinct"):
                return aggregate
            inner = Aggregate(**{**aggregate.__dict__, "name": self._name_part()})
            self.relations[inner.name] = inner
            return distinct(name, inner.name, inner.columns, None, inner.unit)
        if window is None and not windowed:
            return find_distinct_rows(self.rows, name, source, scope.outputs(select.expressions))
        outputs = scope.outputs(select.expressions, windowed=True)
        return distinct(name, source.name, outputs, window, source.unit, attribute)

    def _nothing_aggregated(self, select: exp.Select) -> HeadraceError:
        for call in select.find_all(exp.Anonymous):
            if near := nearest_aggregate(call.name, self.user_defined):
                return self._fail(call, f"there is no aggregate {call.name!r}. Did you mean {near!r}?")
        if (other := select.find(exp.Anonymous)) is not None:
            return self._fail(other, f"a window with nothing to aggregate: there is no aggregate {other.name!r}." + there_is())
        return PlanError("a window with nothing to aggregate: add GROUP BY, an aggregate or DISTINCT, or leave the window out")

    def _stateless(
        self, name: str, source: Relation, scope: Scope, select: exp.Select, where: exp.Expr | None
    ) -> Relation:
        return self.rows.select(name, source, scope.outputs(select.expressions), where)
