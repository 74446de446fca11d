"""How far a flush goes: until everything that came is decided, down every chain, and no further.

The same rules as for progress, read in both directions (`advance_program.py`). Forwards, the largest value of each stream
gives the largest each relation can hold: values are those of its sources, through functions, or the last tick of the last window
that holds one. `PendingResults` say what results wait for: windows for their last end, rows that may be without a
partner for the other side to pass them. Backwards, what a relation has to come to says how far its sources must, until the
streams are reached.

A stream goes as far as what waits for it demands: an integer stream has no business with the clock of another, and what
comes after a flush should not be late for the sake of windows over some other stream. A landmark has no last window: its running
value is reported up to the first slide point after its last row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.progress.advance_program import Interval, ProgressRule
from headrace.progress.propagate import brings_windows
from headrace.windows import WindowSpec


@dataclass(frozen=True)
class PendingResults:
    """Results of rows of the table `node` that wait: those of a row at a tick of `of` are given when `by` has come `past` it,
    or to the end of the last window that holds it.
    """

    node: str
    of: str
    by: str
    window: WindowSpec | None = None
    past: int = 1

    def find_end(self, tick: int) -> int:
        """What decides a row at this tick and all before it."""
        return tick + self.past if self.window is None else self.window.last_end(tick)

    def is_brought(self, progress: Interval) -> bool:
        """Whether progress of `by` can bring such results."""
        if self.window is None:
            return progress.is_news
        before, after = progress
        return brings_windows(before.bound, after.bound, [self.window]) or before.groups != after.groups


def find_largest(rules: Iterable[ProgressRule], largest: Mapping[str, int]) -> dict[str, int]:
    """The largest tick that each stream, and what each rule is about, can hold; nothing of those that hold none."""
    found = dict(largest)
    for rule in rules:
        ticks = [value.bound(found[value.stream]) for value in rule.values if value.stream in found]
        if ticks:
            tick = max(ticks)
            found[rule.name] = tick if rule.window is None else rule.window.last_end(tick) - 1
    return found


def find_completion(
    rules: Sequence[ProgressRule], pending: Iterable[PendingResults], largest: Mapping[str, int]
) -> dict[str, int]:
    """The least bounds on streams with which everything is decided, given the largest value seen of each."""
    found = find_largest(rules, largest)
    wanted = dict(largest)
    for one in pending:
        if one.of in found:
            end = one.find_end(found[one.of])
            wanted[one.by] = max(end, wanted.get(one.by, end))
    for rule in reversed(rules):
        if rule.name in wanted:
            for wait in rule.waits:
                reach = wait.reach(wanted[rule.name])
                wanted[wait.stream] = max(reach, wanted.get(wait.stream, reach))
    names = {rule.name for rule in rules}
    return {name: tick for name, tick in wanted.items() if name not in names}


def find_last_reports(
    rules: Iterable[ProgressRule], pending: Iterable[PendingResults], largest: Mapping[str, int]
) -> dict[str, int]:
    """By table, the end of the last window to report, where windows report without rows."""
    found = find_largest(rules, largest)
    every = [d for d in pending if d.window is not None and d.window.reports_without_rows and d.of in found]
    return {d.node: d.find_end(found[d.of]) for d in every}
