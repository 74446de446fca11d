"""Spark's answer to "what type is this?".

Spark is the authority on names and types of scalar expressions and aggregates: every relation is analysed
by Spark over a row of typed NULLs, so nothing is read and a mistake shows when the query is registered,
with Spark's own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType
from sqlglot import exp

from headrace.dialect.duck import spark_sql
from headrace.dialect.duck_cast import spark_name
from headrace.dialect.java_numbers import use_java
from headrace.dialect.sql_quotes import quote_spark_name
from headrace.errors import SqlError
from headrace.logical.functions import nearest_aggregate
from headrace.logical.graph import Aggregate, Call, Graph, JoinColumn, Output, Relation
from headrace.logical.relation import Selection
from headrace.logical.source_formats import MALFORMED
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.aggregates import check_keys
from headrace.runtime.spark_faults import quiet

_BUCKET = re.compile(r"\b_bucket\(", re.IGNORECASE)
_UNKNOWN = re.compile(r"UNRESOLVED_ROUTINE.*?`(\w+)`")
_SPARK = {
    "first_ignore_nulls": "first",
    "last_ignore_nulls": "last",
    "percentile_desc": "percentile",
    "percentile_weighted": "percentile",
    "mode_desc": "mode",
    "max_by_k": "max_by",
    "min_by_k": "min_by",
}


class SparkTyper:
    """Types of a graph's relations, asked once each."""

    def __init__(self, spark: SparkSession, graph: Graph, user: Mapping[str, UserAggregate]) -> None:
        self.spark, self.graph, self.user = spark, graph, user
        self._schemas: dict[str, StructType] = {}
        use_java(java_release(spark))

    def column_types(self, relation: str) -> dict[str, str]:
        return {f.name: f.dataType.simpleString() for f in self.schema(relation)}

    def types(self, relation: str, expressions: list[exp.Expr]) -> list[str]:
        spelled = [spark_sql(e) for e in expressions]
        known = {quote_spark_name(c): t for c, t in self.column_types(relation).items()}  # Spark need not be asked again
        if asked := [e for e in dict.fromkeys(spelled) if e not in known]:
            listed = ", ".join(f"{e} AS e{i}" for i, e in enumerate(asked))
            schema = self._analyse(relation, f"SELECT {listed} FROM {self._rows(relation)}")
            known |= {e: f.dataType.simpleString() for e, f in zip(asked, schema, strict=True)}
        return [known[e] for e in spelled]

    def result_schema(self, relation: str) -> bytes:
        return _arrow(self.schema(relation))

    def late_schema(self, stream: str) -> bytes:
        late = StructType()
        for f in self.schema(stream):  # late rows travel as JSON, where a map is a text
            late = late.add(f.name, "string" if isinstance(f.dataType, MapType) else f.dataType)
        if self.graph.streams[stream].keeps_malformed:
            late = late.add(MALFORMED, "string")
        return _arrow(late.add("_reason", "string"))

    def schema(self, name: str) -> StructType:
        if name not in self._schemas:
            self._schemas[name] = self._compute(name)
        return self._schemas[name]

    def _compute(self, name: str) -> StructType:
        if name in self.graph.tables:
            return self._analyse(name, f"SELECT * FROM {_row(dict(self.graph.tables[name].schema))}")
        if name in self.graph.streams:
            columns = dict(self.graph.streams[name].columns)
            return self._analyse(name, f"SELECT * FROM {_row(columns)}")
        return self.graph.relations[name].type_columns(self.graph, self)

    # -- what relations ask (`Relation.type_columns`) --------------------
    def unite(self, name: str, arms: Sequence[Selection]) -> StructType:
        return self._analyse(name, " UNION ALL ".join(_select(a.outputs, self._rows(a.source), a.where) for a in arms))

    def select(self, name: str, selection: Selection, more: Mapping[str, str]) -> StructType:
        rows = self._rows(selection.source, _with_start(more))
        return self._analyse(name, _select(selection.outputs, rows, selection.where))

    def join(
        self,
        relation: Relation,
        inputs: Sequence[str],
        given: Sequence[JoinColumn],
        condition: exp.Expr | None,
        more: Mapping[str, str],
    ) -> StructType:
        """The columns of a join; the condition is analysed with them."""
        sources = [self.schema(name) for name in inputs]
        columns = {c.name: _ddl(sources[c.input][c.column].dataType) for c in given} | dict(more)
        listed = ", ".join(quote_spark_name(c) for c in relation.columns) or "1"
        where = f" WHERE {spark_sql(condition)}" if condition is not None else ""
        return self._analyse(relation.name, f"SELECT {listed} FROM {_row(columns)}{where}")

    def aggregate(self, relation: Aggregate, more: Mapping[str, str]) -> StructType:
        source = self._aggregated(relation, _with_start(more))
        return self._analyse(relation.name, _select(relation.outputs, source, relation.having))

    def _aggregated(self, relation: Aggregate, scope: Mapping[str, str]) -> str:
        """A relation of the keys and aggregates, and of the columns in `scope`."""
        listed = [f"{spark_sql(k)} AS k{i}" for i, k in enumerate(relation.keys)]
        listed += [f"{self._call(c)} AS a{i}" for i, c in enumerate(relation.calls)]
        listed += [f"CAST(NULL AS {t}) AS {quote_spark_name(c)}" for c, t in scope.items()]
        if any("map<" in type_ for type_ in self.column_types(relation.input).values()):
            check_keys(relation, self.types(relation.input, list(relation.keys)))
        keys = ", ".join(spark_sql(k) for k in relation.keys)
        group = f" GROUP BY {keys}" if keys and relation.calls else ""
        return f"(SELECT {', '.join(listed)} FROM {self._rows(relation.input)}{group})"

    def _rows(self, relation: str, more: Mapping[str, str] | None = None) -> str:
        """A relation of no rows with the columns of this one, and `more`."""
        return _row({**(more or {}), **{f.name: _ddl(f.dataType) for f in self.schema(relation)}})

    def _call(self, call: Call) -> str:
        if call.function in self.user:
            return f"max(CAST(NULL AS {spark_name(self.user[call.function].returns)}))"
        arguments = [spark_sql(a) for a in call.arguments]
        constants = [str(p) if isinstance(p, str) else _number(p) for p in call.parameters]
        function = call.function.removesuffix("_distinct")
        at = 1 if function == "percentile_weighted" else len(arguments)  # the frequency comes after the percentage
        text = ", ".join([*arguments[:at], *constants, *arguments[at:]]) or "*"
        distinct = "DISTINCT " if function != call.function else ""
        return f"{_SPARK.get(function, function)}({distinct}{text})"

    def _analyse(self, name: str, sql: str) -> StructType:
        try:
            with quiet():
                schema = self.spark.sql(sql).schema
        except PySparkException as e:  # of its types or its text, or of numbers in it that no type holds
            text = str(e).strip().split("; line")[0].split("\n")[0]
            if (relation := self.graph.relations.get(name)) is not None:
                text = relation.use_query_words(text)
            if unknown := _UNKNOWN.search(text):
                called = unknown[1].lower()
                near = nearest_aggregate(called, self.user)
                text = f"there is no function {called!r}" + (f". Did you mean {near!r}?" if near else "")
            kinds = (("stream", self.graph.streams), ("table", self.graph.tables))
            kind = next((word for word, known in kinds if name in known), "query")
            raise SqlError(f"{kind} {name.split('$')[0]}: {text}") from e
        if collated := [f for f in schema if " collate " in f.dataType.simpleString()]:
            kept = f"a value of the type {collated[0].dataType.simpleString()} cannot be kept"
            raise SqlError(f"{name.split('$')[0]}: {kept}, since equal texts are equal letters: compare it in WHERE")
        return schema


def java_release(spark: SparkSession) -> int:
    """The release of Java that Spark runs on, like 17."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return int(jvm.java.lang.System.getProperty("java.specification.version"))


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and value > 1 else repr(value)


def _spoken(sql: str) -> str:
    """GSQL's bucket number is Headrace's own; to Spark it is a number."""
    return _BUCKET.sub("bigint(", sql)


def _with_start(window: Mapping[str, str]) -> dict[str, str]:
    """The columns of a window, with the tick that GSQL's bucket number is computed of."""
    return {**window, "_ws": "bigint"} if window else {}


def _select(outputs: Sequence[Output], source: str, where: exp.Expr | None) -> str:
    listed = ", ".join(f"{_spoken(spark_sql(e))} AS {quote_spark_name(n)}" for n, e in outputs)
    return f"SELECT {listed} FROM {source}" + (f" WHERE {_spoken(spark_sql(where))}" if where is not None else "")


def _row(columns: Mapping[str, str]) -> str:
    """A relation of no rows with these columns."""
    listed = ", ".join(f"CAST(NULL AS {t}) AS {quote_spark_name(c)}" for c, t in columns.items()) or "1"
    return f"(SELECT {listed} FROM range(0))"


def _ddl(type_: DataType) -> str:
    """A type as it is written in SQL; a schema's own text does not quote the names of fields."""
    if isinstance(type_, StructType):
        return f"struct<{','.join(f'{quote_spark_name(f.name)}:{_ddl(f.dataType)}' for f in type_)}>"
    if isinstance(type_, ArrayType):
        return f"array<{_ddl(type_.elementType)}>"
    if isinstance(type_, MapType):
        return f"map<{_ddl(type_.keyType)},{_ddl(type_.valueType)}>"
    return str(type_.simpleString())


def _arrow(schema: StructType) -> bytes:
    arrow = to_arrow_schema(schema, timezone="UTC")
    return pa.schema([f.with_nullable(True) for f in arrow]).serialize().to_pybytes()
