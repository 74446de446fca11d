"""Random query sets with joins: SQL text and what it means, side by side."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.simulate.join_model import Band, Common, Derived, Group, Join, Relation, Row, Source, tick_of
from benchmarks.simulate.join_progress import Pace, draw_pace
from headrace.errors import PlanError
from headrace.optimizer import check_graph
from headrace.sql import parse_script
from headrace.sql.bind import Binder
from headrace.windows import Sliding

SECOND = 1_000_000
STREAMS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Item:
    """A FROM item: its text, its meaning, and the columns it has for the roles k, j, s, v and time."""

    text: str
    relation: Relation
    time: str
    columns: dict[str, str]


@dataclass
class Case:
    """A query set, what it means, and which queries' progress the model does not follow batch by batch."""

    unit: int
    slack: dict[str, int]
    queries: dict[str, tuple[str, Relation]] = field(default_factory=dict)
    loose: set[str] = field(default_factory=set)
    policies: dict[str, Pace] = field(default_factory=dict)  # of streams that have another policy than slack

    @property
    def paces(self) -> dict[str, Pace]:
        return {s: Pace(slack=n) for s, n in self.slack.items()} | self.policies

    @property
    def script(self) -> str:
        type_ = "TIMESTAMP" if self.unit == SECOND else "BIGINT"
        streams = [
            f"CREATE STREAM {s} (ts {type_}, k INT, j BIGINT, s STRING, v INT) "
            f"PROGRESSING ON ts {pace.clause(self.unit)} FROM 'none';"
            for s, pace in self.paces.items()
        ]
        return "\n".join([*streams, *(f"CREATE QUERY {n} AS {t};" for n, (t, _) in self.queries.items())])


class Maker:
    def __init__(self, seed: object) -> None:
        self.rng = rng = random.Random(f"join set {seed}")
        self.unit = rng.choice([SECOND, SECOND, 1])
        self.case = Case(self.unit, {s: rng.choice([0, 2, 5]) * self.unit for s in STREAMS})
        self.spelled = False
        self.numeric: set[str] = set()  # queries whose s is a number

    # -- words --------------------
    def length(self, units: int, tick: int = 0) -> str:
        if self.unit == 1:
            return str(units + tick)
        if tick:
            return f"INTERVAL {units * SECOND + tick} MICROSECONDS"
        return f"INTERVAL {units} SECONDS"

    def bracket(self, units: int) -> str:
        return f"{units} SECONDS" if self.unit == SECOND else str(units)

    # -- inputs --------------------
    def item(self, windows: bool = True) -> Item:
        rng, own = self.rng, {c: c for c in ("k", "j", "s", "v")}
        one = rng.choice(STREAMS)
        roll = rng.random()
        if roll < 0.55:
            return Item(one, Source((one,)), "ts", own)
        if roll < 0.7:
            least = rng.randrange(3)

            def keep(r: Row) -> Row | None:
                return dict(r) if r["v"] is not None and r["v"] > least else None

            return Item(f"(SELECT * FROM {one} WHERE v > {least})", Source((one,), keep), "ts", own)
        if roll < 0.82:
            two = rng.choice([s for s in STREAMS if s != one])
            return Item(f"(SELECT * FROM {one} UNION ALL SELECT * FROM {two})", Source((one, two)), "ts", own)
        if roll < 0.92 and self.case.queries:
            usable = [
                n
                for n, (_, r) in self.case.queries.items()
                if isinstance(r, Join) and n not in self.case.loose
            ]
            if usable:
                name = rng.choice(usable)
                joined = self.case.queries[name][1]
                assert isinstance(joined, Join)
                times = [0] if joined.kind in ("semi", "anti") else list(range(len(joined.inputs)))
                return Item(name, joined, f"t{rng.choice(times)}", {"k": "k", "j": "j", "s": "s", "v": "v"})
        return Item(one, Source((one,)), "ts", own)

    def windowed(self, window: Sliding, tb: bool) -> Item:
        """An aggregation as an input."""
        one = self.rng.choice(STREAMS)
        name = f"w{len(self.case.queries)}"
        relation = Group(Source((one,)), "ts", window, ("k",), {"v": lambda rows: len(rows)})
        units = window.range // self.unit
        if tb and window.tumbling:
            text = f"SELECT tb, k, count(*) AS v FROM {one} GROUP BY ts/{units} AS tb, k"
            by = window.range
            shown = Derived(relation, lambda r: {**r, "tb": r["window_start"] // by})
            self.case.queries[name] = text, shown
            return Item(name, shown, "window_end", {"k": "k", "j": "k", "s": "k", "v": "v"})
        slide = window.slide // self.unit
        text = f"SELECT k, count(*) AS v FROM {one} [RANGE {self.bracket(units)} SLIDE {self.bracket(slide)}] GROUP BY k"
        self.case.queries[name] = text, relation
        return Item(name, relation, "window_end", {"k": "k", "j": "k", "s": "k", "v": "v"})

    # -- how near in time --------------------
    def band(self, p: int, q: int, tp: str, tq: str) -> tuple[list[str], Band]:
        """Conditions that `tq` is near `tp`."""
        rng, u = self.rng, self.unit
        lo = rng.choice([0, 0, 1, 3, 7, 20, -2])
        hi = rng.choice([0, 1, 4, 9, 15, -1])
        if lo + hi < 0:
            lo, hi = abs(lo), abs(hi)
        minus = lambda t, n: f"{t} - {self.length(n)}" if n >= 0 else f"{t} + {self.length(-n)}"  # noqa: E731
        plus = lambda t, n: minus(t, -n)  # noqa: E731
        way = rng.randrange(6)
        if way == 0:
            return [f"{tq} BETWEEN {minus(tp, lo)} AND {plus(tp, hi)}"], Band(p, q, lo * u, hi * u)
        if way == 1:
            return [f"{tp} >= {minus(tq, hi)}", f"{tp} <= {plus(tq, lo)}"], Band(p, q, lo * u, hi * u)
        if way == 2 and min(lo, hi) >= 0:
            near = [f"{tq} - {tp} <= {self.length(hi)}", f"{self.length(lo)} >= {tp} - {tq}"]
            return near, Band(p, q, lo * u, hi * u)
        if way == 3 and (lo + hi) * u >= 2:
            return [f"{tq} > {minus(tp, lo)}", f"{plus(tp, hi)} > {tq}"], Band(p, q, lo * u - 1, hi * u - 1)
        if way == 4:
            near = [f"abs({tp} - {tq}) <= {self.length(abs(lo))}"]
            return near, Band(p, q, abs(lo) * u, abs(lo) * u)
        if way == 5:
            return [f"{tq} = {plus(tp, hi)}"], Band(p, q, -hi * u, hi * u)
        return [f"{tq} BETWEEN {minus(tp, lo)} AND {plus(tp, hi)}"], Band(p, q, lo * u, hi * u)

    # -- one join --------------------
    def join(self, name: str) -> None:
        rng = self.rng
        kind = rng.choice(["inner"] * 5 + ["left", "right", "full", "semi", "anti"])
        count = rng.choice([2, 2, 3, 4]) if kind == "inner" else 2
        way = rng.choice(
            ["band", "band", "band", "bracket", "tumbling", "slide", "window()", "within", "windowed"]
        )
        if way == "slide" and kind in ("semi", "anti"):
            way = "tumbling"
        if way in ("within", "windowed", "window()"):
            count = 2
        self.spelled = rng.random() < 0.4  # LEFT SEMI JOIN rather than EXISTS
        if kind in ("semi", "anti") and way in ("bracket", "tumbling", "within"):
            self.spelled = True
        if way == "windowed":
            items, texts, conditions, near = self._windowed_pair(kind)
        else:
            items = [self.item() for _ in range(count)]
            texts, conditions, near = self._near(way, kind, items)
        keys, more = self._keys(items)
        conditions += more
        tree = count > 2 and not any(all(k is not None for k in c) for c in zip(*keys, strict=True))
        rest, words = self._rest(items)
        conditions += words
        rng.shuffle(conditions)
        shows = range(1) if kind in ("semi", "anti") else range(len(items))
        tell = [f"x{i}.{items[i].time} AS t{i}" for i in shows]
        last = max(shows)
        chosen = [(0, "k", "k"), (0, "s", "s"), (last, "j", "j"), (last, "v", "v")]
        tell += [f"x{i}.{items[i].columns[c]} AS {n}" for i, c, n in chosen]
        hops = None
        if way == "slide":
            tell += ["window_start AS ws", "window_end AS we"]
            hops = near_hops(near)
            near = [n for n in near if isinstance(n, Band)]
        starts = None
        if way == "tumbling" and rng.random() < 0.5 and kind not in ("semi", "anti"):
            tell.append("window_start AS ws")
            starts = near[0]
        rng.shuffle(tell)
        text = f"SELECT {', '.join(tell)} {self._from(kind, items, texts, conditions)}"
        order = list(range(len(items)))
        times = [i.time for i in items]

        def out(*rows: Row | None) -> Row:
            found: Row = {f"t{i}": r[times[i]] if (r := rows[i]) is not None else None for i in shows}
            for i, c, n in chosen:
                found[n] = r[items[i].columns[c]] if (r := rows[i]) is not None else None
            if starts is not None:
                first = next(tick_of(r, times[i]) for i, r in enumerate(rows) if r is not None)
                found["ws"] = (first - starts.origin) // starts.width * starts.width + starts.origin
            return found

        relation = Join(
            "left" if kind == "right" else kind,
            tuple((items[i].relation, items[i].time) for i in order),
            tuple(near),
            tuple(tuple(k) for k in keys),
            rest,
            out,
            hops,
        )
        self.case.queries[name] = text, relation
        if items[0].columns["s"] != "s" or items[0].text in self.numeric:
            self.numeric.add(name)
        if tree:
            self.case.loose.add(name)
        if kind == "inner" and not tree and hops is None and rng.random() < 0.25:
            self._greatest(name, items, texts, conditions, relation)
        if rng.random() < 0.5:
            self._aggregate(name, relation, f"t{rng.choice(list(shows))}", tree)

    def _from(self, kind: str, items: Sequence[Item], texts: Sequence[str], conditions: Sequence[str]) -> str:
        rng = self.rng
        if kind in ("semi", "anti") and self.spelled:
            return (
                f"FROM {texts[0]} LEFT {kind.upper()} JOIN {texts[1]} ON {' AND '.join(conditions) or 'true'}"
            )
        if kind in ("semi", "anti"):
            word = "EXISTS" if kind == "semi" else "NOT EXISTS"
            return f"FROM {texts[0]} WHERE {word} (SELECT 1 FROM {texts[1]} WHERE {' AND '.join(conditions) or 'true'})"
        if kind == "inner":
            if rng.random() < 0.5 and not any("WITHIN" in t for t in texts):
                where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
                return f"FROM {', '.join(texts)}{where}"
            known: set[str] = {"x0"}
            left = list(conditions)
            out = f"FROM {texts[0]}"
            for i in range(1, len(items)):
                known.add(f"x{i}")
                mine = [
                    c for c in left if mentions(c) <= known and (f"x{i}" in mentions(c) or rng.random() < 0.5)
                ]
                left = [c for c in left if c not in mine]
                out += f" JOIN {texts[i]} ON {' AND '.join(mine) or 'true'}"
            return out + (f" WHERE {' AND '.join(left)}" if left else "")
        on = " AND ".join(conditions) or "true"
        if kind == "right":  # the kept input is x0, written last
            return f"FROM {texts[1]} RIGHT JOIN {texts[0]} ON {on}"
        return f"FROM {texts[0]} {kind.upper()} JOIN {texts[1]} ON {on}"

    def _near(self, way: str, kind: str, items: list[Item]) -> tuple[list[str], list[str], list[Any]]:
        """The FROM items, conditions, and what they say of time."""
        rng, u = self.rng, self.unit
        texts = [f"{item.text} AS x{i}" for i, item in enumerate(items)]
        times = [f"x{i}.{item.time}" for i, item in enumerate(items)]
        pairs = [(rng.randrange(i), i) for i in range(1, len(items))]
        named = [f" WA {i.time}" if i.time != "ts" else "" for i in items]
        if way == "tumbling" or way == "window()":
            width = rng.choice([1, 5, 10])
            every = [(i, j) for j in range(len(items)) for i in range(j)]
            origin = rng.choice([0, 0, 3, 12]) if way == "tumbling" else 0
            near: list[Any] = [Common(i, j, width * u, origin * u) for i, j in every]
            if way == "tumbling":
                shift = f" ORIGIN {self.bracket(origin)}" if origin else ""
                clause = [f" [RANGE TUMBLING {self.bracket(width)}{shift}{n}]" for n in named]
                return (
                    [f"{i.text}{c} AS x{n}" for n, (i, c) in enumerate(zip(items, clause, strict=True))],
                    [],
                    near,
                )
            if u == 1:
                return texts, *self._join_all(pairs[:1], times)
            return (
                texts,
                [f"window({times[0]}, '{width} seconds') = window({times[1]}, '{width} seconds')"],
                near,
            )
        if way == "slide":
            width, slide = rng.choice([(10, 5), (7, 3), (4, 6)])
            align = rng.choice(["start", "end"])
            words = f"RANGE {self.bracket(width)} SLIDE {self.bracket(slide)}{' ALIGN END' if align == 'end' else ''}"
            clause = [f" [{words}{n}]" for n in named]
            every = [(i, j) for j in range(len(items)) for i in range(j)]
            near = [Band(i, j, width * u - 1, width * u - 1) for i, j in every]
            near.append(Sliding(slide * u, range=width * u, align=align))
            return (
                [f"{i.text}{c} AS x{n}" for n, (i, c) in enumerate(zip(items, clause, strict=True))],
                [],
                near,
            )
        if way == "bracket":
            lengths = [rng.choice([1, 3, 8, 20]) for _ in items]
            every = [(i, j) if kind != "right" else (j, i) for j in range(len(items)) for i in range(j)]
            near = [Band(i, j, lengths[j] * u, lengths[i] * u - 1) for i, j in every]  # in the order of FROM
            clause = [f" [RANGE {self.bracket(n)}{w}]" for n, w in zip(lengths, named, strict=True)]
            return (
                [f"{i.text}{c} AS x{n}" for n, (i, c) in enumerate(zip(items, clause, strict=True))],
                [],
                near,
            )
        if way == "within" and all(i.time == "ts" for i in items) and rng.random() < 0.5:
            d = rng.choice([0, 2, 9])
            texts[kind != "right"] += f" WITHIN {self.bracket(d)}"  # behind what is written second
            return texts, [], [Band(0, 1, d * u, d * u)]
        return texts, *self._join_all(pairs, times)

    def _join_all(
        self, pairs: Sequence[tuple[int, int]], times: Sequence[str]
    ) -> tuple[list[str], list[Any]]:
        conditions: list[str] = []
        near: list[Any] = []
        for p, q in pairs:
            words, band = self.band(p, q, times[p], times[q])
            conditions += words
            near.append(band)
        return conditions, near

    def _windowed_pair(self, kind: str) -> tuple[list[Item], list[str], list[str], list[Any]]:
        rng, u = self.rng, self.unit
        window = rng.choice(
            [Sliding(5 * u, range=5 * u), Sliding(5 * u, range=10 * u), Sliding(10 * u, range=10 * u)]
        )
        tb = rng.random() < 0.5 and window.tumbling
        items = [self.windowed(window, tb), self.windowed(window, tb)]
        texts = [f"{item.text} AS x{i}" for i, item in enumerate(items)]
        way = rng.randrange(3)
        if way == 0:
            return items, texts, [], [Band(0, 1, 0, 0)]
        if way == 1:
            back = window.range
            return items, texts, ["x0.window_start = x1.window_end"], [Band(0, 1, back, -back)]
        if tb:
            n = rng.choice([0, 1, 2])
            by = n * window.range
            return items, texts, [f"x0.tb = x1.tb + {n}"], [Band(0, 1, by, -by)]
        words, band = self.band(0, 1, "x0.window_end", "x1.window_end")
        return items, texts, words, [band]

    # -- keys and the rest --------------------
    def _keys(self, items: Sequence[Item]) -> tuple[list[list[Any]], list[str]]:
        rng = self.rng
        keys: list[list[Any]] = [[] for _ in items]
        conditions = []

        def add(members: dict[int, tuple[str, Any]]) -> None:
            for i in range(len(items)):
                keys[i].append(members[i][1] if i in members else None)
            order = list(members)
            rng.shuffle(order)
            for one, two in itertools.pairwise(order):
                conditions.append(f"{members[one][0]} = {members[two][0]}")

        def member(i: int, role: str) -> tuple[int, tuple[str, Any]]:
            column = items[i].columns[role]
            return i, (f"x{i}.{column}", lambda r: r[column])

        def modulo(i: int) -> tuple[int, tuple[str, Any]]:
            column = items[i].columns["k"]
            return i, (f"x{i}.{column} % 3", lambda r: None if r[column] is None else r[column] % 3)

        way = rng.choice(["k", "k", "k j", "k s", "%", "none", "tree", "tree"])
        every = range(len(items))
        if any(i.columns["s"] != "s" or i.text in self.numeric for i in items) and way == "k s":
            way = "k"
        if way == "tree" and len(items) > 2:
            for i in range(1, len(items)):
                role = rng.choice(["k", "j"])
                add(dict([member(rng.randrange(i), role), member(i, role)]))
        elif way == "none" and len(items) == 2:
            pass
        elif way == "%":
            add(dict(modulo(i) for i in every))
        elif way == "k j":
            add(dict(member(i, rng.choice(["k", "j"])) for i in every))
        else:
            add(dict(member(i, "k") for i in every))
            if way == "k s":
                add(dict(member(i, "s") for i in every))
        return keys, conditions

    def _rest(self, items: Sequence[Item]) -> tuple[Callable[..., Any], list[str]]:
        rng = self.rng
        way = rng.randrange(5)
        one, two = rng.sample(range(len(items)), 2)
        left, right = items[one].columns["v"], items[two].columns["v"]

        def known(rows: Sequence[Row]) -> bool:
            return rows[one][left] is not None and rows[two][right] is not None

        if way == 0:
            return (lambda *rows: known(rows) and rows[one][left] <= rows[two][right]), [
                f"x{one}.{left} <= x{two}.{right}"
            ]
        if way == 1:
            return (lambda *rows: known(rows) and rows[one][left] + rows[two][right] != 4), [
                f"NOT x{one}.{left} + x{two}.{right} = 4"
            ]
        if way == 2:
            return (lambda *rows: rows[one][left] is not None and rows[one][left] > 1), [f"x{one}.{left} > 1"]
        return (lambda *rows: True), []

    # -- what stands on a join --------------------
    def _greatest(
        self,
        name: str,
        items: Sequence[Item],
        texts: Sequence[str],
        conditions: Sequence[str],
        relation: Join,
    ) -> None:
        times = [f"x{i}.{item.time}" for i, item in enumerate(items)]
        shown = f"SELECT greatest({', '.join(times)}) AS g, x0.{items[0].columns['k']} AS k"
        count = len(items)

        def pick(row: Row) -> Row:
            return {"g": max(row[f"t{i}"] for i in range(count)), "k": row["k"]}

        derived = Derived(relation, pick, "g")
        self.case.queries[f"{name}g"] = f"{shown} {self._from('inner', items, texts, conditions)}", derived
        window = Sliding(5 * self.unit, range=10 * self.unit)
        text = f"SELECT k, count(*) AS n FROM {name}g [RANGE {self.bracket(10)} SLIDE {self.bracket(5)} WA g] GROUP BY k"
        self.case.queries[f"{name}gn"] = text, Group(derived, "g", window, ("k",), {"n": len})

    def _aggregate(self, name: str, relation: Join, time: str, loose: bool) -> None:
        rng, u = self.rng, self.unit
        width, slide = rng.choice([(5, 5), (10, 5), (8, 3)])
        by = rng.choice([("k",), ("s",), ()])
        calls = {"n": len, "m": lambda rows: max((r["v"] for r in rows if r["v"] is not None), default=None)}
        group = Group(relation, time, Sliding(slide * u, range=width * u), by, calls)
        listed = ", ".join([*by, "count(*) AS n", "max(v) AS m"])
        text = (
            f"SELECT {listed} FROM {name} [RANGE {self.bracket(width)} SLIDE {self.bracket(slide)} WA {time}]"
        )
        own = f"{name}n"
        self.case.queries[own] = text + (f" GROUP BY {', '.join(by)}" if by else ""), group
        if loose:
            self.case.loose.add(own)
            if not is_accepted(self.case.script):  # of a tree, not every time carries progress
                del self.case.queries[own]
                return
        if rng.random() < 0.4:
            window = rng.choice([None, Sliding(30 * u, range=30 * u)])
            clause = f" [RANGE {self.bracket(30)}]" if window else ""
            text = f"SELECT max(n) AS m, count(*) AS c FROM {own}{clause}"
            top = {"m": lambda rows: max(r["n"] for r in rows), "c": len}
            self.case.queries[f"{own}t"] = text, Group(group, "window_end", window, (), top)
            if loose:
                self.case.loose.add(f"{own}t")

    def beside(self) -> None:
        """An aggregation over a stream, beside the joins."""
        one = self.rng.choice(STREAMS)
        width = self.rng.choice([5, 10]) * self.unit
        group = Group(Source((one,)), "ts", Sliding(width, range=width), ("k",), {"n": len})
        text = f"SELECT k, count(*) AS n FROM {one} [RANGE {self.bracket(width // self.unit)}] GROUP BY k"
        self.case.queries[f"beside{len(self.case.queries)}"] = text, group


def is_accepted(script: str) -> bool:
    binder = Binder(())
    try:
        for statement in parse_script(script):
            binder.create(statement)
        check_graph(binder.graph())
    except PlanError as e:
        if "could never close" in str(e):
            return False
        raise
    return True


def mentions(condition: str) -> set[str]:
    return {f"x{i}" for i in range(9) if f"x{i}." in condition}


def near_hops(near: Sequence[Any]) -> Sliding:
    return next(n for n in near if isinstance(n, Sliding))


def random_case(seed: object, joins: int = 2, policies: bool = False) -> Case:
    """A set of up to `joins` joins; with `policies`, over streams that make progress each in its own way."""
    maker = Maker(seed)
    if policies:
        drawn = random.Random(f"policies {seed}")
        maker.case.policies = {s: draw_pace(drawn, maker.unit, s) for s in STREAMS}
    for n in range(maker.rng.randint(1, joins)):
        maker.join(f"q{n}")
    if maker.rng.random() < 0.5:
        maker.beside()
    return maker.case


# -- rows ----------------------------------------------------------------------------------------------------
def random_rows(rng: random.Random, unit: int, count: int) -> dict[str, list[Row]]:
    """Rows of all streams in arrival order: out of order in a band or in blocks, with lulls, skew, duplicates and NULLs."""
    out = {}
    start = rng.choice([0, -40, 1000])
    hot = rng.randrange(4)
    for stream in STREAMS:
        clock = float(start + rng.choice([0, 0, 0, 5, 60, 3600]) * (rng.random() < 0.4))
        rows: list[Row] = []
        block: list[Row] = []
        blocks = rng.random() < 0.4
        for _ in range(rng.randint(count // 2, count)):
            clock += rng.choice([0, 0, 1, 1, 2])
            if rng.random() < 0.03:
                clock += rng.choice([15, 60])
            delay = 0 if blocks else rng.choice([0, 0, 1, 2, 4])
            if rng.random() < 0.04:
                delay += rng.randrange(40)
            tick = int(clock - delay) * unit
            if unit > 1 and rng.random() < 0.15:
                tick += rng.choice([-1, 1])
            row = {
                "ts": tick,
                "k": None if rng.random() < 0.05 else hot if rng.random() < 0.3 else rng.randrange(6),
                "j": None if rng.random() < 0.05 else rng.randrange(4),
                "s": None if rng.random() < 0.05 else rng.choice("pqr"),
                "v": None if rng.random() < 0.05 else rng.randrange(6),
            }
            block.append(row)
            if rng.random() < 0.05:
                block.append(dict(row))
            if not blocks or rng.random() < 0.3:
                rng.shuffle(block)
                rows += block
                block = []
        out[stream] = rows + block
    return out
