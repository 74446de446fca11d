"""The statements of Headrace, as data: what a text says, before anything is known about the world.

`CREATE STREAM` names a source, its columns and how its progress is known; `CREATE TABLE` names a table that streams are joined
with; `CREATE QUERY` names a continuous
query. The body of a query is a sqlglot expression in Spark's dialect. A bracket window is kept in the body
as `table.args["stream_window"]` (behind a table) or `table.args["aggregate_window"]` (behind an aggregate), WITHIN as
`table.args["within"]`, and a GSQL alias in `GROUP BY` as an `exp.Alias` there (DESIGN §4.4).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp


@dataclass(frozen=True)
class ColumnDef:
    name: str
    type: str


@dataclass(frozen=True)
class ProgressClause:
    """How progress is known: the words, not yet in ticks. Without a slack and punctuation the stream is ordered."""

    slack: str | int | None = None
    rows: int | None = None  # a slack in rows
    by: exp.Expr | None = field(default=None, hash=False)  # true for rows that punctuate
    data: bool = True  # whether those are rows of the stream too
    beside: str | None = None  # table or function that tells bounds
    groups: tuple[str, ...] = ()  # columns; each group of rows makes progress by itself
    idle: str | int | None = None
    horizon: str | int | None = None


@dataclass(frozen=True)
class CreateStream:
    name: str
    columns: tuple[ColumnDef, ...]  # none: those of the source
    on: str
    progress: ProgressClause
    format: str
    options: dict[str, str] = field(hash=False)
    text: str = ""
    script: str = ""  # the text positions in its predicate point into
    partition_by: tuple[exp.Expr, ...] = field(default=(), hash=False)
    partition_fixed: bool = False  # PARTITIONED BY; else PARTITIONABLE BY
    rate: float | None = None  # rows a second


@dataclass(frozen=True)
class CreateTable:
    name: str
    columns: tuple[ColumnDef, ...]  # none: those of the source
    format: str
    options: dict[str, str] = field(hash=False)
    refresh: str | None = None
    text: str = ""


@dataclass(frozen=True)
class CreateQuery:
    name: str
    body: exp.Expr = field(hash=False)
    text: str = ""
    script: str = ""  # the text positions in `body` point into


@dataclass(frozen=True)
class BracketWindow:
    """`[RANGE 10 MINUTES SLIDE 1 MINUTE …]`: the words, not yet in ticks."""

    range: str | None  # None: RANGE ALL (landmark)
    slide: str | None
    origin: str | None = None
    align: str = "start"
    reset: str | None = None
    attribute: str | None = None
    tumbling: bool = False  # RANGE TUMBLING: of a join, rows of the same window
    start: int = 0  # place in the script
    end: int = 0


@dataclass(frozen=True)
class Within:
    """`JOIN b WITHIN 10 SECONDS` or `WITHIN (5 SECONDS, 10 SECONDS)`, as in KSQL: how much earlier and later b's rows may be."""

    before: str
    after: str
    start: int = 0
    end: int = 0


Statement = CreateStream | CreateTable | CreateQuery
