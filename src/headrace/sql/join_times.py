"""Which columns tell the time of a join's inputs, and what conditions therefore say.

An input goes by the progressing column that its window names, or that the conditions with other inputs speak of most. A
windowed relation has several that move together: the bounds of its window, GSQL's bucket number, and copies of these under
other names. With them conditions are sorted (`join_conditions.py`) into bounds on time, equal keys, conditions of one input
alone, and the rest. An input without any such column has no time, and conditions on it are conditions like others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.logical.graph import Graph
from headrace.logical.progress_columns import find_progress
from headrace.logical.time_bounds import Gap, TimeBounds
from headrace.sql.bind_context import FailAt
from headrace.sql.join_conditions import Conditions, ConditionSorter, TimeColumn
from headrace.sql.join_names import FromItem, Joined, join_column, used_columns
from headrace.sql.join_windows import add_time_clauses, read_within
from headrace.sql.looked_up_items import is_looked_up
from headrace.sql.statements import Within


@dataclass(frozen=True)
class JoinTimes:
    """The times of the inputs of one SELECT, whose conditions are `conjuncts`."""

    graph: Callable[[], Graph]
    conjuncts: Sequence[exp.Expr]
    fail_at: FailAt

    def sort_pooled(self, parts: Sequence[Joined], conjuncts: Sequence[exp.Expr]) -> Conditions:
        """What conditions, and the windows of FROM, say of inputs that are joined in any order."""
        conditions = self.sort(parts, conjuncts)
        self.add_windows(conditions, [p.items[0] for p in parts], range(len(parts)))
        for j in range(2, len(parts)):
            if (within := parts[j].items[0].node.args.get("within")) is not None:
                self._add_latest(conditions, parts[: j + 1], within)
        return conditions

    def _add_latest(self, conditions: Conditions, parts: Sequence[Joined], within: Within) -> None:
        """The last part is at most `within.after` later than the latest of those before: a condition, and what it bounds."""
        last, unit = len(parts) - 1, parts[0].relation.unit
        times = [self._spell_tick(part) for part in parts]
        if any(t is None for t in times):
            return  # refused where its time is asked for
        _, after = read_within(within, unit, self.fail_at)
        gaps = [g for g in conditions.gaps if max(g.before, g.after) < last]
        windows = [w for w in conditions.windows if max(w.one, w.other) < last]
        far = TimeBounds(last, tuple(gaps), tuple(windows)).within
        for i in range(last):
            reach = [t for t in far[i] if t is not None]
            if len(reach) == last:
                conditions.gaps.append(Gap(i, last, max(reach) + after))
        latest = exp.Greatest(this=times[0], expressions=times[1:last])
        conditions.rest.append(exp.LTE(this=times[last], expression=exp.Add(this=latest, expression=spell_ticks(after, unit))))

    def _spell_tick(self, part: Joined) -> exp.Expr | None:
        """Where a row of a part is in time; rows of windows are a tick before their end."""
        column = self.find(part)
        flat = next((n for n, c in part.columns.items() if c == column), None)
        if flat is None:
            return None
        if not self.graph().is_windowed(part.relation.name):
            return join_column(flat)
        return exp.Sub(this=join_column(flat), expression=spell_ticks(1, part.relation.unit))

    def sort(
        self,
        parts: Sequence[Joined],
        conjuncts: Sequence[exp.Expr],
        groups: Sequence[frozenset[int]] | None = None,
    ) -> Conditions:
        """What conditions say of `parts`; where these are grouped, times are of parts, the rest is of groups."""
        place = {i: k for k, group in enumerate(groups) for i in group} if groups is not None else {}
        owner = {name: place.get(i, i) for i, part in enumerate(parts) for name in part.columns}
        times: dict[str, TimeColumn] = {}
        for i, part in enumerate(parts):
            column = self.find(part)
            flat = next((n for n, c in part.columns.items() if c == column), None)
            if flat is not None:
                times |= (
                    self._window_times(part, i, flat) if column == "window_end" else {flat: TimeColumn(i)}
                )
        found = ConditionSorter(lambda name: owner.get(name, -1), times, parts[0].relation.unit).take(
            conjuncts
        )
        if groups is not None:
            first = [min(group) for group in groups]
            found.equal = [((first[i], a), (first[j], b)) for (i, a), (j, b) in found.equal]
        return found

    def add_windows(self, conditions: Conditions, items: Sequence[FromItem], place: Sequence[int]) -> None:
        """Add what brackets and WITHIN say; `place` are the numbers of the items as inputs."""
        windowed = [self.graph().is_windowed(i.relation.name) for i in items]
        add_time_clauses(conditions, items, place, windowed, self.fail_at)

    def find(self, part: Joined) -> str | None:
        """The column of a part that carries its progress."""
        if len(part.items) == 1 and is_looked_up(part.items[0]):
            return None
        named = list(find_progress(self.graph(), part.relation.name))
        clause = part.items[0].node.args.get("stream_window")
        if clause is not None and clause.attribute is not None:
            wanted = clause.attribute.rpartition(".")[2].lower()
            if wanted not in {c.lower() for c in named}:
                raise self.fail_at(
                    clause.start,
                    clause.end,
                    f"{part.items[0].alias} makes progress on {', '.join(named) or 'nothing'}, not on {clause.attribute}",
                )
            return next(c for c in named if c.lower() == wanted)
        own = set(part.columns)
        spoken = [n for c in self.conjuncts if not (used := used_columns(c)) <= own for n in used]
        flat = {c: n for n, c in part.columns.items()}
        return max(named, key=lambda c: spoken.count(flat.get(c, "")), default=None)

    def _window_times(self, part: Joined, i: int, end: str) -> dict[str, TimeColumn]:
        """The columns of a windowed relation that tell its time."""
        times = {end: TimeColumn(i, 1)}
        for flat, column in part.columns.items():
            if (traced := part.relation.trace_window_end(self.graph(), column)) is not None:
                times[flat] = TimeColumn(i, *traced)
        return times


def spell_ticks(count: int, unit: str) -> exp.Expr:
    """A length of time as SQL."""
    if unit != "us":
        return exp.Literal.number(count)
    return exp.Interval(this=exp.Literal.string(str(count)), unit=exp.var("MICROSECOND"))
