"""How far a flush goes: to the end of the last window that can hold a row, down every chain.

Rows of a query are at `window_end - 1` for the queries that read it, so the ends grow from query to query;
the steps of the program say who reads whom. A stream goes as far as the windows and joins that wait for it demand, and no
further: an integer stream has no business with the clock of another, and what comes after a flush should not be late
for the sake of windows over some other stream.

A landmark has no last window. Its running value is reported up to the first slide point after its last row.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.program.messages import Flush
from headrace.program.program import (
    Advance,
    Compute,
    FindVersions,
    GatherNode,
    JoinRows,
    JointNode,
    LookUp,
    PaneNode,
    Program,
    Send,
    TransitNode,
)
from headrace.progress.monotone_steps import apply_steps
from headrace.progress.waits import Waits


def find_flush(program: Program, largest: Mapping[str, int | None]) -> Flush:
    """Where a flush takes the low-watermarks, given the largest value seen of each stream."""
    latest: dict[str, int] = {}  # node -> largest tick of a row it can hold
    for node in program.nodes:
        given = [(f.steps, largest.get(f.stream)) for f in getattr(node, "feeds", ())]
        fed = [apply_steps(steps, tick) for steps, tick in given if tick is not None]
        if fed:
            latest[node.name] = max(fed)
    ends: dict[str, int] = {}  # view -> end of the last window it can have, or tick after its last row
    reports: dict[str, int] = {}
    bounds = {s: t for s, t in largest.items() if t is not None}

    def complete(waits: Waits, tick: int) -> None:
        for wait in waits:
            reach = wait.reach(tick)
            bounds[wait.stream] = max(bounds.get(wait.stream, reach), reach)

    for step in (s for level in program.levels for s in level.steps):
        if isinstance(step, Advance) and step.node in latest:
            found, tick = program.node(step.node), latest[step.node]
            if isinstance(found, (GatherNode, TransitNode)):
                ends[found.view] = tick + 1
            elif isinstance(found, JointNode):
                ends[found.view] = tick + 1
                for waits in found.each:
                    complete(waits, tick + 1 + found.longest)
            elif isinstance(found, PaneNode):
                for output in found.outputs:
                    end = ends[output.view] = output.window.last_end(tick)
                    complete(found.waits, end)
                    if output.window.reports_without_rows:
                        reports[step.node] = end
        elif isinstance(step, JoinRows):
            held = [latest[side.node] for side in step.inputs if side.node in latest]
            if held:
                ends[step.view] = max(held) + 1
            if step.kind in ("left", "full", "anti"):
                for side in step.inputs[: 2 if step.kind == "full" else 1]:
                    if side.node in latest:
                        complete(side.complete, latest[side.node] + 1)
        elif isinstance(step, FindVersions) and step.rows in latest:
            ends[step.view] = latest[step.rows] + 1
            complete(step.complete, latest[step.rows] + 1)
        elif isinstance(step, (Compute, LookUp)) and step.source in ends:
            ends[step.view] = max(ends.get(step.view, ends[step.source]), ends[step.source])
        elif isinstance(step, Send) and step.source in ends:
            tick = ends[step.source] - (not step.at_end)
            ticks = [apply_steps(steps, tick) for steps in step.steps or ((),)]
            latest[step.node] = max([*ticks, *([latest[step.node]] if step.node in latest else [])])
    return Flush(bounds, reports)
