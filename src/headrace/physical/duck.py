"""Spark expressions in DuckDB's dialect: sqlglot translates, this fills the few gaps."""

from __future__ import annotations

from sqlglot import exp

from headrace.errors import PlanError


def duck_sql(node: exp.Expression) -> str:
    """A scalar expression over a slot's relations, as DuckDB SQL."""

    def visit(child: exp.Expression) -> exp.Expression:
        if isinstance(child, exp.Anonymous):
            name = child.name.lower()
            if name == "_bucket":
                return exp.IntDiv(this=exp.column("_ws"), expression=child.expressions[0].copy())
            if name == "named_struct":
                pairs = list(zip(child.expressions[::2], child.expressions[1::2], strict=True))
                return exp.Struct(
                    expressions=[
                        exp.PropertyEQ(this=exp.to_identifier(k.name), expression=v.copy()) for k, v in pairs
                    ]
                )
            if name not in _ANONYMOUS:
                raise PlanError(
                    f"the function {child.name} is not known on results of windows. Compute it in a query over the stream, "
                    "or when you read the results"
                )
        return child

    return node.copy().transform(visit).sql(dialect="duckdb", identify=True)


_ANONYMOUS = {"pmod", "positive", "negative", "isnotnull", "isnull", "make_timestamptz"}


def spark_sql(node: exp.Expression) -> str:
    return node.sql(dialect="spark", identify=True)
