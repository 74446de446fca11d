"""Raw rows over streams: branches that each read one stream, filtered and projected, united by UNION ALL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn, apply_function, canonical_type
from headrace.logical.progress_columns import Inner, meld_columns, order_columns
from headrace.logical.relation import ColumnTyper, Relation, Selection, T_co
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.waits import Wait, unite_waits

if TYPE_CHECKING:
    from headrace.logical.graph import Graph, Stream


@dataclass(frozen=True)
class Branch:
    """One stream, filtered and projected."""

    stream: str
    where: exp.Expr | None
    columns: tuple[tuple[str, exp.Expr], ...]

    def expression(self, name: str) -> exp.Expr:
        return dict(self.columns)[name]


@dataclass(frozen=True)
class Rows(Relation):
    name: str
    branches: tuple[Branch, ...]
    time: str | None  # the column that carries progress, if one survives
    unit: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.branches[0].columns)

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def own_streams(self) -> tuple[str, ...]:
        return tuple(branch.stream for branch in self.branches)

    @property
    def is_over_streams(self) -> bool:
        return True

    def is_windowed(self, graph: Graph) -> bool:
        return False

    def find_leaves(self, graph: Graph) -> tuple[Rows, ...]:
        return (self,)

    def has_equal(self, graph: Graph, one: str, other: str) -> bool:
        return all(b.expression(one) == b.expression(other) for b in self.branches)

    def list_source_expressions(self, graph: Graph) -> list[exp.Expr]:
        every = (e for b in self.branches for e in (b.where, *(c for _, c in b.columns)))
        return [e for e in every if e is not None]

    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        """Of a selection that copies it, the stream's own column; of a union, what all its branches have."""
        if self.time is None:
            return {}
        known = read_branches(graph.streams, self.branches)
        if self.time not in known:  # a stream that is known by name alone
            waits = unite_waits([Wait(branch.stream) for branch in self.branches])
            return {self.time: ProgressColumn(waits, "bigint" if self.unit == "int" else "timestamp")}
        return order_columns({self.time: known[self.time], **known}, self.unit)

    def explain_no_progress(self, graph: Graph, column: str | None) -> str:
        chosen = ((b, e) for b in self.branches for n, e in b.columns if column in (None, n))
        reasons = (apply_branch(graph.streams, branch, e) for branch, e in chosen)
        return next((reason for reason in reasons if isinstance(reason, str)), "")

    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        return typer.unite(self.name, [Selection(b.stream, b.columns, b.where) for b in self.branches])


def read_branches(streams: Mapping[str, Stream], branches: Iterable[Branch]) -> dict[str, ProgressColumn]:
    """The columns that carry progress in every branch, in one unit."""
    found: list[dict[str, ProgressColumn]] = []
    for branch in branches:
        each = {n: apply_branch(streams, branch, e) for n, e in branch.columns}
        found.append({n: one for n, one in each.items() if isinstance(one, ProgressColumn)})
    return {n: one for n in found[0] if (one := meld_columns([each.get(n) for each in found])) is not None}


def apply_branch(streams: Mapping[str, Stream], branch: Branch, node: exp.Expr) -> ProgressColumn | str | None:
    """The progress an expression over a stream carries."""
    stream = streams.get(branch.stream)
    if stream is None:
        return None
    own = ProgressColumn((Wait(stream.name),), canonical_type(dict(stream.columns)[stream.on]))
    return apply_function(node, lambda n: own if isinstance(n, exp.Column) and n.name == stream.on else None)


def find_branch_steps(graph: Graph, branch: Branch, column: str | None) -> tuple[MonotoneStep, ...]:
    """From the progressing value of a stream to that of a column which carries its progress."""
    found = apply_branch(graph.streams, branch, branch.expression(column)) if column is not None else None
    return found.waits[0].functions if isinstance(found, ProgressColumn) else ()
