"""Queries of the network layer from the SQL front end.

`CREATE QUERY` bodies are select-project-joins: streams by comma or JOIN … ON, equality predicates between
columns of two streams, filters on one stream, bracket windows. A filter on an expression (`DP_TIME - now() <
…`) is kept as text with the columns it needs. Where a query's result goes is not part of the SQL; `sinks`
says it, by query name.

`catalog_from_sql` starts a catalog from `CREATE STREAM` statements, which give the columns; rates and places
are given beside them (they are what the network file declares or what a run has measured).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from headrace.errors import NetworkError
from headrace.network.filter_text import (
    find_columns,
    parse_duration,
    range_condition,
    text_condition,
    value_condition,
)
from headrace.network.join_query import JoinQuery, parse_predicate
from headrace.network.join_view import JoinPredicate, ViewInput
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics
from headrace.network.stream_filters import Condition, conjoin_conditions
from headrace.sql import BracketWindow, CreateQuery, CreateStream, CreateTable, parse_script

WIDTHS = {
    "boolean": 1,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "integer": 4,
    "float": 4,
    "date": 4,
    "string": 20,
}
_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_OPS: dict[type[exp.Expression], str] = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}


def queries_from_sql(script: str, catalog: Catalog, sinks: Mapping[str, str]) -> list[JoinQuery]:
    """The queries of a script; its CREATE STREAM statements must agree with the catalog."""
    found = []
    for statement in parse_script(script):
        if isinstance(statement, CreateStream):
            catalog.stream(statement.name)
        elif isinstance(statement, CreateTable):
            raise NetworkError(f"table {statement.name}: the network planner places joins of streams only; leave tables out")
        else:
            found.append(query_from_statement(statement, catalog, sinks))
    return found


def catalog_from_sql(script: str, places: Mapping[str, tuple[str, float]]) -> Catalog:
    """A catalog from CREATE STREAM statements; `places` gives node and rate by stream name."""
    streams = []
    for statement in parse_script(script):
        if isinstance(statement, CreateStream):
            if statement.name not in places:
                raise NetworkError(
                    f"stream {statement.name!r}: where it arises and at what rate is not known"
                )
            node, rate = places[statement.name]
            columns = tuple(
                ColumnStatistics(c.name, float(WIDTHS.get(c.type.lower(), 8))) for c in statement.columns
            )
            streams.append(BaseStream(statement.name, node, rate, sum(c.width for c in columns), columns))
    return Catalog(tuple(streams))


def query_from_statement(statement: CreateQuery, catalog: Catalog, sinks: Mapping[str, str]) -> JoinQuery:
    """One query; an error names what in it is not a select-project-join."""
    name, body = statement.name, statement.body
    if name not in sinks:
        raise NetworkError(f"query {name!r} has no sink; name its node under `sinks` in the network file")
    if not isinstance(body, exp.Select):
        raise _not_spj(name, f"a {body.key.upper()}")
    for part in ("group", "having", "distinct", "order", "limit", "with", "with_"):
        if body.args.get(part):
            raise _not_spj(name, part.strip("_").upper())
    if any(e.find(exp.AggFunc) for e in body.expressions):
        raise _not_spj(name, "an aggregate")
    scope = _SelectScope(name, catalog, body)
    for condition in scope.conditions:
        scope.take(condition)
    return scope.query(sinks[name])


class _SelectScope:
    """The streams of one SELECT by alias, and what has been found out about each."""

    def __init__(self, name: str, catalog: Catalog, body: exp.Select) -> None:
        self.name, self.catalog, self.body = name, catalog, body
        self.inputs: dict[str, ViewInput] = {}
        self.slides: set[float] = set()
        self.filters: dict[str, list[Condition]] = {}
        self.predicates: list[JoinPredicate] = []
        self.conditions: list[exp.Expression] = []
        uses: dict[str, int] = {}
        for table, on in self._tables():
            stream = self._stream(table.name)
            uses[stream] = uses.get(stream, 0) + 1
            label = stream if uses[stream] == 1 else f"{stream}#{uses[stream]}"
            alias = (table.alias or table.name).upper()
            if alias in self.inputs:
                raise NetworkError(f"query {name!r}: {table.alias or table.name} is used for two streams")
            self.inputs[alias] = ViewInput(label, window=self._window(table), columns=frozenset())
            self.conditions += _conjuncts(on)
        where = body.args.get("where")
        self.conditions += _conjuncts(None if where is None else where.this)

    def _tables(self) -> list[tuple[exp.Table, exp.Expression | None]]:
        source = self.body.args.get("from") or self.body.args.get("from_")
        found: list[tuple[exp.Expression | None, exp.Expression | None]] = [
            (source.this if source else None, None)
        ]
        for join in self.body.args.get("joins") or ():
            if join.side or join.args.get("using") or join.kind not in ("", "INNER", "CROSS"):
                kind = " ".join(filter(None, (join.side, join.kind, "JOIN"))) + (
                    " USING" * bool(join.args.get("using"))
                )
                raise _not_spj(self.name, kind)
            found.append((join.this, join.args.get("on")))
        tables = []
        for table, on in found:
            if not isinstance(table, exp.Table):
                raise _not_spj(self.name, "a sub-select in FROM")
            tables.append((table, on))
        return tables

    def _stream(self, name: str) -> str:
        known = {s.name.upper(): s.name for s in self.catalog.streams}
        return known.get(name.upper()) or self.catalog.stream(name).name

    def _window(self, table: exp.Table) -> float | None:
        window = table.args.get("stream_window")
        if not isinstance(window, BracketWindow):
            return None
        if window.range is None:
            raise _not_spj(self.name, "RANGE ALL in a join")
        if window.slide is not None:
            self.slides.add(parse_duration(window.slide))
        return parse_duration(window.range)

    def _side(self, column: exp.Column) -> tuple[str, str]:
        """The alias a column belongs to, and its name as the catalog has it."""
        if column.table:
            alias = column.table.upper()
            if alias not in self.inputs:
                raise NetworkError(
                    f"query {self.name!r}: {column.sql()} speaks of {column.table!r}, which is not in FROM"
                )
            return alias, self._column(alias, column.name)
        owners = [a for a in self.inputs if self._declares(a, column.name)]
        if len(owners) != 1 and len(self.inputs) == 1:
            owners = list(self.inputs)
        if len(owners) != 1:
            problem = "no stream has that column" if not owners else "several streams have that column"
            raise NetworkError(
                f"query {self.name!r}: column {column.name!r}: {problem}; write stream.{column.name}"
            )
        return owners[0], self._column(owners[0], column.name)

    def _declares(self, alias: str, name: str) -> bool:
        columns = self.catalog.stream(self.inputs[alias].stream).columns
        return any(c.name.upper() == name.upper() for c in columns)

    def _column(self, alias: str, name: str) -> str:
        stream = self.catalog.stream(self.inputs[alias].stream)
        if not stream.columns:
            return name
        found = next((c.name for c in stream.columns if c.name.upper() == name.upper()), None)
        if found is None:
            known = ", ".join(c.name for c in stream.columns)
            raise NetworkError(
                f"query {self.name!r}: stream {stream.name!r} has no column {name!r}; it has {known}"
            )
        return found

    def take(self, condition: exp.Expression) -> None:
        """A conjunct: a join predicate if it speaks of two streams, a filter if of one."""
        columns = list(condition.find_all(exp.Column))
        sides = {self._side(c)[0] for c in columns}
        if len(sides) == 2 and type(condition) in _OPS:
            left, right = condition.this, condition.expression
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                ends = [self._side(c) for c in (left, right)]
                names = [f"{self.inputs[alias].name}.{column}" for alias, column in ends]
                self.predicates.append(parse_predicate(names[0], names[1], _OPS[type(condition)]))
                return
        if len(sides) > 1:
            raise _not_spj(self.name, f"the predicate {condition.sql('spark')}")
        if sides:
            alias = sides.pop()
            self.filters.setdefault(alias, []).append(self._filter(alias, condition))

    def _filter(self, alias: str, condition: exp.Expression) -> Condition:
        stream = self.inputs[alias].stream
        bare = condition.copy()
        for column in list(bare.find_all(exp.Column)):
            column.set("table", None)
            column.set("this", exp.to_identifier(self._column(alias, column.name)))
        if isinstance(bare, exp.In) and isinstance(bare.this, exp.Column) and not bare.args.get("query"):
            values = bare.expressions
            if values and all(_literal(v) is not None for v in values):
                return value_condition(
                    self.catalog, stream, bare.this.name, [str(_literal(v)) for v in values]
                )
        if type(bare) in _OPS:
            left, right, op = bare.this, bare.expression, _OPS[type(bare)]
            if _literal(left) is not None:
                left, right, op = right, left, _FLIP[op]
            value = _literal(right)
            if value is not None and op == "=" and isinstance(left, exp.Column):
                return value_condition(self.catalog, stream, left.name, [value])
            number = _number(value)
            if number is not None and op != "=":
                text = left.sql("spark")
                return range_condition(
                    self.catalog, stream, text, find_columns(self.catalog, stream, text), op, number
                )
        text = bare.sql("spark")
        return text_condition(self.catalog, stream, text, find_columns(self.catalog, stream, text))

    def query(self, sink: str) -> JoinQuery:
        if len(self.slides) > 1:
            raise _not_spj(self.name, "different SLIDEs in one join")
        output: dict[str, set[str]] = {alias: set() for alias in self.inputs}
        whole: set[str] = set()
        for item in self.body.expressions:
            if isinstance(item, exp.Star):
                whole |= set(self.inputs)
            for column in item.find_all(exp.Column):
                if isinstance(column.this, exp.Star):
                    whole.add(column.table.upper())
                else:
                    alias, found = self._side(column)
                    output[alias].add(found)
        inputs = tuple(
            replace(
                one,
                filter=conjoin_conditions(self.filters.get(alias, ())),
                columns=None if alias in whole else frozenset(output[alias]),
            )
            for alias, one in self.inputs.items()
        )
        return JoinQuery(self.name, sink, inputs, tuple(self.predicates), next(iter(self.slides), None))


def _conjuncts(condition: exp.Expression | None) -> list[exp.Expression]:
    if condition is None:
        return []
    if isinstance(condition, exp.Paren):
        return _conjuncts(condition.this)
    if isinstance(condition, exp.And):
        return _conjuncts(condition.this) + _conjuncts(condition.expression)
    return [condition]


def _literal(node: exp.Expression) -> str | None:
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return f"-{node.this.this}"
    return str(node.this) if isinstance(node, exp.Literal) else None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _not_spj(name: str, what: str) -> NetworkError:
    return NetworkError(
        f"query {name!r} has {what}; across sites, queries are select-project-join: streams joined on"
        " predicates,"
        " filters and columns. Aggregate in a query that reads this one at its sink"
    )
