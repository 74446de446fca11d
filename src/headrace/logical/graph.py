"""The query graph: what each relation *is*, with no engine in sight.

A relation is one of eight things, and the first distinction is the important one:

* a *raw* relation (`Rows`) is stateless: selections and projections of streams, melded by UNION ALL. It is
  kept flattened, as branches that each read one stream, so that a window over any tower of selects and
  unions still reads the stream's own columns (document 003 §4.2: Select passes progress on, Project maps
  it, Union takes the minimum). A `Join` of relations gives raw rows too, which carry the progressing attributes of
  all its inputs; a `Derive` or a `Merge` of raw relations is raw;
* a `TemporalJoin` gives each row of a relation the row of a stream that was the last of its key at that time: raw rows;
* a `Lookup` joins a relation with a static table. It keeps no state and passes rows and progress on, so it is raw or windowed as
  what it reads;
* a *windowed* relation has `window_start` and `window_end`, and its rows for a window appear once, when
  progress passes the window's end. It is an `Aggregate` over a raw relation (with a window) or over a
  windowed one (with a window of its own, or "the same window", by wid); a `Derive`, a selection or
  projection of one windowed relation; or a `Merge`, a UNION ALL of several.

The columns of a join are called `input.column`, one name each, so that expressions over it are like any others.

Expressions are sqlglot's, in Spark's dialect, over the columns of the input relation. An aggregate's
outputs and HAVING are over `k0…` (group-by values), `a0…` (aggregate values), `window_start`, `window_end`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.logical.join_kind import JoinKind
from headrace.logical.time_bounds import TimeBounds
from headrace.progress import Policy
from headrace.windows import Sliding, WindowSpec

WINDOW_COLUMNS = ("window_start", "window_end")
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
        """Whether lines that do not parse are kept with their text: CSV and JSON, unless the options say otherwise."""
        lines = (self.format or "").lower() in LINE_FORMATS
        mode = (self.option("mode") or "permissive").lower()
        return lines and mode == "permissive" and self.option("columnNameOfCorruptRecord") is None


@dataclass(frozen=True)
class StaticTable:
    """A table that streams are joined with. It has no progress: it is read at the start, and again when `refresh` has passed."""

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
class Branch:
    """One stream, filtered and projected."""

    stream: str
    where: exp.Expr | None
    columns: tuple[tuple[str, exp.Expr], ...]

    def expression(self, name: str) -> exp.Expr:
        return dict(self.columns)[name]


@dataclass(frozen=True)
class Rows:
    name: str
    branches: tuple[Branch, ...]
    time: str | None  # the column that carries progress, if one survives
    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.branches[0].columns)


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
    """A key of an aggregation that is a time of one of a join's inputs, or the start of its tumbling window."""

    key: int
    column: str
    width: int
    offset: int = 0


Output = tuple[str, exp.Expr]


@dataclass(frozen=True)
class Aggregate:
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


@dataclass(frozen=True)
class JoinInput:
    """A relation that takes part in a join: what its rows are matched by, over its own columns."""

    relation: str
    alias: str
    time: str  # the column whose progress the join goes by
    keys: tuple[exp.Expr, ...]  # the i-th keys of all inputs are equal


@dataclass(frozen=True)
class JoinColumn:
    """A column of a join: that of an input."""

    name: str
    input: int
    column: str


@dataclass(frozen=True)
class Join:
    """Rows of several relations with equal keys that are near in time.

    `kind` is inner (any number of inputs), or of two inputs left, full, semi or anti: the first input is the one whose
    rows are kept, or looked up. With one input it is distinct: a row is there if no row before it had the same keys.
    `condition` is over the join's columns, those of `hidden` included, which it has for
    nobody else. With a `window` each result is there once for every window its rows share, and has its bounds.
    """

    name: str
    inputs: tuple[JoinInput, ...]
    kind: JoinKind
    bounds: TimeBounds
    condition: exp.Expr | None
    visible: tuple[JoinColumn, ...]
    hidden: tuple[JoinColumn, ...]
    unit: str
    window: Sliding | None = None
    order: str = ""  # how its inputs came to be joined, for EXPLAIN
    window_times: tuple[tuple[str, bool], ...] = ()  # columns that share the window, and whether it is the end of one's own

    @property
    def columns(self) -> tuple[str, ...]:
        shown = WINDOW_COLUMNS if self.window is not None else ()
        return tuple(c.name for c in self.visible) + shown


@dataclass(frozen=True)
class TemporalJoin:
    """Rows of the first input, each with the version of its key that was valid at its time: the last row of the second input with
    equal keys and a time that is not later. `kind` is inner or left; `condition` is asked of the version that was found.
    """

    name: str
    inputs: tuple[JoinInput, JoinInput]
    kind: JoinKind
    condition: exp.Expr | None
    visible: tuple[JoinColumn, ...]
    hidden: tuple[JoinColumn, ...]
    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.visible)


@dataclass(frozen=True)
class Lookup:
    """Rows of a relation with those of a static table.

    `kind` is inner, left, semi or anti; rows of the relation are kept or looked up, never those of the table. Columns of
    input 0 are the relation's, those of input 1 the table's; `condition` is over them all, as in a join.
    """

    name: str
    input: str
    table: str
    alias: str  # of the table
    kind: JoinKind
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]  # equal: over columns of the relation, over those of the table
    condition: exp.Expr | None
    visible: tuple[JoinColumn, ...]
    hidden: tuple[JoinColumn, ...]
    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.visible)


@dataclass(frozen=True)
class Derive:
    name: str
    input: str
    unit: str
    outputs: tuple[Output, ...]
    where: exp.Expr | None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)


@dataclass(frozen=True)
class Merge:
    name: str
    inputs: tuple[str, ...]
    unit: str
    columns: tuple[str, ...]


Relation = Rows | Join | TemporalJoin | Lookup | Aggregate | Derive | Merge


def inputs_of(relation: Relation) -> tuple[str, ...]:
    """The relations (not streams) a relation reads."""
    if isinstance(relation, Rows):
        return ()
    if isinstance(relation, (Join, TemporalJoin)):
        return tuple(i.relation for i in relation.inputs)
    return relation.inputs if isinstance(relation, Merge) else (relation.input,)


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
        if isinstance(relation, Rows):
            found = {branch.stream for branch in relation.branches}
        else:
            found = {s for parent in inputs_of(relation) for s in self.streams_of(parent)}
        return tuple(sorted(found))

    def is_windowed(self, name: str) -> bool:
        """Whether the rows of a relation appear window by window, when progress passes the window's end."""
        relation = self.relations[name]
        if isinstance(relation, (Rows, Join, TemporalJoin)):
            return False
        if isinstance(relation, Aggregate):
            return not relation.joint
        return all(map(self.is_windowed, inputs_of(relation)))

    def reachable(self, names: Iterable[str]) -> set[str]:
        """The relations `names` and all they read, directly or not."""
        todo, seen = list(names), set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(inputs_of(self.relations[name]))
        return seen

    def window_type(self, name: str) -> str:
        """Spark's type of `window_start` and `window_end` of a relation: that of the time it makes progress on."""
        if self.relations[name].unit == "int":
            return "bigint"
        streams = [self.streams[s] for s in self.streams_of(name)]
        types = {dict(s.columns)[s.on].strip().lower() for s in streams}
        return "timestamp_ntz" if types == {"timestamp_ntz"} else "timestamp"
