"""What every relation says of itself, so that no other room asks which kind it is.

The first distinction is the important one:

* *raw* relations are rows as they come: selections of streams (`rows.py`, kept flattened, so that a window
  over any tower of selects and unions still reads the stream's own columns, document 003 §4.2), joins
  (`keyed_join.py`, in several kinds), and selections (`derive.py`), lookups (`lookup.py`) and unions (`merge.py`)
  of raw relations;
* a *windowed* relation has `window_start` and `window_end`, and its rows for a window appear once, when
  progress passes the window's end: an aggregation (`aggregate.py`), and selections, lookups and unions of
  windowed relations.

Each kind has a file of its own here. What it says: what it reads, how progress passes through it and where
the values of its columns come from, in which types it compares keys, which late rows pass, how EXPLAIN describes
it, and, asked with a `ColumnTyper`, the types of its columns.

Expressions are sqlglot's, in Spark's dialect, over the columns of the input relation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from sqlglot import exp

from headrace.logical.progress_columns import Inner
from headrace.progress.waits import Waits
from headrace.windows import WindowSpec

if TYPE_CHECKING:
    from headrace.logical.aggregate import Aggregate
    from headrace.logical.apply_function import ProgressColumn
    from headrace.logical.graph import Graph
    from headrace.logical.rows import Rows

WINDOW_COLUMNS = ("window_start", "window_end")

Output = tuple[str, exp.Expr]


@dataclass(frozen=True)
class JoinColumn:
    """A column of a join: that of an input."""

    name: str
    input: int
    column: str


@dataclass(frozen=True)
class KeyedInput:
    """Rows of a relation or a static table, and what is asked of them: whether these are equal."""

    relation: str
    keys: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Selection:
    """Some columns of some rows of a relation or stream."""

    source: str
    outputs: tuple[Output, ...]
    where: exp.Expr | None = None


T_co = TypeVar("T_co", covariant=True)


class ColumnTyper(Protocol[T_co]):
    """Who knows types; a relation says which of these its columns are."""

    def unite(self, name: str, arms: Sequence[Selection]) -> T_co:
        """The rows of all arms, whose columns are made alike."""

    def select(self, name: str, selection: Selection, more: Mapping[str, str]) -> T_co:
        """One selection, over `more` columns of these types too."""

    def join(
        self,
        relation: Relation,
        inputs: Sequence[str],
        given: Sequence[JoinColumn],
        condition: exp.Expr | None,
        more: Mapping[str, str],
    ) -> T_co:
        """Columns that are `given` by inputs, and `more`; the condition is over all of them, the result those
        of the relation.
        """

    def aggregate(self, relation: Aggregate, more: Mapping[str, str]) -> T_co:
        """An aggregation, whose outputs are over its keys and calls, and `more`."""


class Relation:
    """A relation of the query graph."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

        @property
        def unit(self) -> str:
            """Of the time it makes progress on: 'us' for timestamps, 'int' for integers."""

        @property
        def columns(self) -> tuple[str, ...]: ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations (not streams) it reads."""
        raise NotImplementedError

    @property
    def own_streams(self) -> tuple[str, ...]:
        """The streams it reads itself."""
        return ()

    @property
    def is_over_streams(self) -> bool:
        """Whether it is no more than rows of streams, selected and projected."""
        return False

    @property
    def closes(self) -> WindowSpec | None:
        """The windows of its own that progress closes."""
        return None

    @property
    def tables(self) -> tuple[str, ...]:
        """The static tables it reads."""
        return ()

    @property
    def compared(self) -> tuple[KeyedInput, ...]:
        """What it compares, by the i-th keys of each, in types that all of them have."""
        return ()

    def is_windowed(self, graph: Graph) -> bool:
        """Whether its rows appear window by window, when progress passes the window's end."""
        return all(map(graph.is_windowed, self.reads))

    def find_leaves(self, graph: Graph) -> tuple[Rows, ...]:
        """The relations over streams that it is, or unites."""
        return ()

    def find_windows(self, graph: Graph) -> tuple[str, ...]:
        """The relations whose windows it shows."""
        return (self.name,)

    def has_equal(self, graph: Graph, one: str, other: str) -> bool:
        """Whether two columns always have one value, by how they are written."""
        return one == other

    def trace_window_end(self, graph: Graph, column: str) -> tuple[int, int] | None:
        """(offset, scale) of a column that is (window_end - 1 + offset) / scale; None if it is something else."""
        return (1, 1) if column == "window_end" else None

    def list_source_expressions(self, graph: Graph) -> list[exp.Expr]:
        """What is computed for it on rows of streams."""
        return []

    # -- progress --------------------
    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        """The columns that carry progress, by those of what it reads; copies before functions of them."""
        raise NotImplementedError

    def find_values(self, graph: Graph, column: str, waits: Waits, read: Inner) -> Waits:
        """Where the values of a column that carries progress come from, by functions. No row is older than
        what it is made of where all that the column waits for are functions.
        """
        return waits

    def explain_no_progress(self, graph: Graph, column: str | None) -> str:
        """Why columns (or one) carry no progress though they are computed of one that does; empty if none
        is.
        """
        return ""

    def find_passed_streams(self, graph: Graph) -> set[str]:
        """The streams whose rows, late ones too, come through to it at once."""
        return set()

    # -- types --------------------
    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        """The types of its columns, as `typer` has them."""
        raise NotImplementedError

    # -- words --------------------
    def describe(self, graph: Graph) -> str:
        """It in a few words, for EXPLAIN."""
        return "stateless"

    def describe_selection(self) -> str:
        """A selection of it in a few words, for EXPLAIN."""
        return "stateless"

    def use_query_words(self, message: str, quoted: bool = True) -> str:
        """A message about its expressions in the words of the query; `quoted`: names stand in quotes
        there.
        """
        return message
