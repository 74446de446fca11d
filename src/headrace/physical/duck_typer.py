"""Types without Spark: DuckDB's, spelled as Spark spells them.

Good enough to plan, explain and test; a run on Spark asks Spark (`runtime/typer.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
from sqlglot import exp

from headrace.dialect.duck import translate, use_query_words
from headrace.dialect.duck_cast import duck_type, spark_name
from headrace.dialect.spark_types import spell_type, wider
from headrace.dialect.sql_quotes import quote_name
from headrace.errors import PlanError, SqlError
from headrace.logical.graph import (
    WINDOW_COLUMNS,
    Aggregate,
    Derive,
    Graph,
    Join,
    Lookup,
    Merge,
    Rows,
    TemporalJoin,
)
from headrace.logical.source_formats import MALFORMED
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.aggregates import check_keys, result_type
from headrace.physical.scratch_database import open_scratch


class DuckTyper:
    """Types of a graph's relations."""

    def __init__(self, graph: Graph, user: dict[str, UserAggregate]) -> None:
        self.graph, self.user = graph, {name.lower(): a for name, a in user.items()}
        self.con = open_scratch()
        self._columns: dict[str, dict[str, str]] = {}

    def column_types(self, relation: str) -> dict[str, str]:
        if relation not in self._columns:
            try:
                self._columns[relation] = self._compute(relation)
            except SqlError as e:
                if str(e).startswith(("query ", "stream ", "table ")):
                    raise
                raise SqlError(f"query {relation.split('$')[0]}: {e}") from e
        return self._columns[relation]

    def _compute(self, name: str) -> dict[str, str]:
        if name in self.graph.tables:
            return {c: self._declared(f"table {name}", c, t) for c, t in self.graph.tables[name].schema}
        relation = self.graph.relations[name]
        if name in self.graph.streams:
            return {c: self._declared(f"stream {name}", c, t) for c, t in self.graph.streams[name].columns}
        if isinstance(relation, Rows):
            arms = [self.types(b.stream, [e for _, e in b.columns]) for b in relation.branches]
            return dict(zip(relation.columns, self._wider(name, arms), strict=True))
        if isinstance(relation, Merge):
            arms = [list(self.column_types(i).values()) for i in relation.inputs]
            return dict(zip(relation.columns, self._wider(name, arms), strict=True))
        time = self.graph.window_type(name)
        if isinstance(relation, (Join, TemporalJoin)):
            types = [self.column_types(i.relation) for i in relation.inputs]
            every = {c.name: types[c.input][c.column] for c in (*relation.visible, *relation.hidden)}
            every |= dict.fromkeys(WINDOW_COLUMNS, time)
            if relation.condition is not None:
                translate(relation.condition, every)
            return {c: every[c] for c in relation.columns}
        if isinstance(relation, Lookup):
            types = [self.column_types(relation.input), self.column_types(relation.table)]
            every = {c.name: types[c.input][c.column] for c in (*relation.visible, *relation.hidden)}
            if relation.condition is not None:
                translate(relation.condition, every)
            return {c: every[c] for c in relation.columns}
        scope = {"window_start": time, "window_end": time, "_ws": "bigint"}
        if isinstance(relation, Derive):
            scope = {**(scope if self.graph.is_windowed(name) else {}), **self.column_types(relation.input)}
        else:
            assert isinstance(relation, Aggregate)
            for i, key in enumerate(relation.keys):
                scope[f"k{i}"] = self.types(relation.input, [key])[0]
            check_keys(relation, [scope[f"k{i}"] for i in range(len(relation.keys))])
            for i, call in enumerate(relation.calls):
                arguments = self.types(relation.input, list(call.arguments))
                scope[f"a{i}"] = result_type(call, arguments, self.user)
        try:
            return {n: translate(e, scope).type for n, e in relation.outputs}
        except (PlanError, SqlError) as e:
            reason = use_query_words(str(e), relation) if isinstance(relation, Aggregate) else str(e)
            raise type(e)(f"query {name.split('$')[0]}: {reason}") from e

    def _wider(self, name: str, arms: Sequence[Sequence[str]]) -> list[str]:
        """The types of a union of rows of these types."""
        out = list(arms[0])
        for arm in arms[1:]:
            for i, (mine, theirs) in enumerate(zip(out, arm, strict=True)):
                found = wider(mine, theirs)
                if found is None:
                    query = name.split("$")[0]
                    raise SqlError(
                        f"query {query}: column {i + 1} of UNION ALL is {mine} in one arm, {theirs} elsewhere"
                    )
                out[i] = found
        return out

    def types(self, relation: str, expressions: list[exp.Expr]) -> list[str]:
        scope = self.column_types(relation)
        return [self._type(scope, e) for e in expressions]

    def _type(self, scope: Mapping[str, str], node: exp.Expr) -> str:
        try:
            return translate(node, scope).type
        except PlanError:  # a function that only Spark runs; DuckDB may know its type
            used = {part.name for c in node.find_all(exp.Column) for part in c.parts}
            row = ", ".join(f"NULL::{duck_type(t)} AS {quote_name(c)}" for c, t in scope.items() if c in used)
            try:
                (found,) = self.con.sql(f"SELECT {node.sql(dialect='duckdb')} FROM (SELECT {row or 1})").types
            except duckdb.Error:
                return "string"
            return spark_name(str(found))

    def _declared(self, what: str, column: str, type_: str) -> str:
        try:
            return spell_type(type_)
        except PlanError as e:
            raise PlanError(f"{what}: column {column}: {e}") from e

    def result_schema(self, relation: str) -> bytes:
        types = self.column_types(relation)
        row = ", ".join(f"NULL::{duck_type(t)} AS {quote_name(c)}" for c, t in types.items())
        schema = self.con.sql(f"SELECT {row}").to_arrow_table().schema
        utc = [
            pa.field(f.name, pa.timestamp("us", "UTC") if getattr(f.type, "tz", None) else f.type)
            for f in schema
        ]
        return bytes(pa.schema(utc).serialize().to_pybytes())

    def late_schema(self, stream: str) -> bytes:
        schema = pa.ipc.read_schema(pa.py_buffer(self.result_schema(stream)))
        text = [MALFORMED] if self.graph.streams[stream].keeps_malformed else []
        added = [pa.field(name, pa.string()) for name in (*text, "_reason")]
        return bytes(pa.schema([*schema, *added]).serialize().to_pybytes())
