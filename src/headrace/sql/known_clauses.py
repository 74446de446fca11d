"""What of a parsed text somebody reads; all else is refused, with its place.

sqlglot reads the SQL of thirty systems, and a clause that it understands and nobody here reads would be ignored without a
word. So this is a list of what is *known*: of every kind of node its arguments that the binder, Spark's text or DuckDB's
(`dialect/duck.py`) obey. A kind or an argument that is not in the list is an error, whichever version of sqlglot brings it.

Calls of functions are not listed one by one: what is written in their parentheses is compared with what Spark is given
(`query_parser.py`). Of those with words of their own between the parentheses, like CAST, the arguments are listed too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from headrace.errors import SqlError
from headrace.sql.error_places import error, point_at
from headrace.sql.token_cursor import says

_NO_OVER = (
    "OVER (…) is not supported: group by a window instead. For the best row of each group write max_by(x, y) or min_by(x, y), "
    "max_by(x, y, k) for the best k, and GROUP BY the key; to drop rows that are there twice write SELECT DISTINCT"
)
_ORDER = "results are published once, in any order; order them when you read them"
_SPREAD = "how rows are spread is decided for the whole set; leave it out"
_ONCE = "name the columns with AS in the SELECT list"

_UNNEST = "take arrays apart in what writes the source, or in the frame that Session.stream is given"
_SETS = "ROLLUP, CUBE and GROUPING SETS are not supported: write a query for each grouping"

_BINARY = ("this", "expression")
_OPERATORS: tuple[type[exp.Expr], ...] = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.And, exp.Or, exp.Xor, exp.DPipe, exp.Dot, exp.PropertyEQ),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.RegexpLike, exp.Escape),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.Collate, exp.Filter, exp.Kwarg),
)
_READ: dict[type[exp.Expr], tuple[str, ...]] = {
    # queries
    exp.Select: ("expressions", "distinct", "from_", "joins", "where", "group", "having", "hint"),
    exp.Union: ("this", "expression", "distinct"),
    exp.Subquery: ("this", "alias", "stream_window", "aggregate_window", "within", "version"),
    exp.From: ("this",),
    exp.Table: ("this", "alias", "db", "catalog", "version", "stream_window", "aggregate_window", "within"),
    exp.TableAlias: ("this", "columns"),
    exp.Version: ("this", "kind", "expression"),
    exp.Join: ("this", "on", "side", "kind", "using", "method"),
    **dict.fromkeys((exp.Where, exp.Having), ("this",)),
    exp.Exists: _BINARY,  # a sub-select, or an array and a condition
    exp.Group: ("expressions",),
    exp.Distinct: ("expressions",),
    exp.Alias: ("this", "alias"),
    exp.Star: ("except_", "replace", "rename"),
    # names and values
    exp.Column: ("this", "table", "db", "catalog"),
    exp.Identifier: ("this", "quoted"),
    **dict.fromkeys((exp.Literal, exp.RawString), ("this", "is_string")),
    exp.Null: (),
    exp.HexString: ("this", "is_integer"),
    **dict.fromkeys((exp.Var, exp.Boolean, exp.Paren, exp.Not, exp.Neg, exp.BitwiseNot), ("this",)),
    exp.Interval: ("this", "unit"),
    exp.IntervalSpan: _BINARY,
    **dict.fromkeys((exp.AtTimeZone, exp.FromTimeZone), ("this", "zone")),
    exp.Tuple: ("expressions",),
    exp.Bracket: ("this", "expressions", "offset", "safe"),
    exp.Lambda: ("this", "expressions"),
    exp.DataType: ("this", "expressions", "nested"),
    exp.DataTypeParam: ("this",),
    exp.ColumnDef: ("this", "kind"),
    # conditions
    **dict.fromkeys(_OPERATORS, _BINARY),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.DPipe: (*_BINARY, "safe"),
    exp.Between: ("this", "low", "high"),
    exp.In: ("this", "expressions", "query"),
    **dict.fromkeys((exp.Like, exp.ILike), (*_BINARY, "negate")),
    **dict.fromkeys((exp.Any, exp.All), ("this",)),
    # aggregates
    **dict.fromkeys((exp.IgnoreNulls, exp.RespectNulls), ("this",)),
    exp.WithinGroup: _BINARY,
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    # calls with words of their own
    exp.Anonymous: ("this", "expressions"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    **dict.fromkeys((exp.Cast, exp.TryCast), ("this", "to", "safe", "_type")),
    exp.Extract: _BINARY,
    exp.Trim: (*_BINARY, "position"),
    exp.StrPosition: ("this", "substr", "position"),
    exp.Overlay: ("this", "expression", "from_", "for_"),
    exp.Substring: ("this", "start", "length"),
    exp.Struct: ("expressions",),
    exp.Array: ("expressions",),
}
_TYPES = {  # Spark's; of others sqlglot makes what is nearest, like a TIMESTAMP of a TIME
    *(exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.FLOAT),
    *(exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.TEXT, exp.DType.CHAR, exp.DType.VARCHAR, exp.DType.BINARY),
    *(exp.DType.VARBINARY, exp.DType.DATE, exp.DType.DATETIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ),
    *(exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ, exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT, exp.DType.VARIANT),
}
KNOWN = {kind: frozenset(arguments) for kind, arguments in _READ.items()}
WHOLE = (exp.Hint, exp.JSONPath)  # advice to an optimizer, which changes no result; a text that sqlglot takes apart

# with which of these words a refused clause begins in the text (none: its first name or value), and what to write instead
_WORDS: dict[str, tuple[str, str]] = {
    "Select.with_": ("WITH", "WITH is not supported: register the part as a query of its own and read it by name"),
    "Select.order": ("ORDER", f"ORDER BY: {_ORDER}"),
    "Select.sort": ("SORT", f"SORT BY: {_ORDER}"),
    "Select.limit": (
        "LIMIT FETCH",
        "LIMIT: a continuous query has no last row to count to; for the best k of a window write max_by(x, y, k)",
    ),
    "Select.offset": ("OFFSET", "OFFSET: a continuous query has no order to skip in"),
    "Select.laterals": ("LATERAL", f"LATERAL VIEW is not supported; {_UNNEST}"),
    "Select.qualify": ("QUALIFY", "QUALIFY is not supported; read the query in another one and filter there with WHERE"),
    "Select.windows": ("WINDOW", "a WINDOW clause is not supported; write the window behind the stream, like [RANGE 1 MINUTE]"),
    "Select.cluster": ("CLUSTER", f"CLUSTER BY: {_SPREAD}"),
    "Select.distribute": ("DISTRIBUTE", f"DISTRIBUTE BY: {_SPREAD}"),
    "Select.into": ("INTO", "INTO: a query's results are read by its name; write CREATE QUERY <name> AS before SELECT"),
    "Select.locks": ("FOR LOCK", "FOR UPDATE and FOR SHARE: nothing can be locked here; leave it out"),
    "Select.connect": ("CONNECT", "CONNECT BY is not supported: a continuous query follows no hierarchies"),
    "Select.match": ("MATCH_RECOGNIZE", "MATCH_RECOGNIZE is not supported; join the stream with itself, bounded in time"),
    "Select.kind": ("AS", "SELECT AS STRUCT and AS VALUE are not supported; write struct(a, b) AS s"),
    "Select.exclude": ("EXCLUDE", "EXCLUDE: write * EXCEPT (a, b)"),
    "Select.sample": ("TABLESAMPLE", "TABLESAMPLE is not supported; choose rows by a hash, like WHERE pmod(hash(key), 10) = 0"),
    "Select.pivots": (
        "PIVOT UNPIVOT",
        "PIVOT and UNPIVOT are not supported; write a column for each value, like sum(v) FILTER (WHERE k = 1) AS v1, or for a "
        "row from each column UNION ALL of a SELECT for each",
    ),
    "Union.by_name": ("BY", "BY NAME is not supported: list the columns of all arms in the same order, and write UNION ALL"),
    "Except": ("EXCEPT MINUS", "EXCEPT is not supported; write NOT EXISTS (SELECT 1 FROM b WHERE …), bounded in time"),
    "Intersect": ("INTERSECT", "INTERSECT is not supported; write EXISTS (SELECT 1 FROM b WHERE …), bounded in time"),
    "SimilarTo": ("SIMILAR", "SIMILAR TO is not supported; write LIKE, or RLIKE with a regular expression"),
    "Order.this": (
        "ORDER",
        "ORDER BY in a call is not supported: first and last go by the progressing attribute; for another order write "
        "min_by(x, y) or max_by(x, y)",
    ),
    "Join.global_": ("GLOBAL", "GLOBAL is not supported; leave it out"),
    **dict.fromkeys(("Group", "Rollup", "Cube", "GroupingSets"), ("", f"GROUP BY takes expressions; {_SETS}")),
    "Group.all": ("ALL", "GROUP BY ALL is not supported: list what to group by"),
    "Distinct.on": (
        "ON",
        "DISTINCT ON is not supported; for one row of each key write GROUP BY the key in a window, and min_by(x, y), "
        "max_by(x, y), first(x) or last(x) for the other columns",
    ),
    "Star.ilike": ("ILIKE", "* ILIKE is not supported: list the columns, or write * EXCEPT (a, b)"),
    "Table.joins": ("(", "joins in parentheses are not supported: write them one after the other, or as a query of its own"),
    "Table.only": ("ONLY", "ONLY is not supported; leave it out"),
    "Aliases": ("", f"several names behind AS are not supported: {_ONCE}"),
    "Window": ("OVER", _NO_OVER),
    "Values": ("VALUES", "VALUES is not supported: a query reads streams, tables and queries"),
    "Lateral": ("LATERAL", f"LATERAL is not supported; write a join, or {_UNNEST}"),
    "Unnest": ("UNNEST", f"UNNEST is not supported in FROM; {_UNNEST}"),
    "Parameter": ("", "parameters are not supported: write the value"),
    "Placeholder": ("", "parameters are not supported: write the value"),
    "Cast.format": ("FORMAT", "CAST … FORMAT is not supported; write to_date(x, 'yyyy-MM-dd') or to_timestamp(x, '…')"),
    "Between.symmetric": (
        "SYMMETRIC",
        "BETWEEN SYMMETRIC is not supported: write the lesser bound first, without SYMMETRIC",
    ),
    "QueryTransform": ("TRANSFORM", "TRANSFORM … USING is not supported: tasks run no scripts"),
}


def find_unknown(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str | None]]:
    """The nodes, and arguments of nodes, that nobody reads."""
    todo: list[exp.Expr] = [tree]
    while todo:
        node = todo.pop()
        known = KNOWN.get(type(node))
        unknown_type = isinstance(node, exp.DataType) and isinstance(node.this, exp.DType) and node.this not in _TYPES
        if unknown_type or (known is None and not isinstance(node, exp.Func)):
            yield node, None
            continue
        for key, value in node.args.items():
            if value is None or value is False or value == []:
                continue
            if known is not None and key not in known:
                yield node, key
            else:
                todo += [v for v in _nodes(value) if not isinstance(v, WHOLE)]


def refuse_unknown(body: exp.Expr, script: str, tokens: list[Token]) -> None:
    """Refuse what nobody reads, at its place in the text."""
    for node, key in find_unknown(body):
        raise _refuse(node, key, script, tokens)


def _refuse(node: exp.Expr, key: str | None, script: str, tokens: list[Token]) -> SqlError:
    words, message = _explain(node, key)
    part = node if key is None else next(iter(_nodes(node.args[key])), node)
    for token in tokens:
        begin, *more = token.text.upper().split(" ")  # ORDER BY is one token
        if begin in words.split() and says(token, token.text.upper()):
            return error(script, token.start, token.start + len(begin) - 1 if more else token.end, message)
    return point_at(script, part, message)


def _explain(node: exp.Expr, key: str | None) -> tuple[str, str]:
    """The words one of which a clause begins with, and what to say of it."""
    owners = [type(node).__name__]
    if key is not None and isinstance(node, (exp.Query, exp.Table)):
        owners += ["Select"]  # which has most of the clauses that tables and unions have
    if key is not None and isinstance(node, exp.Cast):
        owners += ["Cast"]
    for owner in owners:
        if (found := _WORDS.get(owner if key is None else f"{owner}.{key}")) is not None:
            return found
    if (found := _WORDS.get(owners[0])) is not None:
        return found
    if key is None and isinstance(node, exp.DataType):
        return node.this.value, f"{node.this.value} is not a type Headrace knows"
    shown = type(node).__name__.upper() if key is None else key.strip("_").upper().replace("_", " ")
    return "", f"{shown} is not supported here; leave it out"


def _nodes(value: Any) -> list[exp.Expr]:
    listed = value if isinstance(value, list) else [value]
    return [v for v in listed if isinstance(v, exp.Expr)]


__all__ = ["KNOWN", "find_unknown", "refuse_unknown"]
