"""What the answers must be, recomputed from scratch in plain Python (STYLE habit 7).

Nothing of the planner, the kernels or the state is used here: membership is `WindowSpec.wids` and
`extent`, the definition, and aggregates are Python functions over lists of rows. The rules, in the words of
DESIGN §4:

* the low-watermark of a stream is the largest progressing value seen minus its slack, and never goes back;
  that of a union is the minimum of its streams', and there is none before every one of them has shown a
  row;
* a window closes in the batch whose low-watermark reaches its end, and its result is over all rows of its
  extent that arrived in that batch or before it: a row counts in every window still open when its batch
  arrives;
* rows of a windowed relation are at `window_end - 1` for the windows of the relations that read it;
* a landmark window reports at every slide point from a group's first row on; a flush reports up to the
  slide point after the last row;
* the late table has the rows that missed a window of some query over their stream, and those without a
  usable value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.windows import WindowSpec

Row = dict[str, Any]
_PLAUSIBLE = 1 << 62


@dataclass(frozen=True)
class Source:
    """Streams, and what each of their rows becomes: a row of the relation, or None if it is filtered out."""

    streams: tuple[str, ...]
    pick: Callable[[Row], Row | None] = dict


@dataclass(frozen=True)
class Group:
    """An aggregation: `calls` are functions of a group's rows, `out` makes the result."""

    source: Relation
    window: WindowSpec | None
    keys: tuple[str, ...]
    calls: dict[str, Callable[[list[Row]], Any]] = field(hash=False, default_factory=dict)
    having: Callable[[Row], Any] = lambda row: True
    out: Callable[[Row], Row] = dict


@dataclass(frozen=True)
class Select:
    """A filter and projection of a windowed relation."""

    source: Relation
    pick: Callable[[Row], Row | None]


@dataclass(frozen=True)
class Union:
    sources: tuple[Relation, ...]


Relation = Source | Group | Select | Union


@dataclass
class Batch:
    """What arrived, and the low-watermark of every stream before and after."""

    rows: dict[str, list[Row]]
    before: dict[str, int | None]
    after: dict[str, int | None]
    flush: bool = False
    largest: dict[str, int] = field(default_factory=dict)  # value seen of each stream


@dataclass
class Oracle:
    slack: dict[str, int]
    time: dict[str, str]  # stream -> progressing attribute
    limit: dict[str, int] = field(default_factory=dict)  # stream -> largest plausible value
    horizon: dict[str, int] = field(
        default_factory=dict
    )  # stream of integers -> how far ahead of the largest seen
    batches: list[Batch] = field(default_factory=list)
    largest: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, int | None] = field(default_factory=dict)

    def push(self, **streams: Sequence[Row]) -> None:
        before = {s: self.bounds.get(s) for s in self.slack}
        known = dict(self.largest)
        usable: dict[str, list[Row]] = {}
        for stream, rows in streams.items():
            for row in rows:
                reason = self._reason(stream, row, known.get(stream))
                usable.setdefault(stream, []).append({**row, "_t": row[self.time[stream]], "_reason": reason})
                if reason is None:
                    self.largest[stream] = max(
                        self.largest.get(stream, row[self.time[stream]]), row[self.time[stream]]
                    )
        for stream, largest in self.largest.items():
            bound = largest - self.slack[stream]
            old = self.bounds.get(stream)
            self.bounds[stream] = bound if old is None else max(old, bound)
        self.batches.append(Batch(usable, before, {s: self.bounds.get(s) for s in self.slack}))

    def flush(self, bounds: dict[str, int | None]) -> None:
        """Every window that holds a row closes; `bounds` is how far the low-watermarks went for it."""
        before = {s: self.bounds.get(s) for s in self.slack}
        self.bounds.update(bounds)
        self.batches.append(Batch({}, before, dict(bounds), True, dict(self.largest)))

    def complete(self) -> Oracle:
        """The same batches, if nothing could come after the last of them."""
        end = dict.fromkeys(self.slack, 1 << 60)
        return replace(self, batches=[*self.batches[:-1], replace(self.batches[-1], after=end)])

    def _reason(self, stream: str, row: Row, known: int | None) -> str | None:
        t = row[self.time[stream]]
        if t is None:
            return "null"
        if abs(t) > min(self.limit.get(stream, _PLAUSIBLE), _PLAUSIBLE):
            return "implausible"
        if stream in self.horizon and known is not None and t > known + self.horizon[stream]:
            return "implausible"
        return None

    # -- progress --------------------------------------------------------------------------------------------
    def streams(self, relation: Relation) -> frozenset[str]:
        if isinstance(relation, Source):
            return frozenset(relation.streams)
        if isinstance(relation, Union):
            return frozenset().union(*(self.streams(s) for s in relation.sources))
        return self.streams(relation.source)

    def progress(self, relation: Relation, batch: Batch, after: bool) -> int | None:
        known = [(batch.after if after else batch.before).get(s) for s in self.streams(relation)]
        return None if None in known else min(k for k in known if k is not None)

    # -- results ---------------------------------------------------------------------------------------------
    def results(self, relation: Relation) -> list[tuple[int, Row]]:
        """(batch, row) for every row the relation has shown so far."""
        if isinstance(relation, Source):
            found = []
            for i, batch in enumerate(self.batches):
                for stream in relation.streams:
                    for row in batch.rows.get(stream, []):
                        if (
                            row["_reason"] is None
                            and (picked := relation.pick({**row, "_stream": stream})) is not None
                        ):
                            found.append((i, {"_t": row["_t"], **picked}))
            return found
        if isinstance(relation, Union):
            return [found for s in relation.sources for found in self.results(s)]
        if isinstance(relation, Select):
            out = []
            for i, row in self.results(relation.source):
                if (picked := relation.pick(row)) is not None:
                    out.append(
                        (i, {"window_start": row["window_start"], "window_end": row["window_end"], **picked})
                    )
            return out
        return self._group(relation)

    def _group(self, relation: Group) -> list[tuple[int, Row]]:
        """Rows arrive in a batch, a window closes in a batch; what arrived by then is its result."""
        arrived = self.results(relation.source)
        groups: dict[tuple[int, int, tuple[Any, ...]], list[Row]] = {}
        closed: dict[tuple[int, int], int] = {}
        if relation.window is None:
            for i, row in arrived:
                at = (row["window_start"], row["window_end"])
                assert closed.setdefault(at, i) == i, "rows of one window came in different batches"
                groups.setdefault((*at, self._key(relation, row)), []).append(row)
        else:
            placed = [(i, row, row["_t"] if "_t" in row else row["window_end"] - 1) for i, row in arrived]
            for i, row, t in placed:
                for wid in self._candidates(relation, t):
                    start, end = relation.window.extent(wid)
                    assert start <= t < end
                    if (start, end) not in closed:
                        closed[start, end] = self._closing(relation, end)
                    if i <= closed[start, end]:
                        groups.setdefault((start, end, self._key(relation, row)), []).append(row)
        out = []
        for (start, end, key), rows in groups.items():
            if closed[start, end] < len(self.batches):
                row = {"window_start": start, "window_end": end, **dict(zip(relation.keys, key, strict=True))}
                row |= {name: call(rows) for name, call in relation.calls.items()}
                if relation.having(row):
                    out.append((closed[start, end], relation.out(row)))
        return out

    def _key(self, relation: Group, row: Row) -> tuple[Any, ...]:
        return tuple(row[k] for k in relation.keys)

    def _candidates(self, relation: Group, t: int) -> range:
        """The windows that hold `t`, for a landmark those that can have closed by now."""
        assert relation.window is not None
        holding = relation.window.wids(t)
        if relation.window.kind != "landmark" or not holding:
            return holding
        reached = [self.progress(relation, b, True) for b in self.batches]
        known = [r for r in reached if r is not None]
        return (
            range(holding.start, max(holding.start, int(relation.window.first_open(max(known)))))
            if known
            else range(0)
        )

    def _closing(self, relation: Group, end: int) -> int:
        """The batch in which progress passes `end`; the number of batches if it has not."""
        for i, batch in enumerate(self.batches):
            before, after = (self.progress(relation, batch, a) for a in (False, True))
            if after is not None and (before is None or before < end) and end <= after:
                if (
                    batch.flush and relation.window is not None and relation.window.kind == "landmark"
                ) and end > self.last_report(relation, batch):
                    return len(self.batches)  # nobody waits for the running value of windows nothing came to
                return i
        return len(self.batches)

    def last_report(self, relation: Group, batch: Batch) -> int:
        """The slide point after the last row a landmark can hold when it is flushed."""
        assert relation.window is not None
        tick = max(self._last_tick(relation.source, batch), relation.window.origin)
        return relation.window.extent(int(relation.window.first_open(tick)))[1]

    def _last_tick(self, relation: Relation, batch: Batch) -> int:
        """Where the last row of a relation can be."""
        if isinstance(relation, Source):
            seen = [batch.largest[s] for s in relation.streams if s in batch.largest]
            return max(seen)
        if isinstance(relation, Union):
            return max(self._last_tick(s, batch) for s in relation.sources)
        tick = self._last_tick(relation.source, batch)
        if isinstance(relation, Select) or relation.window is None:
            return tick
        if relation.window.kind == "landmark":
            return self.last_report(relation, batch) - 1
        holding = relation.window.wids(tick)
        return relation.window.extent(holding[-1])[1] - 1 if holding else tick - 1

    # -- late rows -------------------------------------------------------------------------------------------
    def late(self, stream: str, relations: Sequence[Relation]) -> list[tuple[int, Row, str]]:
        """(batch, row, reason) of the stream's late table, given the queries that run."""
        windows = [
            g for g in _groups(relations) if isinstance(g.source, Source) and stream in g.source.streams
        ]
        out = []
        for i, batch in enumerate(self.batches):
            for row in batch.rows.get(stream, []):
                reason = row["_reason"]
                if reason is None and any(self._missed(g, batch, row["_t"]) for g in windows):
                    reason = "late"
                if reason is not None:
                    out.append((i, row, reason))
        return out

    def _missed(self, relation: Group, batch: Batch, t: int) -> bool:
        assert relation.window is not None
        bound = self.progress(relation, batch, False)
        holding = relation.window.wids(t)
        return bound is not None and len(holding) > 0 and relation.window.extent(holding[0])[1] <= bound


def has_landmark(relation: Relation) -> bool:
    """Whether some window it stands on has no last result."""
    return any(g.window is not None and g.window.kind == "landmark" for g in _groups([relation]))


def _groups(relations: Sequence[Relation]) -> list[Group]:
    out: list[Group] = []
    for r in relations:
        if isinstance(r, Group):
            out.append(r)
        inner = r.sources if isinstance(r, Union) else () if isinstance(r, Source) else (r.source,)
        out += _groups(inner)
    return out
