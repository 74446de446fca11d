"""What joins must give, recomputed from all input so far in plain Python.

Nothing of the planner, the kernels or the state is used here. The definition, for inputs whose rows have a progressing value
`_t` each:

* rows meet if `_t` of each pair is within its band (or in the same window), keys are equal and no key is NULL, and the rest
  of the condition is true; an inner result is there in the batch that brings the last of its rows;
* a row of a stream that is behind its input's low-watermark when its batch starts takes part in no join; how the low-watermark
  of a stream follows from its rows is in `join_progress.py`;
* a row without a partner is a result of a left, full or anti-join in the first batch after which the other input's
  low-watermark has passed every value the row could meet, and at once if one of its keys is NULL;
* a semi-join gives a row once, with its first partner;
* on the time of input i, results are complete up to the low-watermark of i, and up to what rows of the others still to come
  can reach; on the greatest time of an inner join, up to the least of the inputs' low-watermarks.

A relation is evaluated to rows with the batch they appear in, and to bounds: per batch and time column, how far it is
complete before and after. Bounds are those of `Band` and `Common`, by their definitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.simulate.join_progress import Pace, Seen
from headrace.windows import Sliding

Row = dict[str, Any]
Bound = int | None
Found = list[tuple[int, Row]]


@dataclass(frozen=True)
class Band:
    """t_other - t_one in [-before, after]; None: unbounded on that side."""

    one: int
    other: int
    before: int | None
    after: int | None

    def meets(self, ticks: Sequence[int]) -> bool:
        gap = ticks[self.other] - ticks[self.one]
        return (self.before is None or gap >= -self.before) and (self.after is None or gap <= self.after)


@dataclass(frozen=True)
class Common:
    """Both in the same tumbling window."""

    one: int
    other: int
    width: int
    origin: int = 0

    def meets(self, ticks: Sequence[int]) -> bool:
        one, other = ((ticks[i] - self.origin) // self.width for i in (self.one, self.other))
        return one == other


@dataclass(frozen=True)
class Source:
    """Rows of streams, filtered and projected by `pick`; their time is `image` of that of the stream."""

    streams: tuple[str, ...]
    pick: Callable[[Row], Row | None] = dict
    time: str = "ts"
    image: Callable[[int], int] = lambda tick: tick


@dataclass(frozen=True)
class Join:
    kind: str
    inputs: tuple[tuple[Relation, str], ...]  # and the column of each that is its time
    near: tuple[Band | Common, ...]
    keys: tuple[tuple[Callable[[Row], Any], ...], ...]  # per input; None: not a key of this input
    rest: Callable[..., Any]
    out: Callable[..., Row]  # of a row, or None, per input; with columns t0, t1, … for their times
    hops: Sliding | None = None


@dataclass(frozen=True)
class Group:
    """An aggregation; over rows on the column `time`, over windowed rows in a window of its own or theirs (None)."""

    source: Relation
    time: str
    window: Sliding | None
    keys: tuple[str, ...]
    calls: Mapping[str, Callable[[list[Row]], Any]] = field(hash=False, default_factory=dict)


@dataclass(frozen=True)
class Derived:
    """Rows with further columns."""

    source: Relation
    pick: Callable[[Row], Row | None]
    greatest: str | None = None  # the column that is the greatest of the times of an inner join
    applied: Mapping[str, tuple[str, Callable[[int], int]]] = field(hash=False, default_factory=dict)  # functions of times


@dataclass(frozen=True)
class Both:
    """UNION ALL of rows."""

    sources: tuple[Relation, ...]


Relation = Source | Join | Group | Derived | Both


@dataclass
class Batch:
    rows: dict[str, list[Row]]
    before: dict[str, Bound]
    after: dict[str, Bound]
    contradicting: dict[str, list[Row]] = field(default_factory=dict)


class JoinOracle:
    """Batches, and what relations are after them."""

    def __init__(self, paces: Mapping[str, Pace]) -> None:
        self.paces, self.batches = dict(paces), list[Batch]()
        self.bounds: dict[str, Bound] = dict.fromkeys(paces)
        self.seen: dict[str, list[Seen]] = {s: [] for s in paces}
        self._found: dict[int, tuple[Relation, Found]] = {}

    def push(
        self, rows: Mapping[str, Sequence[Row]], clock: int = 0, since: int = 0, told: Mapping[str, Any] | None = None
    ) -> None:
        """A batch at a clock, of a run that began at `since`; `told` binds at its end."""
        before, data, contradicting = dict(self.bounds), {}, {}
        for stream, pace in self.paces.items():
            given = list(rows.get(stream, ()))
            data[stream] = [r for r in given if pace.is_data(r)]
            contradicting[stream] = [
                r
                for r in data[stream]
                if (said := pace.promise(self.seen[stream], r)) is not None and r["ts"] < said
            ]
            self.seen[stream].append(Seen(given, clock, since, (told or {}).get(stream)))
            old, new = self.bounds[stream], pace.bound(self.seen[stream])
            self.bounds[stream] = new if old is None else old if new is None else max(old, new)
        self.batches.append(Batch(data, before, dict(self.bounds), contradicting))
        self._found = {}

    def flush(
        self, bounds: Mapping[str, Bound], clock: int = 0, since: int = 0, told: Mapping[str, Any] | None = None
    ) -> None:
        """A batch without rows that brings the streams to `bounds`; what is `told` is said by then, too."""
        before, self.bounds = dict(self.bounds), dict(bounds)
        for stream in self.paces:
            self.seen[stream].append(Seen([], clock, since, (told or {}).get(stream)))
        self.batches.append(Batch({}, before, dict(bounds)))
        self._found = {}

    def complete(self) -> JoinOracle:
        """The same batches, if nothing could come after the last of them."""
        found = JoinOracle(self.paces)
        end = dict.fromkeys(self.paces, 1 << 60)
        found.batches = [*self.batches[:-1], replace(self.batches[-1], after=end)]
        return found

    # -- progress --------------------
    def bound(self, relation: Relation, column: str, batch: Batch, after: bool) -> Bound:
        """Up to where a relation is complete on a time column."""
        known = batch.after if after else batch.before
        if isinstance(relation, Source):
            return _least([None if (b := known[s]) is None else relation.image(b) for s in relation.streams])
        if isinstance(relation, Both):
            return _least([self.bound(s, column, batch, after) for s in relation.sources])
        if isinstance(relation, Derived):
            if column == relation.greatest:
                assert isinstance(relation.source, Join)
                return _least([self.bound(r, t, batch, after) for r, t in relation.source.inputs])
            column, image = relation.applied.get(column, (column, lambda tick: tick))
            found = self.bound(relation.source, column, batch, after)
            return None if found is None else image(found)
        if isinstance(relation, Group):
            return self.bound(relation.source, relation.time, batch, after)
        i = int(column.removeprefix("t"))
        each = [self.bound(r, t, batch, after) for r, t in relation.inputs]
        return _least(
            [b if j == i or b is None else reach_back(relation, i, j, b) for j, b in enumerate(each)]
        )

    def met(self, join: Join, i: int, batch: Batch, after: bool) -> Bound:
        """Rows of input i before this have met all they can."""
        each = [self.bound(r, t, batch, after) for r, t in join.inputs]
        return _least(
            [None if b is None else reach_back(join, i, j, b) for j, b in enumerate(each) if j != i]
        )

    # -- rows --------------------
    def results(self, relation: Relation) -> Found:
        """(batch, row) of everything a relation has shown."""
        found = self._found.get(id(relation))
        if found is None:
            found = relation, self._compute(relation)
            self._found[id(relation)] = found
        return found[1]

    def _compute(self, relation: Relation) -> Found:
        if isinstance(relation, Source):
            out = []
            for i, batch in enumerate(self.batches):
                for stream in relation.streams:
                    for row in batch.rows.get(stream, ()):
                        picked = relation.pick(row)
                        if picked is not None:
                            out.append((i, picked))
            return out
        if isinstance(relation, Both):
            return [f for s in relation.sources for f in self.results(s)]
        if isinstance(relation, Derived):
            return [
                (i, picked)
                for i, r in self.results(relation.source)
                if (picked := relation.pick(r)) is not None
            ]
        return self._group(relation) if isinstance(relation, Group) else self._join(relation)

    def _taken(self, relation: Relation, time: str) -> Found:
        """The rows of an input that take part in a join."""
        late = isinstance(relation, Source)
        return [
            (i, row)
            for i, row in self.results(relation)
            if not late or (b := self.bound(relation, time, self.batches[i], False)) is None or row[time] >= b
        ]

    def _join(self, join: Join) -> Found:
        inputs = [
            [(i, row, tick_of(row, time)) for i, row in self._taken(relation, time)]
            for relation, time in join.inputs
        ]
        keys = [
            [tuple(None if k is None else k(row) for k in own) for _, row, _ in rows]
            for own, rows in zip(join.keys, inputs, strict=True)
        ]
        chosen: list[list[int]] = [[]]
        for n, rows in enumerate(inputs):  # combinations of row numbers that agree so far
            more = []
            for some in chosen:
                for r in range(len(rows)):
                    if self._agree(join, inputs, keys, [*some, r], n):
                        more.append([*some, r])
            chosen = more
        pairs = [c for c in chosen if join.rest(*(inputs[n][r][1] for n, r in enumerate(c)))]
        out: Found = []
        if join.kind in ("inner", "left", "full"):
            for c in pairs:
                rows = [inputs[n][r] for n, r in enumerate(c)]
                at = max(i for i, _, _ in rows)
                result = join.out(*(row for _, row, _ in rows))
                if join.hops is None:
                    out.append((at, result))
                    continue
                wids = [set(join.hops.wids(t)) for _, _, t in rows]
                for wid in set.intersection(*wids):
                    start, end = join.hops.extent(wid)
                    out.append((at, result | {"ws": start, "we": end}))
        if join.kind == "semi":
            first: dict[int, int] = {}
            for one, two in pairs:
                at = max(inputs[0][one][0], inputs[1][two][0])
                first[one] = min(first.get(one, at), at)
            out += [(at, join.out(inputs[0][r][1], None)) for r, at in first.items()]
        for side in {"left": (0,), "anti": (0,), "full": (0, 1)}.get(join.kind, ()):
            partnered = {c[side] for c in pairs}
            for r, (i, row, tick) in enumerate(inputs[side]):
                if join.hops is not None:
                    out += self._lonely_windows(join, side, inputs, keys, pairs, r)
                    continue
                if r in partnered:
                    continue
                null = tick is None or any(
                    k is None
                    for k, own in zip(keys[side][r], join.keys[side], strict=True)
                    if own is not None
                )
                at = i if null else self._due(join, side, i, tick)
                if at is not None:
                    out.append((at, join.out(*(row if n == side else None for n in range(2)))))
        return out

    def _lonely_windows(self, join: Join, side: int, inputs: Any, keys: Any, pairs: Any, r: int) -> Found:
        """A row beside NULLs, once for each of its windows in which it has no partner, when that is known."""
        i, row, tick = inputs[side][r]
        assert join.hops is not None
        out: Found = []
        for wid in join.hops.wids(tick):
            start, end = join.hops.extent(wid)
            if any(c[side] == r and start <= inputs[1 - side][c[1 - side]][2] < end for c in pairs):
                continue
            null = any(k is None for k, own in zip(keys[side][r], join.keys[side], strict=True) if own is not None)
            reach = largest_gap(join, side, 1 - side)
            assert reach is not None
            at = i if null else self._passes(join, 1 - side, i, min(end, tick + reach + 1))
            if at is not None:
                result = join.out(*(row if n == side else None for n in range(2)))
                out.append((at, result | {"ws": start, "we": end}))
        return out

    def _passes(self, join: Join, side: int, arrived: int, tick: int) -> int | None:
        """The batch from `arrived` on in which an input has passed a value."""
        relation, time = join.inputs[side]
        for i in range(arrived, len(self.batches)):
            bound = self.bound(relation, time, self.batches[i], True)
            if bound is not None and tick <= bound:
                return i
        return None

    def _agree(self, join: Join, inputs: Any, keys: Any, some: Sequence[int], n: int) -> bool:
        """Whether row some[n] of input n goes with the rows chosen of the inputs before."""
        mine = inputs[n][some[n]]
        ticks = [inputs[m][r][2] for m, r in enumerate(some)]
        if mine[2] is None:
            return False
        for near in join.near:
            if max(near.one, near.other) == n and not near.meets(ticks):
                return False
        for k, own in enumerate(join.keys[n]):
            if own is None:
                continue
            value = keys[n][some[n]][k]
            if value is None:
                return False
            for m in range(n):
                if join.keys[m][k] is not None and keys[m][some[m]][k] != value:
                    return False
        return True

    def _due(self, join: Join, side: int, arrived: int, tick: int) -> int | None:
        """The batch in which a row is known to have met all it can."""
        for i in range(arrived, len(self.batches)):
            bound = self.met(join, side, self.batches[i], True)
            if bound is not None and tick < bound:
                return i
        return None

    def _group(self, group: Group) -> Found:
        """Windows close in the batch whose progress reaches their end, over what arrived by then."""
        groups: dict[tuple[int, int, tuple[Any, ...]], list[Row]] = {}
        closing: dict[tuple[int, int], int | None] = {}
        for i, row in self.results(group.source):
            if group.window is None:
                extents = [(row["window_start"], row["window_end"])]
                closing[extents[0]] = i
            else:
                tick = tick_of(row, group.time)
                if tick is None:
                    continue
                extents = [group.window.extent(w) for w in group.window.wids(tick)]
            for extent in extents:
                if extent not in closing:
                    closing[extent] = self._closes(group, extent[1])
                at = closing[extent]
                if at is None or i <= at:
                    groups.setdefault((*extent, tuple(row[k] for k in group.keys)), []).append(row)
        out = []
        for (start, end, key), rows in groups.items():
            at = closing[start, end]
            if at is not None:
                row = dict(zip(group.keys, key, strict=True)) | {
                    n: call(rows) for n, call in group.calls.items()
                }
                out.append((at, row | {"window_start": start, "window_end": end}))
        return out

    def _closes(self, group: Group, end: int) -> int | None:
        for i, batch in enumerate(self.batches):
            after = self.bound(group.source, group.time, batch, True)
            if after is not None and end <= after:
                return i
        return None

    # -- late rows --------------------
    def late(self, stream: str, relations: Sequence[Relation]) -> list[tuple[int, Row, str]]:
        """Rows of a stream that contradict punctuation, or missed partners or a window of some relation, and why."""
        sources, groups = list(_joined_sources(relations)), list(_groups_over_sources(relations))
        out = []
        for i, batch in enumerate(self.batches):
            for row in batch.rows.get(stream, ()):
                missed = False
                for source, time in sources:
                    bound = self.bound(source, time, batch, False)
                    missed |= stream in source.streams and bound is not None and source.image(row["ts"]) < bound
                for group in groups:
                    assert group.window is not None
                    bound = self.bound(group.source, group.time, batch, False)
                    arms = group.source.sources if isinstance(group.source, Both) else (group.source,)
                    for source in (arm for arm in arms if isinstance(arm, Source)):
                        holding = group.window.wids(source.image(row["ts"]))
                        if stream in source.streams and bound is not None and len(holding):
                            missed |= group.window.extent(holding[0])[1] <= bound
                contradicts = any(row is other for other in batch.contradicting.get(stream, ()))
                if missed or contradicts:
                    out.append((i, row, "contradicts" if contradicts else "late"))
        return out


def reach_back(join: Join, i: int, j: int, tick: int) -> int | None:
    """The least value of input i that a row of input j at `tick` or later can meet."""
    for near in join.near:
        if isinstance(near, Common) and {near.one, near.other} == {i, j}:
            return (tick - near.origin) // near.width * near.width + near.origin
    reach = largest_gap(join, i, j)
    assert reach is not None
    return tick - reach


def largest_gap(join: Join, i: int, j: int) -> int | None:
    """The largest t_j - t_i over all ways from i to j."""
    edges: dict[tuple[int, int], int] = {}
    for near in join.near:
        both = (
            [(near.one, near.other, near.width - 1), (near.other, near.one, near.width - 1)]
            if isinstance(near, Common)
            else [(near.one, near.other, near.after), (near.other, near.one, near.before)]
        )
        for x, y, ticks in both:
            if ticks is not None:
                edges[x, y] = min(edges.get((x, y), ticks), ticks)
    inputs = range(len(join.inputs))
    paths = []
    for length in range(len(join.inputs)):
        for between in itertools.permutations([k for k in inputs if k not in (i, j)], length):
            path = [i, *between, j]
            steps = [edges.get(pair) for pair in itertools.pairwise(path)]
            if None not in steps:
                paths.append(sum(s for s in steps if s is not None))
    return min(paths, default=None)


def _least(bounds: Sequence[Bound]) -> Bound:
    return None if None in bounds else min(b for b in bounds if b is not None)


def tick_of(row: Row, column: str) -> int | None:
    """Rows of windows are a tick before their end."""
    value: int | None = row[column]
    return value - 1 if column == "window_end" and value is not None else value


def _joined_sources(relations: Sequence[Relation]) -> Any:
    for relation in relations:
        if isinstance(relation, Join):
            for source, time in relation.inputs:
                if isinstance(source, Source):
                    yield source, time
                yield from _joined_sources([source])
        elif isinstance(relation, (Group, Derived)):
            yield from _joined_sources([relation.source])
        elif isinstance(relation, Both):
            yield from _joined_sources(relation.sources)


def _is_over_streams(relation: Relation) -> bool:
    return isinstance(relation, Source) or (isinstance(relation, Both) and any(map(_is_over_streams, relation.sources)))


def _groups_over_sources(relations: Sequence[Relation]) -> Any:
    for relation in relations:
        if isinstance(relation, Group) and _is_over_streams(relation.source):
            yield relation
        elif isinstance(relation, Join):
            yield from _groups_over_sources([r for r, _ in relation.inputs])
        elif isinstance(relation, (Group, Derived)):
            yield from _groups_over_sources([relation.source])
        elif isinstance(relation, Both):
            yield from _groups_over_sources(relation.sources)
