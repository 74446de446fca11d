"""Keys as Spark groups and joins by them."""

from __future__ import annotations

from headrace.dialect.duck_cast import duck_type


def normalize_key(sql: str, type_: str) -> str:
    """A key as Spark groups by it: 0.0 and -0.0 are one value, shown as 0.0."""
    return f"CASE WHEN {sql} = 0 THEN 0::{duck_type(type_)} ELSE {sql} END" if type_ in ("float", "double") else sql
