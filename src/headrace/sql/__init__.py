"""SQL text to statements and, with what is known of streams and queries, to a query graph."""

from headrace.sql.parse import parse_query, parse_script
from headrace.sql.statements import (
    BracketWindow,
    ColumnDef,
    CreateQuery,
    CreateStream,
    CreateTable,
    Statement,
    Within,
)

__all__ = [
    "BracketWindow",
    "ColumnDef",
    "CreateQuery",
    "CreateStream",
    "CreateTable",
    "Statement",
    "Within",
    "parse_query",
    "parse_script",
]
