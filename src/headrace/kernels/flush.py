"""How far a flush goes: to the end of the last window that can hold a row, down every chain.

Rows of a query are at `window_end - 1` for the queries that read it, so the ends grow from query to query;
the steps of the program say who reads whom. Streams that meet in a node must reach the same tick, the others
keep to themselves: an integer stream has no business with the clock of another, and what comes after a flush
should not be late for the sake of windows over some other stream.

A landmark has no last window. Its running value is reported up to the first slide point after its last row.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.program.messages import Flush
from headrace.program.program import Advance, Compute, PaneNode, Program, Send


def find_flush(program: Program, largest: Mapping[str, int | None]) -> Flush:
    """Where a flush takes the low-watermarks, given the largest value seen of each stream."""
    latest: dict[str, int] = {}  # node -> largest tick of a row it can hold
    for node in program.pane_nodes():
        seen = [t for s in node.streams if (t := largest.get(s)) is not None]
        if node.feeds and seen:
            latest[node.name] = max(seen)
    ends: dict[str, int] = {}  # view -> end of the last window it can have
    reports: dict[str, int] = {}
    reach: dict[str, int] = {}  # node -> tick at which nothing in it is open
    for step in (s for level in program.levels for s in level.steps):
        if isinstance(step, Advance) and step.node in latest:
            found, tick = program.node(step.node), latest[step.node]
            if not isinstance(found, PaneNode):
                ends[found.view] = tick + 1
                continue
            for output in found.outputs:
                end = ends[output.view] = output.window.last_end(tick)
                reach[step.node] = max(reach.get(step.node, end), end)
                if output.window.reports_without_rows:
                    reports[step.node] = end
        elif isinstance(step, Compute) and step.source in ends:
            ends[step.view] = max(ends.get(step.view, ends[step.source]), ends[step.source])
        elif isinstance(step, Send) and step.source in ends:
            latest[step.node] = max(latest.get(step.node, ends[step.source] - 1), ends[step.source] - 1)
    bounds = {s: t for s, t in largest.items() if t is not None}
    for _ in program.streams:  # streams that meet, directly or through others
        for one in program.nodes:
            together = max((bounds[s] for s in one.streams if s in bounds), default=None)
            if one.name in reach and together is not None:
                together = max(together, reach[one.name])
                bounds |= dict.fromkeys(one.streams, together)
    return Flush(bounds, reports)
