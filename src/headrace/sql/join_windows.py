"""What brackets and WITHIN behind the inputs of a join say of time (document 003, section 5.2.1).

`l [RANGE L], r [RANGE R]` is the sliding-window join: a row stays in the window of its input for that long, so r joins l if
l.ts - R <= r.ts < l.ts + L. (The words and the example of Q5-8 say so; the formula above them has the two lengths exchanged.)
`[RANGE TUMBLING W]`, or `[RANGE W SLIDE W]`, joins rows of the same window, `[RANGE W SLIDE S]` rows that share a
window, once for each they share.
`WITHIN d`, as in KSQL, is a band of d on both sides, closed. It is about what the inputs before have given, which is at the
latest of their times, whichever of them ON speaks of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.errors import OptionError
from headrace.logical.time_bounds import CommonWindow, Gap
from headrace.sql.bind_context import FailAt
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_names import FromItem
from headrace.sql.statements import BracketWindow, Within
from headrace.sql.window_clause import bracket_window
from headrace.windows import Sliding, ticks


def find_common_window(items: Sequence[FromItem], fail_at: FailAt, alike: bool = True) -> Sliding | None:
    """The window whose bounds results show: that of a tumbling-window join, or the one with a SLIDE that all inputs have. Unless
    they must be `alike`, windows with a SLIDE may differ, and none is common then.
    """
    clauses = _clauses(items, fail_at)
    written = [c for c in clauses if c is not None and (c.tumbling or c.slide is not None)]
    if not written or len(items) < 2:
        return None
    unit, first = items[0].relation.unit, written[0]
    if any(c is not None and c.tumbling for c in clauses):
        return _tumble(first, unit, fail_at)
    specs = {None if c is None else _spec(c, unit, fail_at) for c in clauses}
    if len(specs) > 1:
        if not alike:
            return None
        what = "windows with a SLIDE join rows of common windows: give all inputs the same window"
        raise fail_at(first.start, first.end, what)
    return _spec(first, unit, fail_at)


def find_common_slide(items: Sequence[FromItem], fail_at: FailAt) -> Sliding | None:
    """The first window that is told how often it moves, if all that are told move together; their lengths may differ."""
    clauses = [c for c in _clauses(items, fail_at) if c is not None and (c.tumbling or c.slide is not None)]
    for other in clauses[1:]:
        if _spec(other, items[0].relation.unit, fail_at).slide != _spec(clauses[0], items[0].relation.unit, fail_at).slide:
            raise fail_at(other.start, other.end, "different SLIDEs in one join: let the windows of all inputs move together")
    return _spec(clauses[0], items[0].relation.unit, fail_at) if clauses else None


def find_window_length(item: FromItem, fail_at: FailAt) -> int | None:
    """How long a row of an input stays in its window."""
    (clause,) = _clauses([item], fail_at)
    return None if clause is None else _length(clause, item.relation.unit, fail_at)


def add_time_clauses(
    conditions: Conditions, items: Sequence[FromItem], place: Sequence[int], windowed: Sequence[bool], fail_at: FailAt
) -> None:
    """Add to the conditions what the clauses of `items` say; `place` are the numbers of the items as inputs. Windowed inputs
    of which nothing is said are joined by window.
    """
    clauses, unit = _clauses(items, fail_at), items[0].relation.unit
    if any(item.in_where for item in items):  # brackets are about what FROM joins, or about what the query computes
        clauses = [None for _ in items]
    for clause in clauses:
        if clause is not None and not clause.tumbling and clause.slide is None and (clause.origin or clause.align != "start"):
            what = "a RANGE alone says how long rows stay, from each row on: it has no ORIGIN and no ALIGN"
            raise fail_at(clause.start, clause.end, what)
    tumbling = next((c for c in clauses if c is not None and c.tumbling), None)
    for j in range(1, len(items)):
        within = items[j].node.args.get("within")
        for i in range(j):
            one, two, first, second = place[i], place[j], clauses[i], clauses[j]
            if tumbling is not None:
                window = _tumble(tumbling, unit, fail_at)
                for other in (first, second):
                    if other is not None and (not other.tumbling or _tumble(other, unit, fail_at) != window):
                        what = "a tumbling-window join has windows of one length and origin on all inputs"
                        raise fail_at(other.start, other.end, what)
                conditions.windows.append(CommonWindow(one, two, window.range, window.origin))
                continue
            if first is not None:
                conditions.gaps.append(Gap(one, two, _length(first, unit, fail_at) - 1))  # an open end
            if second is not None:
                opened = second.slide is not None
                conditions.gaps.append(Gap(two, one, _length(second, unit, fail_at) - opened))
            if within is not None:
                before, after = read_within(within, unit, fail_at)
                if j == 1:  # of more, the latest counts: `JoinTimes.sort_pooled`
                    conditions.gaps.append(Gap(one, two, after))
                conditions.gaps.append(Gap(two, one, before))
            told = any({g.before, g.after} == {one, two} for g in conditions.gaps)
            told = told or any({w.one, w.other} == {one, two} for w in conditions.windows)
            if not told and windowed[i] and windowed[j]:
                conditions.gaps += [Gap(one, two, 0), Gap(two, one, 0)]


def _clauses(items: Sequence[FromItem], fail_at: FailAt) -> list[BracketWindow | None]:
    """What stands behind each input. Windows that move by their own length tumble, whichever way they are written."""
    found: list[BracketWindow | None] = [item.node.args.get("stream_window") for item in items]
    moving = [c for c in found if c is not None and c.slide is not None]
    if not all(_spec(c, items[0].relation.unit, fail_at).tumbling for c in moving):
        return found
    return [replace(c, tumbling=True, slide=None) if c is not None and c.slide is not None else c for c in found]


def _spec(clause: BracketWindow, unit: str, fail_at: FailAt) -> Sliding:
    spec = bracket_window(clause, unit, lambda message: fail_at(clause.start, clause.end, message))
    if not isinstance(spec, Sliding):
        what = "a join's window has a length: RANGE ALL would keep rows for ever"
        raise fail_at(clause.start, clause.end, what)
    return spec


def _tumble(clause: BracketWindow, unit: str, fail_at: FailAt) -> Sliding:
    """The windows of RANGE TUMBLING, the same ones whichever multiple their origin is."""
    spec = _spec(clause, unit, fail_at)
    return Sliding(spec.range, spec.origin % spec.range, range=spec.range)


def _length(clause: BracketWindow, unit: str, fail_at: FailAt) -> int:
    return _spec(clause, unit, fail_at).range


def read_within(within: Within, unit: str, fail_at: FailAt) -> tuple[int, int]:
    """How much earlier and later rows may be, in ticks."""
    try:
        before, after = (ticks(t, unit) for t in (within.before, within.after))  # type: ignore[arg-type]
    except OptionError as e:
        raise fail_at(within.start, within.end, str(e)) from e
    return before, after
