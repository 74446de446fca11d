"""UNION ALL of relations that are not all just rows of streams: all raw, or all windowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.progress_columns import Inner, meld_columns
from headrace.logical.relation import ColumnTyper, Relation, Selection, T_co

if TYPE_CHECKING:
    from headrace.logical.graph import Graph
    from headrace.logical.rows import Rows


@dataclass(frozen=True)
class Merge(Relation):
    name: str
    inputs: tuple[str, ...]
    unit: str
    columns: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        return self.inputs

    def find_leaves(self, graph: Graph) -> tuple[Rows, ...]:
        return tuple(leaf for arm in self.inputs for leaf in graph.relations[arm].find_leaves(graph))

    def find_windows(self, graph: Graph) -> tuple[str, ...]:
        return tuple(shown for arm in self.inputs for shown in graph.relations[arm].find_windows(graph))

    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        """What all its arms have in the same place."""
        arms = [(read(i), graph.relations[i].columns) for i in self.inputs]
        windowed = graph.is_windowed(self.name)
        found = {}
        for place, column in enumerate(self.columns):
            one = meld_columns([progress.get(column if windowed else columns[place]) for progress, columns in arms])
            if one is not None:
                found[column] = one
        return found

    def find_passed_streams(self, graph: Graph) -> set[str]:
        return {s for arm in self.inputs for s in graph.relations[arm].find_passed_streams(graph)}

    def type_columns(self, graph: Graph, typer: ColumnTyper[T_co]) -> T_co:
        arms = [
            Selection(i, tuple((c, exp.column(exp.to_identifier(c, quoted=True))) for c in graph.relations[i].columns))
            for i in self.inputs
        ]
        return typer.unite(self.name, arms)

    def describe(self, graph: Graph) -> str:
        return "union"
