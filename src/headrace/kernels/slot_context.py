"""What the steps of a level work with in one slot, for one turn of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.kernels.delta import Delta
from headrace.kernels.operator import Operator
from headrace.kernels.result_files import ResultWriter
from headrace.kernels.result_pids import ResultPids
from headrace.kernels.static_tables import StaticTables
from headrace.kernels.workspace import Workspace
from headrace.program.messages import Orders
from headrace.program.program import Program
from headrace.progress import HIGHEST, LOWEST
from headrace.progress.advance_program import ProgressMap


@dataclass(frozen=True)
class SlotContext:
    """Relations, operators by node, what is known of every relation before and after the turn, and where results go."""

    program: Program
    orders: Orders
    space: Workspace
    progress: ProgressMap
    operators: Mapping[str, Operator[Any]]
    tables: StaticTables
    results: ResultWriter
    result_pids: ResultPids
    dealt: frozenset[str]  # nodes whose rows of hot keys are dealt over slots
    round: tuple[int, int] = (LOWEST, HIGHEST)  # what falls due in (low, high]

    def delta(self, node: str) -> Delta:
        """What is new of a node's rows, and what was there before."""
        return self.operators[node].delta()
