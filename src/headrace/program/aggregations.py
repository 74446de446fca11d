"""Nodes that aggregate: by panes, by windows that other slots have closed, and by the times of several inputs of a join."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from headrace.program.column_names import name_partials
from headrace.program.node import Node
from headrace.progress.complete_program import PendingResults
from headrace.windows import Grid, WindowSpec


@dataclass(frozen=True)
class ClosedWindows:
    """The windows that progress completes, as the relation `view` (k…, p…, _ws, _we, and _pid of nodes kept by folder)."""

    window: WindowSpec
    view: str


@dataclass(frozen=True, kw_only=True)
class AggregateNode(Node):
    """Partial rows by group, merged."""

    merges: tuple[str, ...]  # SQL over p0…, one per partial

    def list_partials(self) -> list[str]:
        return name_partials(len(self.merges))

    def describe(self) -> Iterator[str]:
        yield from (feed.describe(*self.list_keys()) for feed in self.feeds)
        for i, merge in enumerate(self.merges):
            yield f"p{i} = {f'{self.feeds[0].values[i]} then ' if self.feeds else ''}{merge}"


@dataclass(frozen=True, kw_only=True)
class PaneNode(AggregateNode):
    """Pane aggregation: rows (pid, pane, k…, p…) of one (input, filter, keys), shared by every window and query that agrees on
    these, closed window by window.
    """

    grid: Grid
    outputs: tuple[ClosedWindows, ...]
    groups: tuple[int, ...] = ()  # keys that tell apart the groups whose windows close on their own

    time: ClassVar[str] = "pane"

    @property
    def width(self) -> int:
        return self.grid.width

    @property
    def columns(self) -> tuple[str, ...]:
        return ("pane", *self.list_keys(), *self.list_partials())

    @property
    def gives(self) -> tuple[str, ...]:
        return tuple(output.view for output in self.outputs)

    @property
    def windows(self) -> tuple[WindowSpec, ...]:
        return tuple(output.window for output in self.outputs)

    def list_pending(self) -> Iterator[PendingResults]:
        return (PendingResults(self.name, self.name, self.name, window) for window in self.windows)


@dataclass(frozen=True, kw_only=True)
class GatherNode(AggregateNode):
    """Rows (_ws, _we, k…, p…) from the slots before, merged by window and group as the relation `view`."""

    view: str

    time: ClassVar[str] = "_we"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("_ws", "_we", *self.list_keys(), *self.list_partials())

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.view,)


@dataclass(frozen=True, kw_only=True)
class JointNode(AggregateNode):
    """Aggregation by the times of several inputs of a join: partial rows by group, closed when all rows of a group are there."""

    view: str
    ends: tuple[str, ...]  # SQL over the keys: where the group ends on each time
    own: tuple[str, ...]  # the rule of progress of each time's input
    each: tuple[str, ...]  # and of the join on each time
    longest: int  # the widest of the groups' windows

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.list_keys(), *self.list_partials())

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.view,)

    def list_pending(self) -> Iterator[PendingResults]:
        return (PendingResults(self.name, rule, rule, past=1 + self.longest) for rule in (*self.each, *self.own))
