"""Expressions on results as DuckDB SQL: SELECT lists, HAVING, filters of queries over queries."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
from sqlglot import exp

from headrace.dialect.duck import Typed, spark_sql, translate
from headrace.dialect.duck_cast import cast, duck_type
from headrace.dialect.sql_quotes import quote_name
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate, Derive, Relation
from headrace.optimizer.plan import Plan
from headrace.physical.scratch_database import open_scratch


class ResultSql:
    """SQL over relations of a slot, tried out on DuckDB: a mistake shows when the query is registered."""

    def __init__(self, plan: Plan) -> None:
        self.types, self.graph = plan.types, plan.graph
        self.con = open_scratch()

    def select(
        self, relation: Aggregate | Derive, source: str, where: exp.Expr | None, scope: Mapping[str, str], pid: bool
    ) -> str:
        """The relation's outputs, in their declared types, of windowed ones `_ws`, `_we`, and `_pid` if rows bring it along."""
        declared = self.types[relation.name]
        columns = []
        for name, expression in relation.outputs:
            value = self.translate(relation, expression, scope)
            columns.append(f"{cast(value.sql, value.type, declared[name])} AS {quote_name(name)}")
        window = ["_ws", "_we"] if self.graph.is_windowed(relation.name) else []
        window += ["_pid"] if pid else []
        sql = f"SELECT {', '.join([*columns, *window])} FROM {source}"
        return sql + (f" WHERE {self.translate(relation, where, scope).sql}" if where is not None else "")

    def translate_in(self, name: str, expression: exp.Expr, scope: Mapping[str, str]) -> Typed:
        """An expression over the columns of any relation of slots."""
        return self.translate(self.graph.relations[name], expression, scope)

    def translate(
        self, relation: Relation, expression: exp.Expr, scope: Mapping[str, str]
    ) -> Typed:
        """An expression that DuckDB is sure to take."""
        try:
            value = translate(expression, scope)
            row = ", ".join(f"NULL::{duck_type(t)} AS {quote_name(c)}" for c, t in {**scope, "_ws": "bigint"}.items())
            self.con.sql(f"SELECT {value.sql} FROM (SELECT {row})").fetchall()
        except (PlanError, duckdb.Error) as e:
            reason = str(e)
            if isinstance(e, duckdb.Error):
                reason = f"{spark_sql(expression)} cannot be computed on results: {reason.splitlines()[0]}"
            raise PlanError(f"query {relation.name.split('$')[0]}: {relation.use_query_words(reason)}") from e
        return value


def window_scope(plan: Plan, relation: Aggregate | Derive) -> dict[str, str]:
    """The types of the columns of a relation's window."""
    return dict.fromkeys(("window_start", "window_end"), plan.graph.window_type(relation.name))


def show_window_sql(type_: str) -> str:
    """The window's bounds as a query shows them."""
    make = {"timestamp": "make_timestamptz({})", "timestamp_ntz": "make_timestamp({})"}.get(type_, "{}")
    return f"{make.format('_ws')} AS window_start, {make.format('_we')} AS window_end"
