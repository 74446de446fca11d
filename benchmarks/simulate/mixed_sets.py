"""Query sets of every kind over the same streams, and what batch SQL answers of them: DuckDB, over all rows.

A set is drawn query by query; each reads streams, a table, or queries before it, and is written twice: as a
continuous query, and as a view over tables that hold all rows of each stream with the number of their batch
and the bound of every stream before it. By definition a row counts in the windows that were not complete when
its batch came. In sets whose streams keep their order within the slack nothing is ever late, and there are
joins, lookups of versions and DISTINCT rows too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb

from benchmarks.simulate.meaning import Answers, Row

SECOND = 1_000_000
STREAMS = ("a", "b", "c")
COLUMNS = ("ts", "k", "j", "v", "s")
LABELS: tuple[tuple[Any, ...], ...] = ((0, "none"), (1, "one"), (2, "two"), (2, "zwei"), (None, "null"))
_BOUNDS = ", ".join(f"_w{s}" for s in STREAMS)
_NEVER_LATE = ", ".join(f"NULL::BIGINT AS _w{s}" for s in STREAMS)


@dataclass(frozen=True)
class Item:
    """What a query can read: rows with the columns of streams, or windows of one shape with `keys` and the numbers n and m."""

    name: str
    streams: frozenset[str]
    window: tuple[int, int] | None = None  # range and slide in units; None: rows
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The view that answers a query, and when its rows are due: in their batch, when their window is complete, or by the end."""

    view: str
    streams: frozenset[str]
    due: str  # "row", "window" or "end"
    closes: int | None = None  # the range of windows right over rows, in units: rows may be late for them
    slide: int = 0


@dataclass(frozen=True)
class MixedCase:
    """A drawn set."""

    unit: int
    slack: int  # units
    lates: bool
    queries: Mapping[str, tuple[str, Answer]] = field(default_factory=dict)

    @property
    def tables(self) -> Mapping[str, Sequence[tuple[Any, ...]]]:
        return {"dim": LABELS}

    @property
    def script(self) -> str:
        time = "TIMESTAMP" if self.unit == SECOND else "BIGINT"
        slack = f"{self.slack} SECONDS" if self.unit == SECOND else str(self.slack)
        lines = [
            f"CREATE STREAM {s} (ts {time}, k INT, j INT, v INT, s STRING) PROGRESSING ON ts SLACK {slack} FROM 'none';"
            for s in STREAMS
        ]
        lines.append("CREATE TABLE dim (k INT, label STRING) FROM 'none';")
        return "\n".join([*lines, *(f"CREATE QUERY {name} AS {text};" for name, (text, _) in self.queries.items())])


class Maker:
    """Draws queries one after the other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.unit = rng, rng.choice([SECOND, 1])
        self.slack, self.lates = rng.choice([0, 2, 5]), rng.random() < 0.5
        self.queries: dict[str, tuple[str, Answer]] = {}
        self.rows = [Item(s, frozenset({s})) for s in STREAMS]
        self.windows: list[Item] = []

    def draw(self) -> MixedCase:
        kinds: list[Callable[[], None]] = [self.selection, self.union, self.aggregate, self.aggregate, self.look_up]
        kinds += [self.over_windows, self.over_windows, self.distinct_windows, self.window_join, self.window_join]
        if not self.lates:
            kinds += [self.join, self.join, self.semi_join, self.versions, self.distinct_rows]
        self.aggregate()
        for _ in range(self.rng.randint(1, 7)):
            self.rng.choice(kinds)()
        return MixedCase(self.unit, self.slack, self.lates, self.queries)

    # -- words --------------------
    def length(self, units: int) -> str:
        return f"{units} SECONDS" if self.unit == SECOND else f"{units}"

    def interval(self, units: int) -> str:
        return f"INTERVAL {units} SECONDS" if self.unit == SECOND else f"{units}"

    def add(self, text: str, answer: Answer) -> str:
        name = f"q{len(self.queries)}"
        self.queries[name] = text, answer
        return name

    # -- rows --------------------
    def selection(self) -> None:
        one, least = self.rng.choice(self.rows), self.rng.randrange(3)
        condition = self.rng.choice([f"v > {least}", f"s <> 'p' OR v = {least}", "j IS NULL", f"k % 2 = {least % 2}"])
        v = self.rng.choice(["v", "v + 1", "j"])
        text = f"SELECT ts, k, j, {v} AS v, s FROM {one.name} WHERE {condition}"
        view = f"SELECT ts, k, j, {v} AS v, s, _b, {_BOUNDS} FROM {one.name} WHERE {condition}"
        self.rows.append(Item(self.add(text, Answer(view, one.streams, "row")), one.streams))

    def union(self) -> None:
        one, two = self.rng.choice(self.rows), self.rng.choice(self.rows)
        listed = ", ".join(COLUMNS)
        text = f"SELECT {listed} FROM {one.name} UNION ALL SELECT {listed} FROM {two.name}"
        view = f"SELECT {listed}, _b, {_BOUNDS} FROM {one.name} UNION ALL SELECT {listed}, _b, {_BOUNDS} FROM {two.name}"
        streams = one.streams | two.streams
        self.rows.append(Item(self.add(text, Answer(view, streams, "row")), streams))

    def look_up(self) -> None:
        one = self.rng.choice(self.rows)
        kind = self.rng.choice(["JOIN", "LEFT JOIN", "EXISTS"])
        if kind == "EXISTS":
            tail = f"FROM {one.name} x WHERE EXISTS (SELECT 1 FROM dim d WHERE d.k = x.k)"
            self.add(f"SELECT x.ts, x.v {tail}", Answer(f"SELECT x.ts, x.v, x._b {tail}", one.streams, "row"))
            return
        tail = f"FROM {one.name} x {kind} dim d ON x.k = d.k"
        self.add(
            f"SELECT x.ts, x.v, d.label {tail}", Answer(f"SELECT x.ts, x.v, d.label, x._b {tail}", one.streams, "row")
        )

    def distinct_rows(self) -> None:
        one = self.rng.choice(self.rows)
        words = f"SELECT DISTINCT ts, {self.rng.choice(['k', 'j, s', 'k, v'])} FROM {one.name}"
        self.add(words, Answer(words, one.streams, "end"))

    # -- joins of rows --------------------
    def near(self) -> tuple[str, str]:
        """That y is near x, in both dialects."""
        lo, hi = self.rng.choice([0, 1, 4, 9]), self.rng.choice([0, 2, 6])
        ours = f"y.ts BETWEEN x.ts - {self.interval(lo)} AND x.ts + {self.interval(hi)}"
        return ours, f"y.ts BETWEEN x.ts - {lo * self.unit} AND x.ts + {hi * self.unit}"

    def join(self) -> None:
        rng = self.rng
        one, two = rng.choice(self.rows), rng.choice(self.rows)
        kind = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        on = rng.choice(["x.k = y.k", "x.k = y.k AND x.v <= y.v", "x.j = y.k", "x.k = y.k AND x.s = y.s"])
        ours, theirs = self.near()
        shown = "x.ts AS ts, y.ts AS t1, coalesce(x.k, y.k) AS k, x.j AS j, y.v AS v, x.s AS s"
        words = f"SELECT {shown} FROM {one.name} x {kind} {two.name} y ON {on} AND "
        streams = one.streams | two.streams
        view = f"SELECT *, 0 AS _b, {_NEVER_LATE} FROM ({words}{theirs})"
        name = self.add(words + ours, Answer(view, streams, "end"))
        if kind == "JOIN" and rng.random() < 0.5:
            self.rows_aggregate(Item(name, streams), "end", ", WA ts")

    def semi_join(self) -> None:
        one, two = self.rng.choice(self.rows), self.rng.choice(self.rows)
        word = self.rng.choice(["EXISTS", "NOT EXISTS"])
        ours, theirs = self.near()
        head = "SELECT x.ts AS ts, x.k AS k, x.j AS j, x.v AS v, x.s AS s"
        tail = f" FROM {one.name} x WHERE {word} (SELECT 1 FROM {two.name} y WHERE x.k = y.k AND "
        streams = one.streams | two.streams
        view = f"{head}, 0 AS _b, {_NEVER_LATE}{tail}{theirs})"
        name = self.add(f"{head}{tail}{ours})", Answer(view, streams, "end"))
        if self.rng.random() < 0.5:
            self.rows_aggregate(Item(name, streams), "end")

    def versions(self) -> None:
        one = self.rng.choice(self.rows)
        kind = self.rng.choice(["JOIN", "LEFT JOIN"])
        text = f"SELECT x.ts, x.v, y.v AS w FROM {one.name} x {kind} c FOR SYSTEM_TIME AS OF x.ts AS y ON x.k = y.k"
        best = "SELECT v, true AS found FROM c y WHERE y.k = x.k AND y.ts <= x.ts ORDER BY y.ts DESC LIMIT 1"
        view = f"SELECT x.ts, x.v, y.v AS w FROM {one.name} x LEFT JOIN LATERAL ({best}) y ON true"
        self.add(text, Answer(view + (" WHERE y.found" if kind == "JOIN" else ""), one.streams | {"c"}, "end"))

    # -- windows --------------------
    def aggregate(self) -> None:
        self.rows_aggregate(self.rng.choice(self.rows), "window")

    def rows_aggregate(self, one: Item, due: str, by: str = "") -> None:
        rng = self.rng
        length, slide = rng.choice([(5, 5), (10, 5), (7, 3), (3, 4), (10, 10)])
        keys = rng.choice([("k",), ("k",), ("k", "j"), ("s",), ()])
        n = rng.choice(["count(*)", "count(v)", "count(DISTINCT j)"])
        m = rng.choice(["sum(v)", "max(v)", "min(j)", "sum(v) FILTER (WHERE j > 0)"])
        having = " HAVING count(*) > 1" if rng.random() < 0.2 else ""
        listed = ", ".join([*keys, f"{n} AS n", f"{m} AS m"])
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        text = f"SELECT {listed} FROM {one.name} [RANGE {self.length(length)} SLIDE {self.length(slide)}{by}]{group}{having}"
        source = f"SELECT *, {_least(one.streams)} AS _w FROM {one.name} WHERE ts IS NOT NULL"
        view = self.in_windows(source, "ts", length, slide, "_w IS NULL OR window_end > _w", listed, keys, having)
        answer = Answer(view, one.streams, due, length if due == "window" else None, slide)
        self.windows.append(Item(self.add(text, answer), one.streams, (length, slide), keys))

    def in_windows(
        self, source: str, time: str, length: int, slide: int, where: str, listed: str, keys: Sequence[str], having: str
    ) -> str:
        """Rows, each once for every window that holds it, grouped: by the definition of windows."""
        r, d = length * self.unit, slide * self.unit
        low = f"CAST(floor(({time} - {r}) / {d}::DOUBLE) AS BIGINT) + 1"
        high = f"CAST(floor({time} / {d}::DOUBLE) AS BIGINT)"
        held = f"SELECT * EXCLUDE (_i), _i * {d} AS window_start, _i * {d} + {r} AS window_end FROM "
        held += f"(SELECT *, unnest(range({low}, {high} + 1)) AS _i FROM ({source}))"
        group = ", ".join([*keys, "window_start", "window_end"])
        return f"SELECT {listed}, window_start, window_end FROM ({held}) WHERE {where} GROUP BY {group}{having}"

    def over_windows(self) -> None:
        rng = self.rng
        one = rng.choice(self.windows)
        due = self.queries[one.name][1].due
        keys = tuple(k for k in one.keys if rng.random() < 0.6)
        n, m = rng.choice(["count(*)", "max(n)", "sum(n)"]), rng.choice(["sum(m)", "min(m)", "count(m)"])
        listed = ", ".join([*keys, f"{n} AS n", f"{m} AS m"])
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        if rng.random() < 0.5:
            view = f"SELECT {listed}, window_start, window_end FROM {one.name} GROUP BY ALL"
            view = view.replace("GROUP BY ALL", f"GROUP BY {', '.join([*keys, 'window_start', 'window_end'])}")
            text, window = f"SELECT {listed} FROM {one.name}{group}", one.window
        else:
            length, slide = rng.choice([(20, 20), (20, 10), (12, 6)])
            window = length, slide
            text = f"SELECT {listed} FROM {one.name} [RANGE {self.length(length)} SLIDE {self.length(slide)}]{group}"
            source = f"SELECT * EXCLUDE (window_start, window_end), window_end - 1 AS _t FROM {one.name}"
            view = self.in_windows(source, "_t", length, slide, "true", listed, keys, "")
        self.windows.append(Item(self.add(text, Answer(view, one.streams, due)), one.streams, window, keys))

    def distinct_windows(self) -> None:
        one = self.rng.choice(self.windows)
        due = self.queries[one.name][1].due
        view = f"SELECT DISTINCT n, window_start, window_end FROM {one.name}"
        self.add(f"SELECT DISTINCT n FROM {one.name}", Answer(view, one.streams, due))

    def window_join(self) -> None:
        """Queries with windows, joined in the same window: two or three, inner and outer."""
        rng = self.rng
        first = rng.choice(self.windows)
        same = [w for w in self.windows if w.window == first.window]
        items = [first, *(rng.choice(same) for _ in range(rng.choice([1, 1, 2])))]
        ours = theirs = f"FROM {first.name} x0"
        for i, item in enumerate(items[1:], 1):
            kind = rng.choice(["", "LEFT ", "LEFT ", "RIGHT ", "FULL "])
            other = rng.randrange(i)
            shared = [k for k in item.keys if k in items[other].keys and k != "s"]
            on = f"x{i}.{rng.choice(shared or ['n'])} = x{other}.{rng.choice(shared or ['n'])}"
            ours += f" {kind}JOIN {item.name} x{i} ON {on}"
            theirs += f" {kind}JOIN {item.name} x{i} ON {on} AND x{i}.window_end = x{other}.window_end"
        shown = ", ".join(f"x{i}.{c} AS {c}{i}" for i, item in enumerate(items) for c in (*item.keys, "n", "m"))
        streams = frozenset().union(*(i.streams for i in items))
        self.add(f"SELECT {shown} {ours}", Answer(f"SELECT {shown} {theirs}", streams, "end"))


def _least(streams: frozenset[str]) -> str:
    """The bound of rows of several streams: none before each of them has one."""
    names = [f"_w{s}" for s in sorted(streams)]
    known = " AND ".join(f"{n} IS NOT NULL" for n in names)
    return f"CASE WHEN {known} THEN least({', '.join(names)}) END"


def draw_mixed(rng: random.Random) -> MixedCase:
    return Maker(rng).draw()


def draw_rows(rng: random.Random, case: MixedCase, count: int) -> dict[str, list[Row]]:
    """Rows in arrival order, out of order within the slack; later than that only in sets where rows may be late."""
    out: dict[str, list[Row]] = {}
    hot, start = rng.randrange(4), rng.choice([50, 1000, 100_000])
    for stream in STREAMS:
        clock, rows, versions = start + rng.choice([0, 0, 3, 40]), [], set[tuple[int, int | None]]()
        for _ in range(rng.randint(count // 3, count)):
            clock += rng.choice([0, 0, 1, 1, 2, 3]) + rng.choice([15, 60]) * (rng.random() < 0.03)
            delay = rng.randint(0, case.slack) + rng.randrange(40) * (case.lates and rng.random() < 0.06)
            k = None if rng.random() < 0.05 else hot if rng.random() < 0.3 else rng.randrange(4)
            ts = (clock - delay) * case.unit
            if stream == "c" and (ts, k) in versions:  # of one time there is one version
                continue
            versions.add((ts, k))
            rows.append(
                {
                    "ts": ts,
                    "k": k,
                    "j": None if rng.random() < 0.05 else rng.randrange(3),
                    "v": None if rng.random() < 0.05 else rng.randrange(6),
                    "s": None if rng.random() < 0.05 else rng.choice("pqr"),
                }
            )
        out[stream] = rows
    return out


class MixedMeaning:
    """What DuckDB answers of all rows."""

    def __init__(self, case: MixedCase) -> None:
        self._case = case
        self._batches: list[tuple[Mapping[str, Sequence[Row]], dict[str, int | None]]] = []  # rows, bounds before
        self._after: list[dict[str, int | None]] = []
        self._bounds: dict[str, int | None] = dict.fromkeys(STREAMS)

    def push(self, rows: Mapping[str, Sequence[Row]], now: int, since: int, told: Mapping[str, Any]) -> None:
        self._batches.append((rows, dict(self._bounds)))
        for stream, some in rows.items():
            if some:
                bound = max(row["ts"] for row in some) - self._case.slack * self._case.unit
                self._bounds[stream] = max(bound, self._bounds[stream] or bound)
        self._after.append(dict(self._bounds))

    def flush(self, bounds: Mapping[str, int | None], now: int, since: int, told: Mapping[str, Any]) -> None:
        self._batches.append(({}, dict(self._bounds)))
        self._bounds = dict(bounds)
        self._after.append(dict(bounds))

    def bounds(self) -> Mapping[str, int | None]:
        return self._bounds

    def is_loose(self, query: str) -> bool:
        return self._case.queries[query][1].due == "end"

    def answers(self, query: str, columns: Sequence[str]) -> Answers:
        answer = self._case.queries[query][1]
        listed = ", ".join(columns)
        if answer.due == "row":
            return [(row[-1], row[:-1]) for row in self._con.sql(f"SELECT {listed}, _b FROM {query}").fetchall()]
        rows = self._con.sql(f"SELECT {listed} FROM {query}").fetchall()
        if answer.due == "end":
            return [(0, row) for row in rows]
        place = list(columns).index("window_end")
        found = ((self._due(answer.streams, row[place]), row) for row in rows)
        return [(at, row) for at, row in found if at is not None]

    def whole(self, query: str, columns: Sequence[str]) -> Answers | None:
        return [(0, row) for row in self._con.sql(f"SELECT {', '.join(columns)} FROM {query}").fetchall()]

    def late(self, stream: str, queries: Sequence[str]) -> Answers:
        out: Answers = []
        answers = [self._case.queries[q][1] for q in queries]
        for at, (rows, before) in enumerate(self._batches):
            for row in rows.get(stream, ()):
                if any(self._missed(a, stream, row["ts"], before) for a in answers):
                    out.append((at, (*row.values(), "late")))
        return out

    def _missed(self, answer: Answer, stream: str, ts: int, before: Mapping[str, int | None]) -> bool:
        known = [before[s] for s in answer.streams]
        if answer.closes is None or stream not in answer.streams or None in known:
            return False
        length, slide = answer.closes * self._case.unit, answer.slide * self._case.unit
        first = ((ts - length) // slide + 1) * slide  # of the windows that hold it
        return first <= ts and first + length <= min(b for b in known if b is not None)

    def _due(self, streams: frozenset[str], end: int) -> int | None:
        for at, bounds in enumerate(self._after):
            known = [bounds[s] for s in streams]
            if None not in known and min(b for b in known if b is not None) >= end:
                return at
        return None

    @cached_property
    def _con(self) -> duckdb.DuckDBPyConnection:
        """All rows, and the views; made once, when the last batch is there."""
        con = duckdb.connect(config={"threads": 1})
        con.execute("CREATE TABLE dim (k INT, label VARCHAR)")
        con.executemany("INSERT INTO dim VALUES (?, ?)", LABELS)
        for stream in STREAMS:
            bounds = ", ".join(f"_w{s} BIGINT" for s in STREAMS)
            con.execute(f"CREATE TABLE {stream} (ts BIGINT, k INT, j INT, v INT, s VARCHAR, _b INT, {bounds})")
            for at, (rows, before) in enumerate(self._batches):
                values = [[*row.values(), at, *(before[s] for s in STREAMS)] for row in rows.get(stream, ())]
                if values:
                    con.executemany(f"INSERT INTO {stream} VALUES ({', '.join('?' * 9)})", values)
        for query, (_, answer) in self._case.queries.items():
            con.execute(f"CREATE VIEW {query} AS {answer.view}")
        return con
