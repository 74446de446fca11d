"""The query graph: streams, static tables, and relations with what they read; what each relation *is*, with
no engine in sight.

`relation.py` says what all relations have in common. Each kind has a file beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.logical.aggregate import Aggregate, Call, JointTime
from headrace.logical.derive import Derive
from headrace.logical.join import Join
from headrace.logical.keyed_join import JoinInput, KeyedJoin
from headrace.logical.lookup import Lookup
from headrace.logical.merge import Merge
from headrace.logical.relation import WINDOW_COLUMNS, JoinColumn, Output, Relation
from headrace.logical.rows import Branch, Rows
from headrace.progress import Policy

LINE_FORMATS = ("csv", "json")


@dataclass(frozen=True)
class Stream:
    """A source of rows, and how its progress is known. `unit` is 'us' for timestamps, 'int' for integers."""

    name: str
    columns: tuple[tuple[str, str], ...]  # name, Spark type
    on: str
    unit: str
    policy: Policy
    horizon: int | None = None  # how far ahead of the clock a progressing value may be (ticks)
    format: str | None = None  # None: the DataFrame is given in Python
    options: tuple[tuple[str, str], ...] = ()
    mark: exp.Expr | None = None  # true for rows that punctuate
    marks_are_data: bool = True  # whether such rows are rows of the stream too
    beside: str | None = None  # the table or function that tells bounds beside the stream
    groups: tuple[str, ...] = ()  # columns: each group of rows makes progress by itself
    idle: int | None = None  # ticks of silence after which progress follows the clock
    partition_by: tuple[exp.Expr, ...] = ()  # what is known about how its rows are, or may be, partitioned
    partition_fixed: bool = False  # they are (PARTITIONED BY); else they may be (PARTITIONABLE BY)
    rate: float | None = None  # rows a second, as declared

    def option(self, name: str) -> str | None:
        """An option of the source, whatever the case of its name."""
        return next((value for key, value in self.options if key.lower() == name.lower()), None)

    @property
    def keeps_malformed(self) -> bool:
        """Whether lines that do not parse are kept with their text: CSV and JSON, unless the options say
        otherwise.
        """
        lines = (self.format or "").lower() in LINE_FORMATS
        mode = (self.option("mode") or "permissive").lower()
        return lines and mode == "permissive" and self.option("columnNameOfCorruptRecord") is None


@dataclass(frozen=True)
class StaticTable:
    """A table that streams are joined with. It has no progress: it is read at the start, and again when
    `refresh` has passed.
    """

    name: str
    schema: tuple[tuple[str, str], ...]  # name, Spark type
    format: str | None = None  # None: the DataFrame is given in Python
    options: tuple[tuple[str, str], ...] = ()
    refresh: int | None = None  # microseconds between two readings

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.schema)

    @property
    def unit(self) -> str:
        """A table has no time."""
        return ""

    def option(self, name: str) -> str | None:
        """An option of the source, whatever the case of its name."""
        return next((value for key, value in self.options if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class Graph:
    """Streams, relations in an order where inputs come first, and which of them are the user's queries."""

    streams: dict[str, Stream]
    relations: dict[str, Relation]
    queries: dict[str, str]  # name -> text
    tables: dict[str, StaticTable] = field(default_factory=dict)

    def streams_of(self, name: str) -> tuple[str, ...]:
        """The streams a relation depends on, sorted; its progress is the minimum of theirs."""
        relation = self.relations[name]
        return tuple(sorted({*relation.own_streams, *(s for parent in relation.reads for s in self.streams_of(parent))}))

    def is_windowed(self, name: str) -> bool:
        """Whether the rows of a relation appear window by window, when progress passes the window's end."""
        return self.relations[name].is_windowed(self)

    def reachable(self, names: Iterable[str]) -> set[str]:
        """The relations `names` and all they read, directly or not."""
        todo, seen = list(names), set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(self.relations[name].reads)
        return seen

    def window_type(self, name: str) -> str:
        """Spark's type of `window_start` and `window_end` of a relation: that of the time it makes progress
        on.
        """
        if self.relations[name].unit == "int":
            return "bigint"
        streams = [self.streams[s] for s in self.streams_of(name)]
        types = {dict(s.columns)[s.on].strip().lower() for s in streams}
        return "timestamp_ntz" if types == {"timestamp_ntz"} else "timestamp"


__all__ = [
    "LINE_FORMATS",
    "WINDOW_COLUMNS",
    "Aggregate",
    "Branch",
    "Call",
    "Derive",
    "Graph",
    "Join",
    "JoinColumn",
    "JoinInput",
    "JointTime",
    "KeyedJoin",
    "Lookup",
    "Merge",
    "Output",
    "Relation",
    "Rows",
    "StaticTable",
    "Stream",
]
