"""Queries of the network layer from the SQL front end.

Texts are read as the engine reads them: parsed (`sql/parse.py`), inputs, names and conditions collected (`sql/collect_join.py`),
and conditions sorted into equal keys, bounds on time, conditions of one input, and the rest (`sql/join_times.py`). From there the
ways part. The engine orders the joins and keeps rows, so it needs every join bounded in time; the network planner orders them
itself and prices them by rate and window, and a join without windows is priced too. It takes select-project-joins: equal
columns, comparisons of two columns whose selectivity the catalog declares, bands that windows can tell
(`window_lengths.py`), filters (`filter_expressions.py`). What it cannot price is refused, with the place in the text.

Where a query's result goes is not part of the SQL; `sinks` says it, by query name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from headrace.errors import HeadraceError, NetworkError
from headrace.logical.join_kind import JoinKind
from headrace.logical.rewrite import substitute
from headrace.network.catalog_relations import CatalogRelations
from headrace.network.filter_expressions import read_filter
from headrace.network.join_query import JoinQuery, parse_predicate
from headrace.network.join_view import JoinPredicate, ViewInput
from headrace.network.stream_catalog import Catalog
from headrace.network.window_lengths import find_windows
from headrace.sql import CreateQuery, CreateStream, CreateTable, parse_script
from headrace.sql.collect_join import JoinClauses, collect_join
from headrace.sql.error_places import error, point_at
from headrace.sql.expand_star import read_star
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_names import join_nothing, used_columns
from headrace.sql.join_times import JoinTimes
from headrace.sql.looked_up_items import find_looked_up, is_looked_up
from headrace.sql.scope import Fail
from headrace.sql.select_parts import gather_items, gather_subselects

_OPS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_SPJ = (
    "across sites, queries are select-project-join: streams joined on predicates, filters and columns. "
    "Aggregate in a query that reads this one at its sink"
)


def queries_from_sql(script: str, catalog: Catalog, sinks: Mapping[str, str]) -> list[JoinQuery]:
    """The queries of a script; its CREATE STREAM statements are of streams of the catalog, and say what these lack."""
    found, declared = [], []
    for statement in parse_script(script):
        if isinstance(statement, CreateStream):
            catalog.stream(statement.name)
            declared.append(statement)
        elif isinstance(statement, CreateTable):
            raise NetworkError(
                f"table {statement.name}: the network planner places joins of streams only; leave tables out"
            )
        else:
            found.append(query_from_statement(statement, catalog, sinks, declared))
    return found


def query_from_statement(
    statement: CreateQuery, catalog: Catalog, sinks: Mapping[str, str], declared: Iterable[CreateStream] = ()
) -> JoinQuery:
    """One query; an error names what in it is not a select-project-join."""
    name = statement.name
    if name not in sinks:
        raise NetworkError(f"query {name!r} has no sink; name its node under `sinks` in the network file")
    try:
        return _translate(collect_query(statement, catalog, declared), catalog, sinks[name])
    except HeadraceError as problem:
        raise NetworkError(f"query {name!r}: {problem}") from None


@dataclass(frozen=True)
class CollectedQuery:
    """A select-project-join as the SQL front end understands it: its clauses, and what its conditions say."""

    statement: CreateQuery
    clauses: JoinClauses
    conditions: Conditions
    whole: frozenset[str]  # aliases of the items of which all columns are selected

    @property
    def fail(self) -> Fail:
        return partial(point_at, self.statement.script)


def collect_query(
    statement: CreateQuery, catalog: Catalog, declared: Iterable[CreateStream] = ()
) -> CollectedQuery:
    """A query over the catalog's streams; what is not a select-project-join is refused."""
    select, fail, fail_at = (
        statement.body,
        partial(point_at, statement.script),
        partial(error, statement.script),
    )
    if not isinstance(select, exp.Select):
        raise fail(None, f"a {select.key.upper()}: {_SPJ}")
    for part in ("group", "having", "distinct"):
        if select.args.get(part):
            raise fail(select.args[part], f"{part.upper()}: {_SPJ}")
    for e in select.expressions:
        if (call := e.find(exp.AggFunc)) is not None:
            raise fail(call, f"an aggregate: {_SPJ}")
    relations = CatalogRelations(catalog, declared, select, fail)
    items = gather_items(select, relations.make_item, fail)
    for item in items:
        if item.kind is not JoinKind.INNER or is_looked_up(item):
            looked_up = find_looked_up(item)
            kind = looked_up.clause if looked_up is not None else f"{item.kind.upper()} JOIN"
            raise fail(item.node, f"a {kind}: {_SPJ}")
    for node, _, _ in gather_subselects(select, relations.make_item, fail):
        raise fail(node, f"a sub-select in WHERE: {_SPJ}")
    clauses = collect_join(select, items, (), fail, fail_at, alike=False)
    times = JoinTimes(relations.graph, clauses.conjuncts, fail_at)
    conditions = times.sort_pooled([join_nothing(i) for i in items], clauses.conjuncts)
    for e in select.expressions:
        if (star := read_star(e)) is not None and any(star[0].args.values()):
            raise fail(e, f"* with EXCEPT, REPLACE or RENAME: {_SPJ}; list the columns")
    stars = [e for e in select.expressions if isinstance(e, exp.Star) or isinstance(e.this, exp.Star)]
    named = {str(e.args["table"].name).lower() for e in stars if isinstance(e, exp.Column)}
    everything = any(isinstance(e, exp.Star) for e in stars)
    whole = frozenset(i.alias for i in items if everything or i.alias.lower() in named)
    return CollectedQuery(statement, clauses, conditions, whole)


def _translate(found: CollectedQuery, catalog: Catalog, sink: str) -> JoinQuery:
    items, conditions = found.clauses.items, found.conditions
    owner = {item.flat(c): (i, c) for i, item in enumerate(items) for c in item.relation.columns}
    bare: dict[str, exp.Expr] = {flat: exp.column(exp.to_identifier(c)) for flat, (_, c) in owner.items()}
    windows, slide = find_windows(items, conditions, found.fail, partial(error, found.statement.script))
    predicates = [
        _predicate(found, owner, exp.EQ(this=a, expression=b)) for (_, a), (_, b) in conditions.equal
    ]
    predicates += [_predicate(found, owner, node) for node in conditions.rest]
    output: list[set[str]] = [set() for _ in items]
    for e in (*found.clauses.select.expressions, *(c for k, c in conditions.single if k < 0)):
        if bounds := used_columns(e) - owner.keys():
            name = min(bounds)
            place = next(
                (c for c in found.statement.body.find_all(exp.Column) if c.name.lower() == name), None
            )
            raise found.fail(
                place, f"{name}: across sites, there are the columns of streams, not the bounds of windows"
            )
    for i, column in {owner[n] for e in found.clauses.select.expressions for n in used_columns(e)}:
        output[i].add(column)
    inputs = []
    for i, item in enumerate(items):
        mine = [substitute(c, bare) for k, c in conditions.single if k == i]
        columns = None if item.alias in found.whole else frozenset(output[i])
        where = read_filter(catalog, item.relation.name.partition("#")[0], mine)
        inputs.append(ViewInput(item.relation.name, where, windows[i], columns))
    return JoinQuery(found.statement.name, sink, tuple(inputs), tuple(predicates), slide)


def _predicate(found: CollectedQuery, owner: Mapping[str, tuple[int, str]], node: exp.Expr) -> JoinPredicate:
    """A comparison of columns of two streams."""
    items = found.clauses.items
    ends = [
        owner.get(e.name) if isinstance(e, exp.Column) else None
        for e in (node.this, node.args.get("expression"))
    ]
    if type(node) in _OPS and ends[0] is not None and ends[1] is not None:
        left, right = (f"{items[i].relation.name}.{column}" for i, column in (ends[0], ends[1]))
        return parse_predicate(left, right, _OPS[type(node)])
    spelled = substitute(node, {flat: exp.column(c, table=items[i].alias) for flat, (i, c) in owner.items()})
    what = f"the predicate {spelled.sql('spark')} is no comparison of columns of two streams"
    raise found.fail(node, f"{what}; {_SPJ}")
