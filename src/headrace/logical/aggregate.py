"""An aggregation: over raw rows with a window, or over a windowed relation with a window of its own or in the
same one, by wid.

Its outputs and HAVING are over `k0…` (group-by values), `a0…` (aggregate values), `window_start`,
`window_end`. Instead of a window it may have the times of several inputs of a join, together (document 003
§7.2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.progress_columns import Inner, find_progress_columns
from headrace.logical.relation import WINDOW_COLUMNS, ColumnTyper, Output, Relation, T_co
from headrace.progress.waits import Floor, Waits
from headrace.windows import Sliding, WindowSpec
from headrace.windows.describe_window import describe_window

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class Call:
    """One call of an aggregate function: canonical name, arguments, constant parameters.

    `where` is a FILTER that the arguments cannot express: NULL instead of a value is not the same to `first`.
    """

    function: str
    arguments: tuple[exp.Expr, ...] = ()
    parameters: tuple[float | str, ...] = ()
    text: str = field(default="", compare=False)
    where: exp.Expr | None = None


@dataclass(frozen=True)
class JointTime:
    """A key of an aggregation that is a time of one of a join's inputs, or the start of its tumbling
    window.
    """

    key: int
    column: str
    width: int
    offset: int = 0


@dataclass(frozen=True)
class Aggregate(Relation):
    name: str
    input: str
    window: WindowSpec | None  # None: the window of the input, by wid
    unit: str
    keys: tuple[exp.Expr, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Output, ...]
    having: exp.Expr | None = None
    on: str | None = None  # the column its window names, if it names one
    joint: tuple[JointTime, ...] = ()  # instead of a window: the times of several inputs of a join, together

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.input,)

    @property
    def closes(self) -> WindowSpec | None:
        return None if self.joint else self.window

    def is_windowed(self, graph: Graph) -> bool:
        return not self.joint

    def trace_window_end(self, graph: Graph, column: str) -> tuple[int, int] | None:
        """Bounds of a window, GSQL's bucket number, and copies of these; in the window of its input, keys that are so."""
        if column == "window_end":
            return 1, 1
        found = dict(self.outputs).get(column)
        length = self.window.range if isinstance(self.window, Sliding) else None
        if length is not None and column == "window_start":
            return 1 - length, 1
        if length is not None and isinstance(found, exp.Anonymous) and found.name == "_bucket":
            return 1 - length, int(found.expressions[0].this)
        if not isinstance(found, exp.Column):
            return None
        if found.name not in WINDOW_COLUMNS:
            if self.window is not None or not (found.name.startswith("k") and found.name[1:].isdigit()):
                return None
            found = self.keys[int(found.name[1:])]
            if not isinstance(found, exp.Column):
                return None
        elif self.window is not None:
            return self.trace_window_end(graph, found.name) if found.name != column else None
        return graph.relations[self.input].trace_window_end(graph, found.name)

    def list_source_expressions(self, graph: Graph) -> list[exp.Expr]:
        if not graph.relations[self.input].is_over_streams:
            return []
        every = [*self.keys, *(e for c in self.calls for e in (c.where, *c.arguments))]
        return [e for e in every if e is not None]

    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        """The end of the window, which stands a tick behind the last row it can hold; of joint times, their
        keys.
        """
        if not self.joint:
            return {"window_end": ProgressColumn(self.find_waits(graph, read), graph.window_type(self.name))}
        inner = read(self.input)
        starts = {}
        for t in self.joint:
            waits = tuple(w.then(Floor(t.width, t.offset)) for w in inner[t.column].waits)
            starts[f"k{t.key}"] = ProgressColumn(waits, inner[t.column].type)
        return {n: starts[e.name] for n, e in self.outputs if isinstance(e, exp.Column) and e.name in starts}

    def find_waits(self, graph: Graph, inner_of: Inner | None = None) -> Waits:
        """What its windows wait for; nothing if no column carries their progress."""
        inner = inner_of(self.input) if inner_of is not None else find_progress_columns(graph, self.input)
        column = self.find_window_column(graph, inner)
        return inner[column].waits if column in inner else ()

    def find_window_column(self, graph: Graph, inner: Mapping[str, ProgressColumn] | None = None) -> str:
        """The column of what it reads that its windows are on; "" if none carries progress."""
        if graph.is_windowed(self.input):
            return "window_end"
        return self.joint[0].column if self.joint else self.find_time(graph, inner) or ""

    def find_time(self, graph: Graph, columns: Mapping[str, ProgressColumn] | None = None) -> str | None:
        """The column of raw rows that its windows are on: the one it names, or the only one that is no
        function of another.
        """
        source = graph.relations[self.input]
        if self.on is None and source.is_over_streams:
            return next((leaf.time for leaf in source.find_leaves(graph)), None)
        inner = columns or find_progress_columns(graph, self.input)
        if self.on is not None:
            return next((c for c in inner if c.lower() == self.on.lower()), None)
        plain = [n for n, one in inner.items() if not one.applied] or list(inner)
        return plain[0] if len(plain) == 1 else None

    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        return typer.aggregate(self, dict.fromkeys(WINDOW_COLUMNS, graph.window_type(self.name)))

    def describe(self, graph: Graph) -> str:
        if self.joint:
            return "by " + " and ".join(t.column for t in self.joint)
        return describe_window(self.window, self.unit) if self.window else "same window"

    def use_query_words(self, message: str, quoted: bool = True) -> str:
        words = {f"a{i}": call.text.lower() for i, call in enumerate(self.calls)}
        words |= {f"k{i}": key.sql(dialect="spark") for i, key in enumerate(self.keys)}
        names = r"[`\"]([ak]\d+)[`\"]" if quoted else r"\b([ak]\d+)\b"
        message = re.sub(names, lambda m: words.get(m[1], m[0]), message)
        in_quotes = r'"[^"\n]*"'  # Spark shows whole expressions so
        message = re.sub(
            in_quotes, lambda m: re.sub(r"\b[ak]\d+\b", lambda n: words.get(n[0], n[0]), m[0]), message
        )
        return re.sub(r"\b_bucket\(\d+\)", "the window's number", message, flags=re.IGNORECASE)
