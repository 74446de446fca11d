"""Lookups in static tables: the node of rows on their way through a slot, and the step that looks up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from headrace.program.column_names import name_values
from headrace.program.node import Node
from headrace.program.slot_steps import Compute
from headrace.program.step import TableUse


@dataclass(frozen=True, kw_only=True)
class TransitNode(Node):
    """Rows (_t, k…, v…) of streams that pass through the slots, as the relation `view` (the columns, and
    _k0…). Nothing is kept.
    """

    names: tuple[str, ...]  # of the values
    view: str

    passes_late: ClassVar[bool] = True
    together: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return ("_t", *self.list_keys(), *name_values(len(self.names)))

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.view,)

    def describe(self) -> Iterator[str]:
        return (feed.describe(*self.columns[1:]) for feed in self.feeds)


@dataclass(frozen=True)
class LookUp(Compute):
    """A relation by SQL over the relation `source` and the static table `table`, which the SQL calls `static`."""

    table: str
    static: str
    columns: tuple[str, ...]  # of the table
    keys: tuple[str, ...]  # SQL over those, and
    own: tuple[str, ...]  # over `source`: what is equal, in the types that are hashed
    passed: bool  # whether `source` is rows as they arrived

    @property
    def table_use(self) -> TableUse:
        return TableUse(self.table, self.columns, (self.keys,))
