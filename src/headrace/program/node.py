"""What a node of a program is: an operator of a slot, and its state, as data.

A kind of node is a subclass, in a file with the steps that belong to it, and answers here what other rooms ask of any node:
which columns its rows have, whether it takes late rows, what results wait for, what stands in
the way of dealing them. What a node *does* is an operator of the same kind
(`kernels/slot_kinds.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from headrace.program.column_names import name_keys
from headrace.progress.complete_program import PendingResults
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.waits import Waits
from headrace.windows import WindowSpec


@dataclass(frozen=True)
class SourceFeed:
    """How the rows of one stream become rows of a node, in the source stage."""

    stream: str
    where: str | None  # a boolean column, or None for all rows
    keys: tuple[str, ...]  # SQL over the columns of the source frame
    values: tuple[str, ...]  # likewise: the node's values, or partials, in their order
    steps: tuple[MonotoneStep, ...] = ()  # from the stream's progressing value to that of the node

    def describe(self, *names: str) -> str:
        """What of its columns becomes what."""
        listed = ", ".join(f"{n} = {e}" for n, e in zip(names, (*self.keys, *self.values), strict=False))
        return f"from {self.stream}{f' where {self.where}' if self.where else ''}: {listed or 'no keys'}"


@dataclass(frozen=True, kw_only=True)
class Node(ABC):
    """A node of any kind."""

    name: str  # changes when what it stores would change
    label: str
    level: int
    waits: Waits  # its progress is the least of theirs
    keys: int
    partition: tuple[int | str, ...]  # what decides the mini-partition: keys by number, or SQL over k0…
    feeds: tuple[SourceFeed, ...] = ()
    by_folder: bool = False  # whether its rows stay in the mini-partition of the folder they are read from
    reach: int = 0  # ticks that a row may be apart from one it meets

    time: ClassVar[str] = "_t"  # the column by which its rows are late, and state covers a span
    takes_late: ClassVar[bool] = True  # whether rows behind its progress count
    passes_late: ClassVar[bool] = False  # whether they are among what it gives
    together: ClassVar[bool] = True  # whether rows of equal keys must be in one place
    needs_past: ClassVar[bool] = False  # whether it is wrong without the rows from before it was there

    @property
    def waiting(self) -> str:
        """The name by which rows are kept that came for the node and wait to be processed."""
        return f"{self.name}-waiting"

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Of its rows, beside the mini-partition."""

    @property
    @abstractmethod
    def gives(self) -> tuple[str, ...]:
        """The relations that it gives when it advances."""

    @abstractmethod
    def describe(self) -> Iterable[str]:
        """Lines of EXPLAIN: where its rows come from, and what becomes of them."""

    @property
    def width(self) -> int:
        """Ticks that a value of `time` stands for."""
        return 1

    @property
    def windows(self) -> tuple[WindowSpec, ...]:
        """Windows that it closes, and that late rows miss."""
        return ()

    @property
    def meets_nulls(self) -> bool:
        """Whether rows with a null key meet others."""
        return True

    def list_pending(self) -> Iterator[PendingResults]:
        """What results wait for."""
        return iter(())

    def find_dealing_obstacle(self) -> str | None:
        """Why rows of a hot key must not be dealt over slots."""
        return f"{self.label} is kept by folder" if self.by_folder else None

    @property
    def partition_keys(self) -> list[str]:
        """SQL over k0… that decides the mini-partition."""
        return [f"k{key}" if isinstance(key, int) else key for key in self.partition]

    def list_keys(self) -> list[str]:
        return name_keys(self.keys)
