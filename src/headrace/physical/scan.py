"""Which streams a task can read from files by itself, and how.

A stream of local Parquet files whose scalar expressions are all simple enough that DuckDB is sure to give
Spark's answers (columns, comparisons, logic, integer arithmetic, bits, CASE; not text, time or floating-point
functions) need not pass through Spark's own reader. Anything else does: an option we do not know, an
expression, a nested type. Which way a stream is read never changes a result, only the time it takes.
"""

from __future__ import annotations

from sqlglot import exp, parse_one

from headrace.errors import PlanError
from headrace.kernels.scan import Scan
from headrace.logical.plan import Stream
from headrace.physical import spark_types as t
from headrace.physical.duck import translate
from headrace.physical.duck_cast import duck_type
from headrace.physical.frame import Frame, Typer

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
_TICKS = {
    "timestamp": 'epoch_us("{}")',
    "timestamp_ntz": 'epoch_us("{}")',
    "date": "TRY_CAST(date_diff('day', DATE '1970-01-01', \"{}\")::HUGEINT * 86400000000 AS BIGINT)",
}
_SIMPLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.Between, exp.In, exp.Case, exp.If, exp.Coalesce),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot),
    *(exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Neg, exp.Cast, exp.DataType),
)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Neg)
_ALIKE = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ),
    *(exp.Between, exp.In, exp.Case, exp.If, exp.Coalesce),
)


def scan_of(stream: Stream, frame: Frame, typer: Typer, folder: str = "") -> tuple[Scan | None, str]:
    """How the stream's files (below `folder`, if they are not named by a pattern) are read in the task; or None,
    and why Spark must read them.
    """
    if (stream.format or "").lower() != "parquet":
        return None, f"its source is {stream.format or 'a DataFrame'}"
    options = {k.lower(): v for k, v in stream.options}
    if unknown := sorted(options.keys() - _OPTIONS):
        return None, f"its option {unknown[0]}"
    path = options.get("path", "")
    if "://" in path.removeprefix("file://"):
        return None, "its files are not local"
    if not folder and not _of_files(path):
        return None, "its path is a pattern of folders"
    scope = typer.column_types(stream.name)
    for column, type_ in scope.items():
        if type_ not in _TYPES and not t.is_decimal(type_):
            return None, f"{column} is of type {type_}"
    select, read = [f"{_tick(stream, scope)} AS _t"], {stream.on}
    types = typer.types(stream.name, [e for _, e in frame.columns[stream.name]])
    for (name, text), type_ in zip(frame.columns[stream.name], types, strict=True):
        node = parse_one(text, dialect="spark")
        odd = next((n for n in node.walk() if not _simple(n, scope)), None)
        try:
            value = translate(node, scope)
        except (PlanError, KeyError):
            value = None
        if odd is not None or value is None or value.type != type_:
            return None, f"{(odd or node).sql(dialect='spark')} is for Spark to compute"
        select.append(f"CAST({value.sql} AS {duck_type(type_)}) AS {name}")
        read |= {c.name for c in node.find_all(exp.Column)}
    if options.get("recursivefilelookup", "").lower() == "true":
        folder = ""  # names of folders then mean nothing
    columns = tuple(c for c in scope if c in read)
    tick = _tick(stream, scope)
    return Scan(stream.name, ", ".join(select), tick, columns, typer.result_schema(stream.name), folder), ""


def read_in_tasks(stream: Stream, frame: Frame, typer: Typer) -> tuple[bool, str]:
    """Whether tasks will read the stream, as far as its declaration tells, and why not."""
    path = next((v for k, v in stream.options if k.lower() == "path"), "")
    scan, why = scan_of(stream, frame, typer, folder="" if any(c in path for c in "*?[{") else "/")
    return scan is not None, why


def _of_files(path: str) -> bool:
    """Whether a pattern can only match files: then no folder below it means a partition column."""
    return "." in path.rpartition("/")[2]


def _tick(stream: Stream, scope: dict[str, str]) -> str:
    return _TICKS.get(scope[stream.on], 'CAST("{}" AS BIGINT)').format(stream.on.replace('"', '""'))


def _simple(node: exp.Expr, scope: dict[str, str]) -> bool:
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


__all__ = ["read_in_tasks", "scan_of"]
