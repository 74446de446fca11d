"""How near in time the inputs of one join are, by the times it goes by.

An input of a join may itself be a join, with a time from each of its parts; the operator goes by one of them, the one most
conditions speak of. Bounds on the others become conditions on columns. A join that nothing bounds in time is refused: its
state could never be purged (document 003, section 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.logical.graph import Graph, StaticTable
from headrace.logical.progress_columns import explain_no_progress, find_progress
from headrace.logical.time_bounds import CommonWindow, Gap, TimeBounds
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_names import Joined, join_column
from headrace.sql.join_times import JoinTimes, spell_ticks

_SUGGESTION = (
    "bound it in time, like {b}.{bt} BETWEEN {a}.{at} - {length} AND {a}.{at} + {length}, or by windows, "
    "like {a} [RANGE {range}], {b} [RANGE {range}]"
)
_LENGTHS = {"us": ("INTERVAL 5 MINUTES", "5 MINUTES"), "int": ("300", "300")}  # by what times are


@dataclass(frozen=True)
class InputTime:
    """The part whose time an input of a join goes by, and its column there."""

    part: int
    column: str


@dataclass(frozen=True)
class JoinBounds:
    """Of one join: `parts` are items of FROM, which `groups` assigns to the inputs `done`."""

    times: JoinTimes
    done: Sequence[Joined]
    groups: Sequence[frozenset[int]]
    parts: Sequence[Joined]

    @property
    def place(self) -> dict[int, int]:
        """The input that each part is in."""
        return {i: k for k, group in enumerate(self.groups) for i in group}

    def choose_times(self, conditions: Conditions) -> list[InputTime]:
        """For each input the part whose time the join goes by, the one most conditions speak of."""
        out = []
        for done, group in zip(self.done, self.groups, strict=True):
            spoken = [g.before for g in conditions.gaps] + [g.after for g in conditions.gaps]
            spoken += [w.one for w in conditions.windows] + [w.other for w in conditions.windows]
            progress = find_progress(self.times.graph(), done.relation.name)
            usable = {i: c for i in sorted(group) if (c := self._time_in(done, self.parts[i])) in progress}
            if not usable:
                why = explain_no_progress(self.times.graph(), done.relation.name)
                raise PlanError(
                    f"{done.items[0].alias} has no column that carries progress{f' ({why})' if why else ''}, so what is kept of "
                    "the join could never be purged: keep the progressing attribute among its columns"
                )
            best = max(usable, key=spoken.count)
            out.append(InputTime(best, usable[best] or ""))
        return out

    def bound(
        self, conditions: Conditions, chosen: Sequence[InputTime], every: TimeBounds | None
    ) -> tuple[TimeBounds, list[exp.Expr]]:
        """The bounds between the inputs, and those that are left as conditions. `every` are the bounds of all parts, of which
        some follow only from inputs that are joined later.
        """
        place, leads = self.place, [c.part for c in chosen]
        later = self._find_later(leads)
        gaps, windows, rest = [], [], []
        for gap in conditions.gaps:
            if gap.before == leads[place[gap.before]] and gap.after == leads[place[gap.after]]:
                one, two = place[gap.before], place[gap.after]
                gaps.append(Gap(one, two, gap.ticks + later[two] - later[one]))
            else:
                rest.append(self._spell_gap(gap))
        for common in conditions.windows:
            if {common.one, common.other} == {leads[place[common.one]], leads[place[common.other]]}:
                one, two = place[common.one], place[common.other]
                offset, apart = common.offset + later[one], later[two] - later[one]
                windows.append(CommonWindow(one, two, common.width, offset, apart))
            elif every is None or not _follows(common, leads, place, every.windows):
                raise PlanError(
                    "a common window of inputs that are joined one after the other is not supported: put the window on inputs "
                    "that share a key, or write the band as a condition on their times"
                )
        bounds = TimeBounds(len(self.done), tuple(gaps), tuple(windows))
        if every is not None:
            gaps += _implied_gaps(bounds, every, leads, later)
            bounds = TimeBounds(len(self.done), tuple(gaps), tuple(windows))
        if bounds.find_unbounded() is not None:
            refuse_unbounded(self.times.graph(), self.done, bounds)
        if bounds.is_empty:
            raise PlanError("no rows can ever satisfy the conditions on time of this join: the band is empty")
        return bounds, rest

    def _find_later(self, leads: Sequence[int]) -> list[int]:
        """By how many ticks the time of an input is later than that of the part it goes by. A windowed relation is at a tick
        before the end of its window; the results of its joins have that end as a column, and are at its value.
        """
        graph = self.times.graph()
        ends = [graph.is_windowed(self.parts[lead].relation.name) for lead in leads]
        return [int(end and not graph.is_windowed(done.relation.name)) for end, done in zip(ends, self.done, strict=True)]

    def _time_in(self, done: Joined, part: Joined) -> str | None:
        """The time of a part, as the joined relation has it."""
        time = self.times.find(part)
        flat = next((n for n, c in part.columns.items() if c == time), None)
        return done.columns.get(flat) if flat is not None else None

    def name_times(self) -> list[tuple[str, bool]]:
        """The times of all parts as columns of the join, and whether each is the end of a window."""
        graph = self.times.graph()
        return [(self._name_time(i), graph.is_windowed(part.relation.name)) for i, part in enumerate(self.parts)]

    def _name_time(self, i: int) -> str:
        time = self.times.find(self.parts[i])
        return next(n for n, c in self.parts[i].columns.items() if c == time)

    def _spell_time(self, i: int) -> exp.Expr:
        return join_column(self._name_time(i))

    def _spell_gap(self, gap: Gap) -> exp.Expr:
        """A bound that is not on the attributes the join goes by, as a condition."""
        after, before = self._spell_time(gap.after), self._spell_time(gap.before)
        graph = self.times.graph()
        ends = [graph.is_windowed(self.parts[i].relation.name) for i in (gap.after, gap.before)]
        ticks = gap.ticks + ends[0] - ends[1]  # windowed rows are at a tick before their end
        length = spell_ticks(ticks, self.parts[gap.after].relation.unit)
        return exp.LTE(this=after, expression=exp.Add(this=before, expression=length))


def refuse_unbounded(graph: Graph, parts: Sequence[Joined], bounds: TimeBounds) -> None:
    """Say which inputs may be arbitrarily far apart, and what would bound them."""
    found = bounds.find_unbounded() or (0, 1)
    one, two = (parts[i].items[0] for i in found)
    times = [next(iter(find_progress(graph, x.relation.name)), "ts") for x in (one, two)]
    length, range_ = _LENGTHS[one.relation.unit if not isinstance(one.relation, StaticTable) else "us"]
    advice = _SUGGESTION.format(a=one.alias, b=two.alias, at=times[0], bt=times[1], length=length, range=range_)
    still = [x.relation.name for x in (one, two) if not find_progress(graph, x.relation.name)]
    why = next((w for name in still if (w := explain_no_progress(graph, name))), "")
    raise PlanError(
        f"nothing bounds this join in time: a row of {one.alias} could meet rows of {two.alias} that come at any later time, "
        f"so it would be kept for ever{f' ({why})' if why else ''}; {advice}"
    )


def _follows(
    common: CommonWindow, leads: Sequence[int], place: Mapping[int, int], every: Sequence[CommonWindow]
) -> bool:
    """Whether a common window follows from that of the parts the join goes by: each shares it with its own."""

    def shared(one: int, other: int) -> bool:
        same = [w for w in every if (w.width, w.offset) == (common.width, common.offset)]
        return one == other or any({w.one, w.other} == {one, other} for w in same)

    first, second = leads[place[common.one]], leads[place[common.other]]
    return shared(first, second) and shared(common.one, first) and shared(common.other, second)


def _implied_gaps(bounds: TimeBounds, every: TimeBounds, leads: Sequence[int], later: Sequence[int]) -> list[Gap]:
    """What follows for the parts a join goes by from the bounds of all, and is tighter than its own; inputs are `later` than
    their parts by so many ticks.
    """
    out = []
    for i, one in enumerate(leads):
        for j, other in enumerate(leads):
            own, implied = bounds.within[i][j], every.within[one][other]
            if i == j or implied is None:
                continue
            ticks = implied + later[j] - later[i]
            if own is None or ticks < own:
                out.append(Gap(i, j, ticks))
    return out
