"""The order-agnostic join of a batch (document 003, section 7.1: OA-Join; DESIGN §3.2).

Rows of all inputs meet in any order. With Δ_i the new rows of input i and old_i those from before, the new results of n inputs
are Σ_i Δ_i ⋈ (old_j + Δ_j for j < i) ⋈ (old_k for k > i): every combination with a new row, once. Each term is a hash
join that DuckDB builds on the smaller side; of old rows only the segments are read whose values the new rows reach.

A band alone does not help a hash join: one hot key would compare all its rows with all others. Where the rows of a term are
spread over much more time than the band is wide, both sides get a bucket of that width as a further key; a row is put into the
(at most two) buckets it reaches, and candidates are within twice the band.

Outer, semi- and anti-joins ask whether a row has met a partner. A row of the kept side is *complete* when the other
side's low-watermark has passed everything it reaches; then its partners, if any, are all here, so that nothing needs to be
remembered of a row but itself. A semi-join gives a row when its first partner is here: a new row that has one, or
an old row that has a new one and had none before. SELECT DISTINCT is the join of a stream with its own past: a row is new
if none before it was equal (section 8.2: DupElim).

Equal keys are in one mini-partition, so that it need not be compared; but where a key is dealt over several
(`state/dealt_route.py`), a slot may have copies of a row in each, and rows meet only within one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headrace.kernels.delta import Delta
from headrace.kernels.slot_context import SlotContext
from headrace.kernels.workspace import Workspace
from headrace.logical.join_kind import JoinKind
from headrace.logical.time_bounds import TimeBounds
from headrace.program.column_names import name_keys
from headrace.program.row_joins import JoinRows
from headrace.progress import LOWEST
from headrace.progress.advance_program import Interval
from headrace.windows import Sliding

Complete = Sequence[Interval]  # by input: from where on rows are incomplete, before the batch and after it


def join_rows(step: JoinRows, context: SlotContext) -> None:
    """The relation of a join's results, of the rows that are new in this turn; where keys are dealt, within mini-partitions."""
    inputs = [context.delta(node) for node in step.meets]
    complete = [context.progress[side.complete] for side in step.inputs]
    born = [context.orders.born.get(node) for node in step.meets]
    define_join(context.space, step, inputs, complete, born, not context.dealt.isdisjoint(step.meets))


def define_join(
    space: Workspace,
    step: JoinRows,
    inputs: Sequence[Delta],
    complete: Complete,
    born: Sequence[int | None],
    by_pid: bool = False,
) -> None:
    """Define the relation of a join's results in this round. `by_pid`: rows meet only within a mini-partition."""
    _Round(space, step, inputs, by_pid).define(complete, born)


class _Round:
    def __init__(self, space: Workspace, step: JoinRows, inputs: Sequence[Delta], by_pid: bool) -> None:
        self.space, self.step, self.inputs = space, step, inputs
        self._keys = [*(["pid"] if by_pid else []), *name_keys(step.keys)]
        self.spans = [one.span for one in inputs]
        self._count = 0

    def define(self, complete: Complete, born: Sequence[int | None]) -> None:
        kind = self.step.kind
        terms: list[str] = []
        if kind.pairs:
            terms += [t for i in range(len(self.inputs)) if (t := self._inner(i)) is not None]
        if kind is JoinKind.SEMI:
            terms += self._semi()
        if kind is JoinKind.DISTINCT:
            terms += self._distinct()
        slides = self.step.window is not None and not self.step.window.tumbling
        find_unmatched = self._unmatched_windows if slides else self._unmatched
        for side in kind.kept:
            known = complete[side]
            terms += find_unmatched(side, known.before.bound, known.after.bound, born[side])
        if terms:
            self.space.define(self.step.view, " UNION ALL ".join(terms))
        else:
            self.space.define_empty(self.step.view)

    # -- relations --------------------
    def _register(self, number: int, tables: Sequence[pa.Table]) -> str | None:
        """These rows of an input as a relation with the join's names; None if there are none."""
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        self._count += 1
        name = self.space.register(f"{self.step.view}_{self._count}", pa.concat_tables(tables))
        keys = ", ".join(["_t", *self._keys])
        columns = self.step.inputs[number].columns
        return f"(SELECT {keys}{', ' + columns if columns else ''} FROM {name})"

    def _reached(self, number: int, by: int) -> tuple[int, int] | None:
        """The values of input `number` that the new rows of input `by` reach."""
        span, bounds = self.spans[by], self.step.bounds
        if span is None:
            return None
        return span[0] - bounds.reach(number, by), span[1] + bounds.reach(by, number)

    # -- inner results --------------------
    def _inner(self, new: int) -> str | None:
        """The results of the new rows of one input with what was there before them."""
        sides: list[tuple[int, str]] = []
        for i, one in enumerate(self.inputs):
            if i == new:
                found = self._register(i, one.new)
            else:
                reached = self._reached(i, new)
                if reached is None:
                    return None
                found = self._register(i, [*one.old(*reached), *(one.new if i < new else ())])
            if found is None:
                return None
            sides.append((i, found))
        first = next(s for s in sides if s[0] == new)
        others = [s for s in sides if s[0] != new]
        source = self._combine(first, others)
        return self._select(self.step.outputs, source)

    def _select(self, outputs: str, source: str) -> str:
        """The results; where the join has a window, once for every window their rows share."""
        window, where = self.step.window, f" WHERE {self.step.condition}" if self.step.condition else ""
        if window is None:
            return f"SELECT {outputs} FROM {source}{where}"
        ticks = ", ".join(self.step.window_ticks or [f"i{i}._t" for i in range(len(self.inputs))])
        wids = f"SELECT * EXCLUDE (_t), {_wids(window, ticks)} AS _wid FROM {source}{where}"
        return f"SELECT {outputs} FROM {_show_windows(window, wids)}"

    def _combine(self, first: tuple[int, str], others: Sequence[tuple[int, str]]) -> str:
        """FROM … JOIN …: the new rows with those of each other input."""
        number, relation = first
        if len(others) == 1 and (width := self._bucket_width(number, others[0][0])) is not None:
            other, rows = others[0]
            bounds = self.step.bounds
            low, high = (
                _floor(f"_t - {bounds.reach(other, number)}", width),
                _floor(f"_t + {bounds.reach(number, other)}", width),
            )
            spread = f"(SELECT *, unnest(range({low}, {high} + 1)) AS _b FROM {relation})"
            bucketed = f"(SELECT *, {_floor('_t', width)} AS _b FROM {rows})"
            on = [f"i{number}._b = i{other}._b", *self._conditions(number, other)]
            return f"{spread} AS i{number} JOIN {bucketed} AS i{other} ON {' AND '.join(on)}"
        text, before = f"{relation} AS i{number}", [number]
        for other, rows in others:
            on = [c for k, one in enumerate(before) for c in self._conditions(one, other, keys=k == 0)]
            text += f" JOIN {rows} AS i{other} ON {' AND '.join(on) or 'true'}"
            before.append(other)
        return text

    def _bucket_width(self, new: int, other: int) -> int | None:
        """The width of buckets for the new rows of an input, if they pay."""
        span = self.spans[new]
        return None if span is None else self._find_width(span, new, other)

    def _find_width(self, span: tuple[int, int], one: int, other: int) -> int | None:
        bounds = self.step.bounds
        width = bounds.reach(one, other) + bounds.reach(other, one) + 1
        if bounds.windows or (self.step.keys and span[1] - span[0] < self.space.limits.bucket_spread * width):
            return None
        return width

    def _conditions(self, one: int, other: int, keys: bool = True) -> list[str]:
        """What rows of two inputs must satisfy: equal keys, near in time."""
        out = [f"i{one}.{k} = i{other}.{k}" for k in self._keys] if keys else []
        return out + time_conditions(self.step.bounds, one, other)

    # -- rows with and without partners --------------------
    def _semi(self) -> list[str]:
        """Rows of the first input whose first partner is here."""
        kept, looked = self.inputs
        terms = []
        reached = self._reached(1, 0)
        new = self._register(0, kept.new)
        if new is not None and reached is not None:
            partners = self._register(1, [*looked.old(*reached), *looked.new])
            if partners is not None:
                terms.append(self._select_where(0, new, [("SEMI JOIN", partners)], self.spans[0]))
        reached = self._reached(0, 1)
        if reached is not None:
            old, partners = self._register(0, kept.old(*reached)), self._register(1, looked.new)
            if old is not None and partners is not None:
                before = self._register(1, looked.old(*self._widen(reached, 0)))
                tests = [("SEMI JOIN", partners), *([("ANTI JOIN", before)] if before is not None else [])]
                terms.append(self._select_where(0, old, tests, reached))
        return terms

    def _distinct(self) -> list[str]:
        """New rows, each once, without those that were there before."""
        (rows,), span = self.inputs, self.spans[0]
        new = self._register(0, rows.new)
        if new is None or span is None:
            return []
        where = ""
        if (old := self._register(0, rows.old(*span))) is not None:
            same = " AND ".join(f"i0.k{i} IS NOT DISTINCT FROM i1.k{i}" for i in range(self.step.keys))
            where = f" WHERE NOT EXISTS (SELECT 1 FROM {old} AS i1 WHERE {same})"
        return [f"SELECT {self.step.outputs} FROM (SELECT DISTINCT * FROM {new}) AS i0{where}"]

    def _unmatched(self, side: int, low: int, high: int, born: int | None) -> list[str]:
        """Rows of a kept input that became complete and have no partner; those with a null key or time never have one."""
        kept, other = self.inputs[side], self.inputs[1 - side]
        nulls = " OR ".join(f"{c} IS NULL" for c in ("_t", *name_keys(self.step.keys)))
        new, old = self._register(side, kept.new), None
        if high > low:
            old = self._register(side, kept.old(low, high - 1))
        rows = []
        if new is not None:
            rows.append(f"SELECT * FROM {new} WHERE _t < {high} OR {nulls}")
        if old is not None:
            rows.append(f"SELECT * FROM {old} WHERE _t >= {low} AND _t < {high}")
        if not rows:
            return []
        source = f"({' UNION ALL '.join(rows)})"
        if born is not None:  # partners of older rows came before the query did
            source = f"(SELECT * FROM {source} WHERE _t >= {born + self.step.bounds.reach(1 - side, side)})"
        span = self.spans[side]
        first = low if span is None else min(low, span[0])
        last = max(high, span[1] + 1) if nulls and span is not None else high
        partners = self._register(1 - side, [*other.old(*self._widen((first, last), side)), *other.new])
        tests = [("ANTI JOIN", partners)] if partners is not None else []
        known = first if low > LOWEST or span is None else span[0]
        return [self._select_where(side, source, tests, (known, last))]

    def _unmatched_windows(
        self, side: int, before: int, after: int, born: int | None
    ) -> list[str]:
        """Rows of a kept input that have no partner in a window of theirs, once for each: given when the other input has passed
        the window, or all that the row can meet. `before` and `after` are its bounds less what a row reaches.
        """
        window, reach = self.step.window, self.step.bounds.reach(side, 1 - side)
        assert window is not None
        low, high = (b + reach if b > LOWEST else b for b in (before, after))
        kept, other = self.inputs[side], self.inputs[1 - side]
        nulls = " OR ".join(f"{k} IS NULL" for k in name_keys(self.step.keys)) or "false"
        due = f"least(_we, _t + {reach + 1})"
        rows, span = [], self.spans[side]
        for tables, when in (
            (kept.new, f"{due} <= {high} OR {nulls}"),
            (kept.old(max(low - reach, LOWEST), high) if high > low else [], f"{due} <= {high} AND {due} > {low}"),
        ):
            if (found := self._register(side, tables)) is not None:
                wids = f"SELECT *, {_wids(window, '_t, _t')} AS _wid FROM {found}"
                rows.append(f"SELECT * FROM {_show_windows(window, wids)} WHERE {when}")
        if not rows:
            return []
        source = f"({' UNION ALL '.join(rows)})"
        if born is not None:  # partners of older rows came before the query did
            source = f"(SELECT * FROM {source} WHERE _t >= {born + self.step.bounds.reach(1 - side, side)})"
        ends = [*([max(low - reach, LOWEST), high] if high > low else []), *(span or ())]
        if ends:
            reached = self._widen((min(ends), max(ends)), side)
            partners = self._register(1 - side, [*other.old(*reached), *other.new])
            if partners is not None:
                # equal window numbers, not bounds of windows: an ANTI JOIN needs an equality (docs/design/joins.md)
                partners = f"(SELECT *, {_wids(window, '_t, _t')} AS _wid FROM {partners})"
                on = [f"i{side}._wid = i{1 - side}._wid", *self._conditions(side, 1 - side)]
                on += [self.step.condition] if self.step.condition else []
                source = f"(SELECT * FROM {source} AS i{side} ANTI JOIN {partners} AS i{1 - side} ON {' AND '.join(on)})"
        return [f"SELECT {self.step.padded[side]} FROM {source}"]

    def _widen(self, span: tuple[int, int], side: int) -> tuple[int, int]:
        """The values of the other input that rows of one reach."""
        bounds, other = self.step.bounds, 1 - side
        return span[0] - bounds.reach(other, side), span[1] + bounds.reach(side, other)

    def _select_where(
        self, side: int, rows: str, tests: Sequence[tuple[str, str]], span: tuple[int, int] | None
    ) -> str:
        """Rows of one input, with values in `span`, that have, or have not, partners among those of the other."""
        other, bounds = 1 - side, self.step.bounds
        conditions = [*self._conditions(side, other), *([self.step.condition] if self.step.condition else [])]
        if span is not None and (width := self._find_width(span, side, other)) is not None:
            rows = f"(SELECT *, {_floor('_t', width)} AS _b FROM {rows})"
            first, last = (
                _floor(f"_t - {bounds.reach(side, other)}", width),
                _floor(f"_t + {bounds.reach(other, side)}", width),
            )
            tests = [(w, f"(SELECT *, unnest(range({first}, {last} + 1)) AS _b FROM {t})") for w, t in tests]
            conditions.append(f"i{side}._b = i{other}._b")
        source = rows
        for word, partners in tests:
            source = f"(SELECT * FROM {source} AS i{side} {word} {partners} AS i{other} ON {' AND '.join(conditions) or 'true'})"
        outputs = self.step.padded[side]
        if self.step.window is None:
            return f"SELECT {outputs} FROM {source}"
        window = self.step.window
        start = f"{_floor(f'_t - {window.origin}', window.slide)} * {window.slide} + {window.origin}"
        return (
            f"SELECT {outputs} FROM (SELECT *, {start} AS _ws, {start} + {window.range} AS _we FROM {source})"
        )


def time_conditions(bounds: TimeBounds, one: int, other: int) -> list[str]:
    """The constraints between the times of two inputs, as SQL."""
    out = []
    for gap in bounds.gaps:
        if {gap.before, gap.after} == {one, other}:
            out.append(f"i{gap.after}._t <= i{gap.before}._t + {gap.ticks}")
    for window in bounds.windows:
        if {window.one, window.other} == {one, other}:
            first, second = (_floor(f"i{i}._t - {window.offset_of(i)}", window.width) for i in (one, other))
            out.append(f"{first} = {second}")
    return out


def _wids(window: Sliding, ticks: str) -> str:
    """The numbers of the windows that hold all these ticks, a row for each."""
    zero = window.start_of(0)
    first = _floor(f"greatest({ticks}) - {window.range + zero}", window.slide)
    return f"unnest(range({first} + 1, {_floor(f'least({ticks}) - {zero}', window.slide)} + 1))"


def _show_windows(window: Sliding, rows: str) -> str:
    """Rows with the bounds of window number `_wid`."""
    start = f"_wid * {window.slide} + {window.start_of(0)}"
    return f"(SELECT *, {start} AS _ws, {start} + {window.range} AS _we FROM ({rows}))"


def _floor(tick: str, width: int) -> str:
    """⌊tick / width⌋; DuckDB's // rounds towards zero."""
    return f"((({tick}) - ((({tick}) % {width}) + {width}) % {width}) // {width})"
