"""Types without Spark: DuckDB's, spelled as Spark spells them.

Good enough to plan, explain and test; a run on Spark asks Spark (`runtime/typer.py`). What Spark would refuse whatever it
is told is refused here too (`check_types.py`), and what only Spark can type is kept, to be said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import duckdb
import pyarrow as pa
from sqlglot import exp

from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type, spark_name
from headrace.dialect.spark_types import spell_type, wider
from headrace.dialect.sql_quotes import quote_name
from headrace.errors import HeadraceError, PlanError, SqlError
from headrace.logical.graph import Aggregate, Graph, JoinColumn, Output, Relation
from headrace.logical.relation import Selection
from headrace.logical.source_formats import MALFORMED
from headrace.logical.user_aggregate import UserAggregate
from headrace.physical.aggregates import check_keys, result_type
from headrace.physical.check_types import ExpressionTypes, UnfitTypeError, check_call
from headrace.physical.scratch_database import open_scratch


def check_types(graph: Graph, user: dict[str, UserAggregate]) -> None:
    """Refuse expressions whose types Spark surely refuses; what else cannot be typed without Spark is for Spark to judge."""
    typer = DuckTyper(graph, user)
    for name in graph.relations:
        try:
            typer.column_types(name)
        except UnfitTypeError:
            raise
        except HeadraceError:
            continue


class DuckTyper:
    """Types of a graph's relations."""

    def __init__(self, graph: Graph, user: dict[str, UserAggregate]) -> None:
        self.graph, self.user = graph, {name.lower(): a for name, a in user.items()}
        self.con = open_scratch()
        self._columns: dict[str, dict[str, str]] = {}
        self.unchecked: dict[str, None] = {}  # calls whose types only Spark knows, in order
        self._guessed: dict[str, set[str]] = {}  # by relation, columns that have such a type: what is said of it is a guess

    def column_types(self, relation: str) -> dict[str, str]:
        if relation not in self._columns:
            try:
                self._columns[relation] = self._compute(relation)
            except SqlError as e:
                if str(e).startswith(("query ", "stream ", "table ")):
                    raise
                raise type(e)(f"query {relation.split('$')[0]}: {e}") from e
        return self._columns[relation]

    def _compute(self, name: str) -> dict[str, str]:
        if name in self.graph.tables:
            return {c: self._declared(f"table {name}", c, t) for c, t in self.graph.tables[name].schema}
        if name in self.graph.streams:
            return {c: self._declared(f"stream {name}", c, t) for c, t in self.graph.streams[name].columns}
        return self.graph.relations[name].type_columns(self.graph, self)

    # -- what relations ask (`Relation.type_columns`) --------------------
    def unite(self, name: str, arms: Sequence[Selection]) -> dict[str, str]:
        columns = self.graph.relations[name].columns
        each = [self.types(arm.source, [e for _, e in arm.outputs]) for arm in arms]
        for arm in arms:
            known = self._know(arm.source)
            known.check_condition(arm.where, "WHERE or ON")
            self._guess(name, {c for c, (_, e) in zip(columns, arm.outputs, strict=True) if not known.find(e)})
        return dict(zip(columns, self._wider(name, each), strict=True))

    def select(self, name: str, selection: Selection, more: Mapping[str, str]) -> dict[str, str]:
        scope = {**_with_start(more), **self.column_types(selection.source)}
        guessed = self._guessed.get(selection.source, set())
        return self._outputs(self.graph.relations[name], selection.outputs, scope, guessed, selection.where, "WHERE or ON")

    def join(
        self,
        relation: Relation,
        inputs: Sequence[str],
        given: Sequence[JoinColumn],
        condition: exp.Expr | None,
        more: Mapping[str, str],
    ) -> dict[str, str]:
        every = {c.name: self.column_types(inputs[c.input])[c.column] for c in given} | dict(more)
        self._guess(relation.name, {c.name for c in given if self._is_guess(inputs[c.input], c.column)})
        if condition is not None:
            sure = {c: t for c, t in every.items() if not self._is_guess(relation.name, c)}
            ExpressionTypes(sure).check_condition(condition, "WHERE or ON")
            translate(condition, every)
        return {c: every[c] for c in relation.columns}

    def aggregate(self, relation: Aggregate, more: Mapping[str, str]) -> dict[str, str]:
        scope = {**_with_start(more)}
        for i, key in enumerate(relation.keys):
            scope[f"k{i}"] = self.types(relation.input, [key])[0]
        check_keys(relation, [scope[f"k{i}"] for i in range(len(relation.keys))])
        known = self._know(relation.input)
        guessed = {f"k{i}" for i, key in enumerate(relation.keys) if not known.find(key)}
        for i, call in enumerate(relation.calls):
            known.check_condition(call.where, "FILTER")
            arguments = self.types(relation.input, list(call.arguments))
            sure = [known.find(a) for a in call.arguments]
            if call.function not in self.user:
                check_call(call, sure)
            guessed |= {f"a{i}"} if "" in sure else set()
            scope[f"a{i}"] = result_type(call, arguments, self.user)
        return self._outputs(relation, relation.outputs, scope, guessed, relation.having, "HAVING")

    def _outputs(
        self,
        relation: Relation,
        outputs: Sequence[Output],
        scope: Mapping[str, str],
        guessed: Collection[str],
        condition: exp.Expr | None,
        clause: str,
    ) -> dict[str, str]:
        """The types of what is computed of columns of these types, of which some are `guessed`."""
        try:
            known = ExpressionTypes({c: t for c, t in scope.items() if c not in guessed})
            for _, output in outputs:
                known.check(output)
            self._guess(relation.name, {n for n, e in outputs if not known.find(e)})
            known.check_condition(condition, clause)
            return {n: translate(e, scope).type for n, e in outputs}
        except (PlanError, SqlError) as e:
            reason = relation.use_query_words(str(e), quoted=not isinstance(e, UnfitTypeError))
            raise type(e)(f"query {relation.name.split('$')[0]}: {reason}") from e

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
        scope, known = self.column_types(relation), self._know(relation)
        return [self._type(scope, known, e) for e in expressions]

    def _know(self, relation: str) -> ExpressionTypes:
        """What is known for sure of expressions over a relation's columns."""
        return ExpressionTypes({c: t for c, t in self.column_types(relation).items() if not self._is_guess(relation, c)})

    def _guess(self, relation: str, columns: set[str]) -> None:
        self._guessed.setdefault(relation, set()).update(columns)

    def _is_guess(self, relation: str, column: str) -> bool:
        return column in self._guessed.get(relation, ())

    def _type(self, scope: Mapping[str, str], known: ExpressionTypes, node: exp.Expr) -> str:
        known.check(node)
        try:
            return translate(node, scope).type
        except PlanError:  # a function that only Spark runs; DuckDB may know its type
            if type_ := known.find(node):
                return type_
            self.unchecked |= dict.fromkeys(known.list_unknown(node))
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


def _with_start(window: Mapping[str, str]) -> dict[str, str]:
    """The columns of a window, with the tick that GSQL's bucket number is computed of."""
    return {**window, "_ws": "bigint"} if window else {}
