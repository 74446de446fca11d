"""Spark's own examples of its functions, as templates of expressions.

Every function of Spark's registry describes itself with examples (`SELECT lpad('hi', 5, '??')`). An example shows how many
arguments there are and of what kind, so a random expression is an example with other values in its places, and a new
function of another release of Spark comes with its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLE = re.compile(r"^\s*> (SELECT\b.*?);?\s*$", re.IGNORECASE)
# What is in the registry without an example, and forms of SQL that are no function.
MORE = {
    "cast": [
        *(
            f"CAST({v} AS {t})"
            for v in ("1", "1.5", "'1'", "true", "2.5D", "DATE'2024-01-01'", "TIMESTAMP'2024-01-01 00:00:00'")
            for t in ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(3,3)", "STRING",
                      "BOOLEAN", "DATE", "TIMESTAMP")
        ),
        *(f"CAST(array('1') AS ARRAY<{t}>)" for t in ("INT", "BIGINT", "DOUBLE", "STRING", "DATE")),
    ],
    "try_cast": [f"TRY_CAST({v} AS {t})" for v in ("1", "1.5", "'1'") for t in ("TINYINT", "INT", "BIGINT", "DOUBLE")],
    "is": [f"({v}) IS {n}{w}" for v in ("true", "1", "'a'", "1.5D") for n in ("", "NOT ") for w in ("TRUE", "FALSE", "NULL")],
    "-": [*(f"- ({v})" for v in ("1", "1.5", "'1'", "2.5D")), "1 - 2", "'1' - 2.5D", "DATE'2024-01-01' - 1"],
    "+": ["1.5 + 2", "1.5D + 2", "'1' + 1", "DATE'2024-01-01' + 1"],
    "*": ["2 * 3", "1.5 * 2", "1.5D * '2'"],
    "between": ["1 BETWEEN 0 AND 2", "'b' BETWEEN 'a' AND 'c'", "1.5 NOT BETWEEN 1 AND 2.5D"],
    "in": ["1 IN (1, 2, 3)", "'a' NOT IN ('a', 'b')", "1.5 IN (1, '2')"],
    "case": ["CASE WHEN true THEN 1 ELSE 2 END", "CASE 1 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END"],
    "<>": ["1 <> 2", "'a' <> 'b'"],
    "!=": ["1 != 2.5D"],
    "||": ["'a' || 'b'"],
    "bracket": ["array(1, 2)[0]", "array('a')[1]"],
    "extract": [f"extract({p} FROM TIMESTAMP'2024-01-01 01:02:03')" for p in
                ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "DOY", "HOUR", "MINUTE", "SECOND")],
    "date_trunc": [f"date_trunc('{u}', TIMESTAMP'2024-01-01 01:02:03')" for u in
                   ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")],
    "interval": ["DATE'2024-01-01' + INTERVAL 1 MONTH", "TIMESTAMP'2024-01-01 00:00:00' - INTERVAL 3 HOURS"],
    "dateadd": ["dateadd(DAY, 3, DATE'2024-01-01')", "dateadd(HOUR, 3, TIMESTAMP'2024-01-01 00:00:00')"],
    "timestampdiff": ["timestampdiff(HOUR, TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP'2024-01-01 00:00:00')"],
    "to_timestamp": ["to_timestamp('05/03/2024', 'dd/MM/yyyy')"],
    "date_format": ["date_format(TIMESTAMP'2024-01-01 00:00:00', 'yyyy-MM-dd HH:mm:ss.SSS')"],
}  # fmt: skip
AGGREGATES = [
    *(f"{a}({v})" for a in ("count", "min", "max", "first", "last", "sum", "avg", "mode", "any_value")
      for v in ("1", "1.5", "'1'", "2.5D", "true", "DATE'2024-01-01'", "TIMESTAMP'2024-01-01 00:00:00'")),
    *(f"{a}(DISTINCT {v})" for a in ("count", "sum", "avg") for v in ("1", "1.5", "'1'", "2.5D")),
    *(f"{a}({v})" for a in ("median", "stddev", "variance", "var_pop") for v in ("1", "1.5", "'1'", "2.5D")),
    *(f"percentile({v}, 0.25)" for v in ("1", "1.5", "'1'", "2.5D")),
    *(f"{a}(1, 2.5D)" for a in ("min_by", "max_by")),
]  # fmt: skip


class Template(NamedTuple):
    """An expression with values to put others in the places of, and the function it is of."""

    function: str
    tree: exp.Expr


def read_templates(spark: SparkSession) -> tuple[list[Template], list[Template], list[str]]:
    """Templates of scalar expressions and of aggregates, and the names of all of Spark's functions."""
    registry = spark._jsparkSession.sessionState().functionRegistry()
    listed = registry.listFunction()
    scalar: list[Template] = []
    aggregate: list[Template] = []
    names = []
    for i in range(listed.size()):
        identifier = listed.apply(i)
        name = str(identifier.funcName())
        names.append(name)
        for line in str(registry.lookupFunction(identifier).get().getExamples()).splitlines():
            if found := _EXAMPLE.match(line):
                _read_example(name, found[1], scalar, aggregate)
    for name, texts in MORE.items():
        scalar += [Template(name, parse_one(text, dialect="spark")) for text in texts]
    aggregate += [Template(t.split("(")[0], parse_one(t, dialect="spark")) for t in AGGREGATES]
    return scalar, aggregate, sorted(names)


def _read_example(name: str, text: str, scalar: list[Template], aggregate: list[Template]) -> None:
    try:
        tree = parse_one(text, dialect="spark")
    except SqlglotError:
        return
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or tree.find(exp.Window, exp.Subquery):
        return
    body = tree.expressions[0].unalias()
    source = tree.args.get("from_")
    if source is None:
        if not body.find(exp.Column):
            scalar.append(Template(name, body))
        return
    rows = source.this
    if isinstance(rows, exp.Values) and set(tree.args) >= {"from_"} and not tree.args.get("group"):
        first = rows.expressions[0]
        values = first.expressions if isinstance(first, exp.Tuple) else [first]
        alias = rows.args.get("alias")
        named = dict(zip([c.name for c in (alias.columns if alias else [])], values, strict=False))
        body = body.transform(lambda n: named[n.name].copy() if isinstance(n, exp.Column) and n.name in named else n)
        if not body.find(exp.Column):
            aggregate.append(Template(name, body))
