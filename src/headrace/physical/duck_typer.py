"""Types without Spark: DuckDB's, spelled as Spark spells them.

Good enough to plan, explain and test; a run on Spark asks Spark (`runtime/typer.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import parse_one

from headrace.logical.plan import Aggregate, Derive, Graph, Merge, Raw
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.duck import duck_sql


class DuckTyper:
    """Types of a graph's relations."""

    def __init__(self, graph: Graph, user: dict[str, UserAggregate]) -> None:
        self.graph, self.user = graph, user
        self.con = duckdb.connect()
        self._columns: dict[str, dict[str, str]] = {}

    def column_types(self, relation: str) -> dict[str, str]:
        if relation not in self._columns:
            self._columns[relation] = self._compute(relation)
        return self._columns[relation]

    def _compute(self, name: str) -> dict[str, str]:
        relation = self.graph.relations[name]
        if name in self.graph.streams:
            return {c: spark_type(duck_type(t)) for c, t in self.graph.streams[name].columns}
        if isinstance(relation, Raw):
            arms = [
                self._types(b.stream, [e.sql(dialect="spark") for _, e in b.columns]) for b in relation.branches
            ]
            return dict(zip(relation.columns, self._wider(arms), strict=True))
        if isinstance(relation, Merge):
            arms = [list(self.column_types(i).values()) for i in relation.inputs]
            return dict(zip(relation.columns, self._wider(arms), strict=True))
        time = "timestamp" if relation.unit == "us" else "bigint"
        scope = {"window_start": time, "window_end": time, "_ws": "bigint"}
        if isinstance(relation, Derive):
            scope = {**self.column_types(relation.input), **scope}
        else:
            assert isinstance(relation, Aggregate)
            for i, key in enumerate(relation.keys):
                scope[f"k{i}"] = self.types(relation.input, [key.sql(dialect="spark")])[0]
            for i, call in enumerate(relation.calls):
                arguments = self.types(relation.input, [a.sql(dialect="spark") for a in call.arguments])
                scope[f"a{i}"] = result_type(call.function, arguments, self.user, call.parameters)
        outputs = [e.sql(dialect="spark") for _, e in relation.outputs]
        return dict(zip(relation.columns, self._in(scope, outputs), strict=True))

    def _wider(self, arms: Sequence[Sequence[str]]) -> list[str]:
        """The types of a union of rows of these types."""
        selects = [f"SELECT {', '.join(f'NULL::{duck_type(t)}' for t in arm)}" for arm in arms]
        return [spark_type(str(t)) for t in self.con.sql(" UNION ALL ".join(selects)).types]

    def types(self, relation: str, expressions: Sequence[str]) -> list[str]:
        return self._in(self.column_types(relation), expressions)

    def _types(self, stream: str, expressions: Sequence[str]) -> list[str]:
        return self._in(self.column_types(stream), expressions)

    def _in(self, scope: Mapping[str, str], expressions: Sequence[str]) -> list[str]:
        if not expressions:
            return []
        row = ", ".join(f'NULL::{duck_type(t)} AS "{c}"' for c, t in scope.items())
        listed = ", ".join(duck_sql(parse_one(e, dialect="spark")) for e in expressions)
        return [spark_type(str(t)) for t in self.con.sql(f"SELECT {listed} FROM (SELECT {row})").types]

    def result_schema(self, relation: str) -> bytes:
        types = self.column_types(relation)
        row = ", ".join(f'NULL::{duck_type(t)} AS "{c}"' for c, t in types.items())
        schema = self.con.sql(f"SELECT {row}").to_arrow_table().schema
        utc = [pa.field(f.name, pa.timestamp("us", "UTC") if pa.types.is_timestamp(f.type) else f.type) for f in schema]
        return pa.schema(utc).serialize().to_pybytes()

    def late_schema(self, stream: str) -> bytes:
        schema = pa.ipc.read_schema(pa.py_buffer(self.result_schema(stream)))
        return schema.append(pa.field("_reason", pa.string())).serialize().to_pybytes()


def result_type(
    function: str, arguments: Sequence[str], user: Mapping[str, UserAggregate], parameters: Sequence[Any]
) -> str:
    """Spark's type of an aggregate's result."""
    if function in user:
        return spark_type(user[function].returns)
    if function.startswith("count") or function == "approx_count_distinct":
        return "bigint"
    kind = arguments[0]
    if function.startswith("percentile") and parameters and isinstance(parameters[0], str):
        return f"array<{'double' if function == 'percentile' else kind}>"
    if function.startswith(("var", "stddev", "median")) or function == "percentile":
        return "double"
    if function.startswith(("sum", "avg")):
        if kind.startswith("decimal"):
            p, s = (int(x) for x in kind[8:-1].split(","))
            return f"decimal({min(38, p + 10)},{s})" if function.startswith("sum") else f"decimal({min(38, p + 4)},{s + 4})"
        if function.startswith("avg") or kind in ("double", "float"):
            return "double"
        return "bigint"
    return kind


_TYPES = {
    "string": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
    "int": "INTEGER",
    "integer": "INTEGER",
    "long": "BIGINT",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "float": "FLOAT",
    "binary": "BLOB",
}


def duck_type(spark: str) -> str:
    if spark.lower().startswith("array<"):
        return f"{duck_type(spark[6:-1])}[]"
    return _TYPES.get(spark.lower(), spark.upper())


def spark_type(duck: str) -> str:
    if duck.endswith("[]"):
        return f"array<{spark_type(duck[:-2])}>"
    back = {v: k for k, v in reversed(_TYPES.items())} | {
        "TIMESTAMP WITH TIME ZONE": "timestamp",
        "INTEGER": "int",
        "BIGINT": "bigint",
        "HUGEINT": "decimal(38,0)",
        '"NULL"': "int",
    }
    return back.get(duck.upper(), duck.lower())
