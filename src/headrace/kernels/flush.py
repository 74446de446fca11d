"""How far a flush goes: to the end of the last window that can hold a row, down every chain.

Rows of a query are at `window_end - 1` for the queries that read it, so the ends grow from query to query;
the steps of the program say who reads whom. Streams that meet in a node must reach the same tick, the others
keep to themselves: an integer stream has no business with the clock of another, and what comes after a flush
should not be late for the sake of windows over some other stream.

A landmark has no last window. Its running value is reported up to the first slide point after its last row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.kernels.spec import Close, Compute, Gather, Program, Send
from headrace.windows import WindowSpec, extent, first_end, wids


class Flush(NamedTuple):
    bounds: dict[str, int]  # stream -> low-watermark
    landmarks: dict[str, int]  # node -> end of the last window to report


def flush_to(program: Program, largest: Mapping[str, int | None]) -> Flush:
    """Where a flush takes the low-watermarks, given the largest value seen of each stream."""
    latest: dict[str, int] = {}  # node -> largest tick of a row it can hold
    for node in program.nodes:
        seen = [t for s in node.streams if (t := largest.get(s)) is not None]
        if node.feeds and seen:
            latest[node.name] = max(seen)
    ends: dict[str, int] = {}  # view -> end of the last window it can have
    landmarks: dict[str, int] = {}
    reach: dict[str, int] = {}  # node -> tick at which nothing in it is open
    for step in (s for level in program.levels for s in level):
        if isinstance(step, Close) and step.node in latest:
            end = _last_end(step.spec, latest[step.node])
            if step.spec.kind == "landmark":
                landmarks[step.node] = end
            ends[step.view] = end
            reach[step.node] = max(reach.get(step.node, end), end)
        elif isinstance(step, Gather) and step.node in latest:
            ends[step.view] = latest[step.node] + 1
        elif isinstance(step, Compute) and step.source in ends:
            ends[step.view] = max(ends.get(step.view, ends[step.source]), ends[step.source])
        elif isinstance(step, Send) and step.source in ends:
            latest[step.node] = max(latest.get(step.node, ends[step.source] - 1), ends[step.source] - 1)
    bounds = {s: t for s, t in largest.items() if t is not None}
    for _ in program.streams:  # streams that meet, directly or through others
        for node in program.nodes:
            together = max((bounds[s] for s in node.streams if s in bounds), default=None)
            if node.name in reach and together is not None:
                together = max(together, reach[node.name])
                bounds |= dict.fromkeys(node.streams, together)
    return Flush(bounds, landmarks)


def _last_end(spec: WindowSpec, tick: int) -> int:
    """The end of the last window that holds `tick` or an earlier value."""
    if spec.kind == "landmark":
        return first_end(spec, max(tick, spec.origin)) or tick
    holding = wids(spec, tick)
    return extent(spec, holding[-1])[1] if holding else tick
