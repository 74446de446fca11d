"""What a step of a program is: one thing a slot does in each round of progress, as data.

The steps of a level stand in the order of the query graph; names of steps are names of relations inside the slot's DuckDB. A
kind of step is a subclass and answers here what other rooms ask of any step. What a step *does* is a function of its kind
(`kernels/slot_kinds.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.progress.complete_program import PendingResults

Labels = Callable[[str], str]  # of nodes, by name


@dataclass(frozen=True)
class TableUse:
    """What lookups read of a static table, and all sets of keys they find its rows by; without any, a lookup reads them all."""

    table: str
    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]


class Step(ABC):
    """A step of any kind."""

    @property
    def reads(self) -> str | None:
        """The relation it goes through; where that is empty, so is what the step gives."""
        return None

    @property
    def gives(self) -> str | None:
        """The relation it defines."""
        return None

    @property
    def meets(self) -> tuple[str, ...]:
        """The nodes whose rows it brings together by key."""
        return ()

    @property
    def feeds(self) -> str | None:
        """The node that gets what it computes."""
        return None

    @property
    def leaves(self) -> bool:
        """Whether that node is in other slots."""
        return False

    @property
    def table_use(self) -> TableUse | None:
        """What it reads of a static table."""
        return None

    def list_pending(self) -> Iterator[PendingResults]:
        """What its results wait for."""
        return iter(())

    def find_dealing_obstacle(self, node: str, label: Labels) -> str | None:
        """Why the rows of one of the nodes it meets may not be dealt while those of the others are copied."""
        return None

    @abstractmethod
    def describe(self) -> str:
        """What EXPLAIN says of it."""
