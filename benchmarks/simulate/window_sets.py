"""Query sets made up at random: windows, keys, filters and aggregates over streams, and chains, unions and
selections over each other, each as SQL and as what it means.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.simulate.window_aggregates import AGGREGATES, count_distinct, over
from benchmarks.simulate.window_model import Group, Relation, Row, Select, Source, Union
from benchmarks.simulate.window_rows import SECOND
from headrace.logical.user_aggregate import UserAggregate
from headrace.windows import WindowSpec, make_window

TYPES = "k STRING, g INT, v BIGINT, d DECIMAL(12,3), x DOUBLE, b BOOLEAN, s STRING"

@dataclass(frozen=True)
class Case:
    """A query set in SQL and what it means."""

    queries: dict[str, tuple[str, Relation]]  # name -> (SELECT text, meaning)
    unit: int = SECOND  # ticks per unit of time of the generated streams; 1 for integer attributes
    slack: int = 5  # units
    streams: tuple[str, ...] = ("s",)
    user: dict[str, UserAggregate] = field(default_factory=dict)
    extra: str = ""  # of the stream clause, such as HORIZON

    @property
    def script(self) -> str:
        time = "TIMESTAMP" if self.unit == SECOND else "BIGINT"
        slack = f"{self.slack} SECONDS" if self.unit == SECOND else str(self.slack)
        out = [
            f"CREATE STREAM {s} (t {time}, {TYPES}) PROGRESSING ON t SLACK {slack} {self.extra} FROM 'none';"
            for s in self.streams
        ]
        return "\n".join(
            out + [f"CREATE QUERY {name} AS {text};" for name, (text, _) in self.queries.items()]
        )

    @property
    def relations(self) -> dict[str, Relation]:
        return {name: relation for name, (_, relation) in self.queries.items()}


FILTERS: dict[str, Callable[[Row], Any]] = {
    "v > 20": lambda r: r["v"] is not None and r["v"] > 20,
    "g IN (0, 2)": lambda r: r["g"] in (0, 2),
    "b": lambda r: r["b"],
    "k <> 'a' OR v < 5": lambda r: (
        (r["k"] is not None and r["k"] != "a") or (r["v"] is not None and r["v"] < 5)
    ),
    "x IS NULL": lambda r: r["x"] is None,
}
NUMBERS: dict[str, Callable[[str], Any]] = {
    "sum({0})": lambda c: over(c, sum),
    "max({0})": lambda c: over(c, max),
    "min({0})": lambda c: over(c, min),
    "count({0})": lambda c: lambda rows: sum(r[c] is not None for r in rows),
    "count(*)": lambda c: len,
    "count(DISTINCT {0})": count_distinct,
    "avg({0})": lambda c: over(c, lambda v: sum(v) / len(v)),
}
ANSWERS = [a for a in AGGREGATES if "FILTER" not in a and "(t)" not in a and ", t" not in a]


def window(rng: random.Random, unit: int) -> tuple[str, WindowSpec]:
    """A window clause of any kind."""
    slide = rng.choice([1, 2, 3, 4, 6, 10])
    kind = rng.choice(["tumbling", "sliding", "sliding", "gaps", "landmark", "cumulative"])
    more: dict[str, Any] = {}
    if rng.random() < 0.3:
        more["origin"] = rng.randrange(-9, 9)
    if kind == "landmark":
        length, slide = None, rng.choice([7, 10, 25])
    elif kind == "cumulative":
        length, more["reset"] = None, slide * rng.randint(1, 4)
    else:
        length = {"tumbling": slide, "sliding": slide * rng.randint(1, 4) + rng.randint(0, 3), "gaps": 3}[
            kind
        ]
        if rng.random() < 0.3:
            more["align"] = "end"
    say = (lambda n: f"{n} SECONDS") if unit == SECOND else str
    words = f"RANGE {'ALL' if length is None else say(length)} SLIDE {say(slide)}"
    words += "".join(f" {k.upper()} {v.upper() if isinstance(v, str) else say(v)}" for k, v in more.items())
    ticks = {k: v * unit if isinstance(v, int) else v for k, v in more.items()}
    return words, make_window(None if length is None else length * unit, slide * unit, **ticks)


class Maker:
    def __init__(self, rng: random.Random, unit: int, streams: tuple[str, ...]) -> None:
        self.rng, self.unit, self.streams = rng, unit, streams
        self.queries: dict[str, tuple[str, Relation]] = {}
        # name -> (relation, key columns, number columns, the streams it waits for)
        self.windowed: dict[str, tuple[Relation, list[str], list[str], frozenset[str]]] = {}

    def add(
        self, text: str, relation: Relation, keys: list[str], numbers: list[str], on: frozenset[str]
    ) -> None:
        name = f"q{len(self.queries)}"
        self.queries[name] = (text, relation)
        self.windowed[name] = (relation, keys, numbers, on)

    def over_streams(self) -> None:
        rng = self.rng
        used = tuple(s for s in self.streams if rng.random() < 0.6) or self.streams[:1]
        condition = rng.choice(list(FILTERS)) if rng.random() < 0.5 else None
        keys = [k for k in ("k", "g") if rng.random() < 0.6]
        calls = [*rng.sample(["count(*)", "sum(v)", "max(g)", "count(s)"], 2), *rng.sample(ANSWERS, rng.randrange(3))]
        self.over_rows(used, condition, keys, calls)

    def over_rows(
        self, used: tuple[str, ...], condition: str | None, keys: list[str], answers: list[str]
    ) -> None:
        """An aggregation of streams in a window of any shape; its first two answers are numbers."""
        rng = self.rng
        source = Source(used, (lambda r: r if FILTERS[condition](r) else None) if condition else dict)
        clause, spec = window(rng, self.unit)
        calls = {f"n{i}" if i < 2 else f"z{i}": a for i, a in enumerate(answers)}
        listed = ", ".join([*keys, *(f"{a} AS {n}" for n, a in calls.items())])
        known = {"max(g)": over("g", max), "count(s)": lambda rows: sum(r["s"] is not None for r in rows)}
        meaning = {n: known[a] if a in known else AGGREGATES[a] for n, a in calls.items()}
        relation = Group(source, spec, tuple(keys), meaning)
        table = (
            used[0] if len(used) == 1 else "(" + " UNION ALL ".join(f"SELECT * FROM {s}" for s in used) + ")"
        )
        text = f"SELECT {listed} FROM {table} [{clause}]{' AS u' if len(used) > 1 else ''}"
        text += f" WHERE {condition}" if condition else ""
        text += f" GROUP BY {', '.join(keys)}" if keys else ""
        if rng.random() < 0.3:
            text += " HAVING n0 > 1" if keys else " HAVING NOT n0 <= 1"
            relation = Group(
                source, spec, tuple(keys), meaning, lambda r: r["n0"] is not None and r["n0"] > 1
            )
        self.add(text, relation, list(keys), ["n0", "n1"], frozenset(used))

    def over_query(self) -> None:
        rng = self.rng
        name = rng.choice(list(self.windowed))
        relation, keys, numbers, on = self.windowed[name]
        kept = [k for k in keys if rng.random() < 0.6]
        calls, meaning = [], {}
        for i in range(rng.randint(1, 3)):
            template, column = rng.choice(list(NUMBERS)), rng.choice(numbers)
            if template.startswith("avg"):
                template = "max({0})"  # averages of averages are doubles, and sums of doubles depend on order
            calls.append(f"{template.format(column)} AS m{i}")
            meaning[f"m{i}"] = NUMBERS[template](column)
        own = rng.random() < 0.5 or (isinstance(relation, Union) and len(on) > 1)
        clause, spec = window(rng, self.unit) if own else ("", None)
        text = f"SELECT {', '.join([*kept, *calls])} FROM {name}" + (f" [{clause}]" if own else "")
        text += f" GROUP BY {', '.join(kept)}" if kept else ""
        self.add(text, Group(relation, spec, tuple(kept), meaning), kept, list(meaning), on)

    def select(self) -> None:
        name = self.rng.choice(list(self.windowed))
        relation, keys, numbers, on = self.windowed[name]
        column = self.rng.choice(numbers)

        def pick(r: Row) -> Row | None:
            if r[column] is None or r[column] < 2:
                return None
            return {**{k: r[k] for k in keys}, "y": r[column] * 2}

        listed = ", ".join([*keys, f"{column} * 2 AS y"])
        self.add(f"SELECT {listed} FROM {name} WHERE {column} >= 2", Select(relation, pick), keys, ["y"], on)

    def union(self) -> None:
        first, second = (self.rng.choice(list(self.windowed)) for _ in range(2))
        (a, _, x, on_a), (b, _, y, on_b) = self.windowed[first], self.windowed[second]
        arms = (
            Select(a, lambda r, c=x[0]: {"n": r[c]}),
            Select(b, lambda r, c=y[-1]: {"n": r[c]}),
        )
        text = f"SELECT {x[0]} AS n FROM {first} UNION ALL SELECT {y[-1]} FROM {second}"
        if on_a != on_b:
            self.queries[f"q{len(self.queries)}"] = (text, Union(arms))
        else:
            self.add(text, Union(arms), [], ["n"], on_a | on_b)


def mixed_case(seed: int) -> Case:
    """Queries over the same rows and keys with windows of all shapes, and chains over them: what is shared, and what
    must not be.
    """
    rng = random.Random(f"mixed set {seed}")
    unit = rng.choice([SECOND, 1])
    maker = Maker(rng, unit, ("s",) if rng.random() < 0.8 else ("s", "r"))
    keys = rng.choice([["k"], ["k", "g"], ["g"], []])
    calls = ["count(*)", "sum(v)"]
    for _ in range(rng.randint(2, 6)):
        maker.over_rows(maker.streams, rng.choice([None, None, "v > 20"]), keys, calls)
    for _ in range(rng.randint(0, 4)):
        rng.choice([maker.over_query, maker.over_query, maker.select, maker.union])()
    return Case(maker.queries, unit, slack=rng.choice([0, 5]), streams=maker.streams)


def random_case(seed: int) -> Case:
    """A query set of four to nine queries."""
    rng = random.Random(f"query set {seed}")
    unit = rng.choice([SECOND, 1])
    streams = ("s",) if rng.random() < 0.6 else ("s", "r")
    maker = Maker(rng, unit, streams)
    maker.over_streams()
    for _ in range(rng.randint(3, 8)):
        rng.choice([maker.over_streams, maker.over_query, maker.over_query, maker.select, maker.union])()
    return Case(maker.queries, unit, slack=rng.choice([0, 5]), streams=streams)
