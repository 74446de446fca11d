"""What tasks are told and answer when a static table is read, and divided if it is large (`kernels/divide_table.py`)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from headrace.program.limits import Limits
from headrace.state import Store, TableFile


@dataclass(frozen=True)
class TablePiece:
    """Some rows of a table as they were read, in a file of their own. `bytes` are those of the rows in memory."""

    file: TableFile
    rows: int
    bytes: int
    digest: str


@dataclass(frozen=True)
class TableDivision:
    """A table that becomes, for each set of keys, files of neighbouring mini-partitions, as many as there are `ranges`."""

    store: Store
    prefix: str  # of the paths of all files
    pieces: tuple[TableFile, ...]
    keys: tuple[tuple[str, ...], ...]  # SQL over the table's columns
    ranges: int
    pids: int
    time_zone: str
    limits: Limits
    memory: int | None = None
    scratch: str | None = None

    @property
    def targets(self) -> int:
        """How many groups of rows there are: a set of keys and a range each."""
        return len(self.keys) * self.ranges


def name_copy(keys: tuple[str, ...]) -> str:
    """The name of the copy that is divided by these keys; "" for none, which is the table as it was read."""
    return hashlib.sha256(repr(keys).encode()).hexdigest()[:12] if keys else ""
