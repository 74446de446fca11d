"""Which streams a task can read from files by itself, and how.

A stream of local Parquet files whose scalar expressions are all simple enough that DuckDB is sure to give
Spark's answers (columns, comparisons, logic, integer arithmetic, bits, CASE; not text, time or floating-point
functions) need not pass through Spark's own reader. Anything else does: an option we do not know, an
expression, a nested type. Which way a stream is read never changes a result, only the time it takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headrace.dialect import spark_types as t
from headrace.dialect.duck import translate
from headrace.errors import PlanError
from headrace.logical.graph import Graph, Stream
from headrace.optimizer.plan import FedPlan, Plan, Reading

# What Spark's file source knows of listing files; it goes on doing that.
_OPTIONS = {
    "path",
    "maxfilespertrigger",
    "maxbytespertrigger",
    "latestfirst",
    "maxfileage",
    "filenameonly",
    "pathglobfilter",
    "recursivefilelookup",
    "cleansource",
    "sourcearchivedir",
    "maxcachedfiles",
}
_TYPES = {*t.INTEGERS, "float", "double", "string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"}
_SIMPLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.Between, exp.In, exp.Case, exp.If, exp.Coalesce),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot),
    *(exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Neg, exp.Cast, exp.DataType),
)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Neg)
_ALIKE = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Is, exp.Case, exp.If, exp.Coalesce),
)


def choose_reader(plan: FedPlan) -> Plan:
    """A set is read in one way: in the tasks if all its streams can be."""
    reasons = {name: plan.settings.spark_reads or _find_reason(plan, s) for name, s in plan.graph.streams.items()}
    odd = next((name for name, reason in reasons.items() if reason), None)
    readings = {name: Reading(odd is None, reason or f"as {odd} is") for name, reason in reasons.items()}
    return plan.then(Plan, readings=readings)


def may_read_in_tasks(graph: Graph) -> bool:
    """Whether tasks may be able to read all streams, as far as the words tell: before any type is known."""
    expressions = [e for relation in graph.relations.values() for e in relation.list_source_expressions(graph)]
    simple = all(isinstance(node, _SIMPLE) for e in expressions for node in e.walk())
    return bool(graph.queries) and simple and all(s.format == "parquet" for s in graph.streams.values())


def _find_reason(plan: FedPlan, stream: Stream) -> str:
    """Why Spark must read a stream; nothing if the tasks can."""
    if (stream.format or "").lower() != "parquet":
        return f"its source is {stream.format or 'a DataFrame'}"
    options = {k.lower(): v for k, v in stream.options}
    if unknown := sorted(options.keys() - _OPTIONS):
        return f"its option {unknown[0]}"
    path = options.get("path", "")
    if "://" in path.removeprefix("file://"):
        return "its files are not local"
    pattern = stream.name not in plan.settings.folders and any(c in path for c in "*?[{")
    if pattern and "." not in path.rpartition("/")[2]:
        return "its path is a pattern of folders"  # and what is below them could mean partition columns
    scope = plan.types[stream.name]
    for name, type_ in scope.items():
        if type_ not in _TYPES and not t.is_decimal(type_):
            return f"{name} is of type {type_}"
    for column in plan.columns[stream.name]:
        odd = next((n for n in column.expression.walk() if not _simple(n, scope)), None)
        try:
            same = translate(column.expression, scope).type == column.type
        except (PlanError, KeyError):
            same = False
        if odd is not None or not same:
            return f"{(odd or column.expression).sql(dialect='spark')} is for Spark to compute"
    return ""


def _simple(node: exp.Expr, scope: Mapping[str, str]) -> bool:
    """Whether a node of an expression is one of those both engines are sure to agree on."""
    if not isinstance(node, _SIMPLE) or node.args.get("safe"):
        return False
    try:
        if isinstance(node, _ARITHMETIC):
            return translate(node, scope).type in t.INTEGERS
        if isinstance(node, exp.Cast):
            source, target = translate(node.this, scope).type, translate(node, scope).type
            return source == target or (source in (*t.INTEGERS, "boolean") and target in t.INTEGERS)
        if isinstance(node, _ALIKE):
            return _alike([translate(n, scope).type for n in _values(node)])
    except (PlanError, KeyError):
        return False
    return True


def _values(node: exp.Expr) -> list[exp.Expr]:
    """The operands that an operator makes alike."""
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        return [*(i.args["true"] for i in node.args["ifs"]), *([default] if default is not None else [])]
    if isinstance(node, exp.If):
        return [v for k in ("true", "false") if (v := node.args.get(k)) is not None]
    if isinstance(node, exp.Between):
        return [node.this, node.args["low"], node.args["high"]]
    return [node.this, *node.expressions, *([node.expression] if node.args.get("expression") else [])]


def _alike(types: list[str]) -> bool:
    """No text that would have to be read as a number or a time first."""
    kinds = {"number" if x in t.NUMBERS or t.is_decimal(x) else x for x in types if x != "void"}
    return len(kinds) <= 1
