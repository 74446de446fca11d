"""Steps that own nothing: a node advances, a relation is computed, rows go to a node or to a query's results."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.program.step import Step


@dataclass(frozen=True)
class Advance(Step):
    """A node takes the round's progress and gives its relations."""

    node: str

    def describe(self) -> str:
        return self.node


@dataclass(frozen=True)
class Compute(Step):
    """A relation by SQL over the relation `source`, computed before."""

    view: str
    sql: str
    source: str

    @property
    def reads(self) -> str:
        return self.source

    @property
    def gives(self) -> str:
        return self.view

    def describe(self) -> str:
        return f"{self.view}: {self.sql}"


@dataclass(frozen=True)
class Send(Step):
    """Partial rows (pane or window, k…, p…) for `node`: kept in this slot, or sent to the slots of the next level."""

    node: str
    sql: str
    source: str
    local: bool

    @property
    def reads(self) -> str:
        return self.source

    @property
    def feeds(self) -> str:
        return self.node

    @property
    def leaves(self) -> bool:
        return not self.local

    def describe(self) -> str:
        return f"{self.node}: {self.sql}"


@dataclass(frozen=True)
class Emit(Step):
    """Results of a query: `sql` gives its columns in order, and, if `by_pid`, as the last the hash of their mini-partition."""

    query: str
    sql: str
    source: str
    node: str  # whose state they come from
    by_pid: bool

    @property
    def reads(self) -> str:
        return self.source

    def describe(self) -> str:
        return f"{self.query} from {self.source}"
