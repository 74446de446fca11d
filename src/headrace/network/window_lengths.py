"""Bounds on time between the inputs of a join as windows in seconds, which is what rates are estimated from.

A window of length w on an input says that rows of the others come less than w later (document 003, section 5.2.1), so the window
of input i is the largest t_j - t_i that the join allows, `TimeBounds.within`. Two inputs can always be told so; of more, every
t_j must be bounded alike. An end of a band that is open or closed is a tick more or less: ticks are counted as in
`a [RANGE L], b [RANGE R]`, where a band holds L + R of them. Rows of one tumbling window are windows of its length that move by
their length (`View.slide`).
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.logical.time_bounds import TimeBounds
from headrace.sql.bind_context import FailAt
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_names import FromItem
from headrace.sql.join_windows import find_common_slide, find_window_length
from headrace.sql.scope import Fail

TICKS = {"us": 1_000_000, "int": 1}  # in a second
FINEST = 0.001  # seconds; a band of no width is as long

Windows = tuple[float | None, ...]


def find_windows(
    items: Sequence[FromItem], conditions: Conditions, fail: Fail, fail_at: FailAt
) -> tuple[Windows, float | None]:
    """The window of each input, none if nothing bounds the join; and the slide, if they move in steps."""
    unit, last = items[0].relation.unit, items[-1].node
    step = find_common_slide(items, fail_at)
    if step is not None and step.origin % step.slide:
        raise fail(last, "windows with an ORIGIN: across sites, windows begin at the epoch")
    slide = None if step is None else _seconds(step.slide, unit)
    if len(items) == 1:
        length = find_window_length(items[0], fail_at)
        return (None if length is None else _seconds(length, unit),), slide
    if not conditions.gaps and not conditions.windows:
        return (None,) * len(items), None
    bounds = TimeBounds(len(items), tuple(conditions.gaps), tuple(conditions.windows))
    if (found := bounds.find_unbounded()) is not None:
        one, other = (items[i].alias for i in found)
        raise fail(
            items[found[1]].node,
            f"nothing bounds how much later rows of {other} may be than rows of {one}, but other bounds on time there are; across"
            " sites, a join has a window on every input, or on none",
        )
    if bounds.is_empty:
        raise fail(last, "no rows can ever satisfy the conditions on time of this join: the band is empty")
    if conditions.windows:
        common = {(w.width, w.offset % w.width) for w in conditions.windows}
        width, offset = next(iter(common))
        if len(common) > 1 or conditions.gaps or offset:
            raise fail(
                last,
                "across sites, rows of one window are joined, or rows of a band: not both, nor windows of two kinds",
            )
        return (_seconds(width, unit),) * len(items), _seconds(width, unit)
    return tuple(_find_length(items, i, bounds, fail) for i in range(len(items))), slide


def _find_length(items: Sequence[FromItem], i: int, bounds: TimeBounds, fail: Fail) -> float:
    """How much later than those of input i the rows of the others may be."""
    clause, unit = items[i].node.args.get("stream_window"), items[i].relation.unit
    opened = clause is not None and clause.slide is not None
    reach = {j: bounds.reach(i, j) for j in range(len(items)) if j != i}
    if min(reach.values()) < -1:
        raise fail(
            items[i].node,
            f"the rows that {items[i].alias} is joined with are all earlier than its own by some time; across sites, a join is"
            " told by windows, which reach to the present",
        )
    lengths = {_seconds(ticks + (j > i or opened), unit) for j, ticks in reach.items()}
    if len(lengths) > 1:
        raise fail(
            items[i].node,
            f"the other inputs may be later than {items[i].alias} by different lengths of time; across sites, a join is told by"
            f" windows, the same for all: write {items[i].alias} [RANGE …]",
        )
    return lengths.pop()


def _seconds(ticks: int, unit: str) -> float:
    return max(FINEST, round(ticks / TICKS[unit], 3))
