"""One join of the graph, from what conditions say of its inputs: keys, bounds on time, the columns that are still read.

The last of the three steps of a join (`collect_join.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.logical.graph import WINDOW_COLUMNS, Join, JoinColumn, JoinInput
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import find_progress_columns
from headrace.logical.time_bounds import TimeBounds
from headrace.sql.bind_context import BindContext
from headrace.sql.bind_lookup import spell_over
from headrace.sql.collect_join import JoinClauses
from headrace.sql.join_bounds import JoinBounds
from headrace.sql.join_conditions import Conditions
from headrace.sql.join_keys import choose_keys
from headrace.sql.join_names import Joined, used_columns
from headrace.sql.join_times import JoinTimes
from headrace.windows import Sliding


@dataclass(frozen=True)
class JoinBuilder:
    """Adds the joins of one SELECT to the graph."""

    context: BindContext
    clauses: JoinClauses
    times: JoinTimes

    def build(
        self,
        done: list[Joined],
        groups: list[frozenset[int]],
        parts: list[Joined],
        conditions: Conditions,
        kind: JoinKind,
        window: Sliding | None = None,
        order: str = "",
        every: TimeBounds | None = None,
    ) -> Joined:
        """One operator: conditions are over `parts`, which `groups` assigns to the inputs `done`. `every` are the bounds of all
        parts, of which some follow only from inputs that are joined later.
        """
        near = JoinBounds(self.times, done, groups, parts)
        chosen = near.choose_times(conditions)
        bounds, others = near.bound(conditions, chosen, every)
        keys, rest = choose_keys(conditions, near.place, len(done))
        rest += [*conditions.rest, *others]
        condition = exp.and_(*rest) if rest else None
        inputs = tuple(
            JoinInput(
                d.relation.name,
                d.items[0].alias,
                chosen[i].column,
                tuple(spell_over(k, d.columns) for k in keys[i]),
            )
            for i, d in enumerate(done)
        )
        shared = tuple(near.name_times()) if window is not None and len(parts) > len(done) else ()
        visible, hidden = self._columns(done, [c.column for c in chosen], kind, condition)
        shows = window if window is not None else self._tumbling(conditions)
        join = Join(
            self.context.name(),
            inputs,
            kind,
            bounds,
            condition,
            visible,
            hidden,
            done[0].relation.unit,
            shows,
            order,
            shared,
        )
        self.context.add(join)
        return Joined(join, {c.name: c.name for c in visible}, tuple(i for d in done for i in d.items))

    def narrow(self, parts: Sequence[Joined], conditions: Conditions) -> list[Joined]:
        """Each part under the conditions that concern it alone."""
        out = []
        for i, part in enumerate(parts):
            mine = [c for k, c in conditions.single if k == i]
            if mine:
                where = spell_over(exp.and_(*mine), part.columns)
                part = replace(part, relation=self.context.narrow(part.relation, where))
            out.append(part)
        return out

    def _columns(
        self, done: Sequence[Joined], chosen: Sequence[str], kind: JoinKind, condition: exp.Expr | None
    ) -> tuple[tuple[JoinColumn, ...], tuple[JoinColumn, ...]]:
        """The columns that are read afterwards, and those that only the condition reads."""
        shown = [i for i in range(len(done)) if i == 0 or kind.shows_both]
        wanted = self.clauses.wanted_after({n for d in done for n in d.columns})
        needed = used_columns(condition) if condition is not None else set()
        columns = [JoinColumn(n, i, c) for i, d in enumerate(done) for n, c in d.columns.items()]
        progress = [find_progress_columns(self.context.graph(), d.relation.name) for d in done]
        times = [{c, *(n for n, p in each.items() if not p.applied)} for c, each in zip(chosen, progress, strict=True)]
        visible = tuple(
            c for c in columns if c.input in shown and (c.name in wanted or c.column in times[c.input])
        )
        return visible, tuple(c for c in columns if c not in visible and c.name in needed)

    def _tumbling(self, conditions: Conditions) -> Sliding | None:
        """The window that all inputs share, if its bounds are asked for."""
        if not self.clauses.shown & set(WINDOW_COLUMNS) or not conditions.windows:
            return None
        width, offset = conditions.windows[0].width, conditions.windows[0].offset
        return Sliding(width, range=width, origin=offset)
