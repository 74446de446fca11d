"""Versions of keys (SQL's FOR SYSTEM_TIME AS OF): the node that keeps them, and the step that finds the valid one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from headrace.logical.join_kind import JoinKind
from headrace.program.row_joins import RowNode
from headrace.program.step import Labels, Step
from headrace.progress.complete_program import PendingResults


@dataclass(frozen=True, kw_only=True)
class VersionNode(RowNode):
    """Rows that are versions of their key: from `needed` on all are kept, and before it the last of each key."""

    needs_past: ClassVar[bool] = True

    def find_dealing_obstacle(self) -> str:
        return f"{self.label} is kept in versions"


@dataclass(frozen=True)
class FindVersions(Step):
    """Rows of the node `rows` whose time the progress of the versions has passed, each with the last version not after it."""

    view: str
    rows: str
    versions: str
    row_columns: str  # SQL over v0…
    version_columns: str
    kind: JoinKind
    keys: int
    unknown: tuple[str, ...]  # SQL: the values of a version that is not there
    outputs: str  # SQL over the columns of both
    condition: str | None  # of inner results
    complete: str  # a rule of progress: rows before it have their version

    @property
    def gives(self) -> str:
        return self.view

    @property
    def meets(self) -> tuple[str, ...]:
        return (self.rows, self.versions)

    def list_pending(self) -> Iterator[PendingResults]:
        yield PendingResults(self.rows, self.rows, self.complete)

    def find_dealing_obstacle(self, node: str, label: Labels) -> str:
        return "versions of keys are looked for in it"

    def describe(self) -> str:
        return f"{self.view}: {self.kind} {self.rows} as of {self.versions} giving {self.outputs}"
