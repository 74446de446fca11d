"""How Spark orders arrays and structs: element by element, NULL before everything.

DuckDB orders them element by element too, with NULL behind everything; so what is compared is a copy in which every
element is preceded by whether it is there.
"""

from __future__ import annotations

from headrace.dialect import spark_types as t
from headrace.dialect.sql_quotes import quote_name


def is_nested(type_: str) -> bool:
    """Whether values of the type have elements."""
    return type_.startswith(("array<", "struct<"))


def order_key(sql: str, type_: str, depth: int = 0) -> str:
    """SQL whose order in DuckDB is the order of `sql` in Spark, and which is NULL where that is NULL."""
    if type_.startswith("array<"):
        element = f"hr_o{depth}"
        inner = order_key(element, type_[6:-1], depth + 1)
        return f"list_transform({sql}, lambda {element}: {{'n': {element} IS NOT NULL, 'v': {inner}}})"
    if type_.startswith("struct<"):
        listed = []
        for i, (name, inner) in enumerate(t.fields(type_)):
            field = f"({sql}).{quote_name(name)}"
            listed += [f"'n{i}': {field} IS NOT NULL", f"'v{i}': {order_key(field, inner, depth + 1)}"]
        return f"CASE WHEN ({sql}) IS NOT NULL THEN {{{', '.join(listed)}}} END"
    return sql
