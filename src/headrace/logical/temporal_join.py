"""`FOR SYSTEM_TIME AS OF`: each row of a relation with the version of its key that was valid at its time, the
last row of another relation with equal keys and a time that is not later. Raw rows.

Progress comes from the time of the rows, and waits for the versions too. Results of windows take part at the
end of their window, on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.logical.apply_function import ProgressColumn
from headrace.logical.join_kind import JoinKind
from headrace.logical.keyed_join import JoinInput, KeyedJoin, RowBound
from headrace.logical.progress_columns import Inner
from headrace.logical.progress_rules import find_own_value
from headrace.logical.relation import JoinColumn
from headrace.progress.waits import Waits, unite_waits

if TYPE_CHECKING:
    from headrace.logical.graph import Graph


@dataclass(frozen=True)
class TemporalJoin(KeyedJoin):
    """`kind` is inner or left; `condition` is asked of the version that was found."""

    name: str
    inputs: tuple[JoinInput, JoinInput]
    kind: JoinKind
    condition: exp.Expr | None
    visible: tuple[JoinColumn, ...]
    hidden: tuple[JoinColumn, ...]
    unit: str

    at_window_end = True

    def find_progress(self, graph: Graph, read: Inner) -> dict[str, ProgressColumn]:
        each = [read(i.relation)[i.time] for i in self.inputs]
        found = ProgressColumn(unite_waits(*(one.waits for one in each)), each[0].type)
        own = self.inputs[0].time
        return {c.name: found for c in self.visible if c.input == 0 and c.column == own}

    def find_values(self, graph: Graph, column: str, waits: Waits, read: Inner) -> Waits:
        return find_own_value(graph, self.inputs[0].relation, self.inputs[0].time)

    def agree(self, number: int) -> object:
        """Other rows are kept than for a join: of versions the last one before, too."""
        return number

    def stores_all(self, number: int) -> bool:
        """Which of two versions at one time counts must not depend on who reads what."""
        return number == 1

    def find_needed(self, number: int) -> Waits:
        waits = self.wait_for_inputs()
        return waits[1] if number == 0 else unite_waits(*waits)

    def bound_rows(self, number: int) -> RowBound:
        rows, versions = (i.alias for i in self.inputs)
        past = f"until {rows} and {versions} are past them, and of each key the last one before"
        return RowBound(words=f"until {versions} is past them" if number == 0 else past)

    def describe_tables(self, tables: Sequence[str]) -> str:
        rows, versions = (f"{i.alias} ({t})" for i, t in zip(self.inputs, tables, strict=True))
        return f"{self.kind} join of {rows} with the version of {versions} as of {self.inputs[0].time}"
