"""Run a query set and the oracle side by side, and compare after every batch.

A run is a list of actions, so the same rows can go in as one batch or as many, with another number of slots
from some batch on, through a restart, or through an attempt that dies before its manifest is published.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from oracle_model import Oracle, Relation, Row, has_landmark

from headrace.kernels import slot_turns
from headrace.logical.user_aggregate import UserAggregate
from headrace.program.limits import SHIPPED, Limits
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.testing import LocalRun
from random_routes import draw_route, take_randomly

SECOND = 1_000_000
COLUMNS = ("k", "g", "v", "d", "x", "b", "s")
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


@dataclass(frozen=True)
class Push:
    rows: dict[str, list[Row]]
    dies: bool = False  # the attempt is lost before it commits, and made again
    slots: int | None = None  # from this batch on
    restart: bool = False
    moves: int | None = None  # the seed of a route over the same slots, from this batch on


def move(run: LocalRun, seed: int) -> None:
    """Another route over the same slots, as a balancing controller would publish it, with splits and without."""
    rng = random.Random(f"route {seed}")
    run.driver.manifest = replace(run.manifest, route=draw_route(rng, run.manifest, run.slots))


FLUSH = "flush"
Action = Push | str


def check(
    case: Case,
    actions: Sequence[Action],
    tmp_path: Path,
    slots: int = 2,
    tasks: int = 2,
    prompt: bool = True,
    limits: Limits = SHIPPED,
    **oracle: Any,
) -> LocalRun:
    """Feed `actions` to a run and to the oracle; fail if results or late rows of some batch differ. Results that are not
    `prompt` may come in a later batch, but not in an earlier one, nor twice.
    """
    where = str(tmp_path / "checkpoint")
    start: Callable[[int], LocalRun] = lambda n: LocalRun(case.script, n, tasks, where, case.user, limits=limits)  # noqa: E731
    run = start(slots)
    model = Oracle(
        dict.fromkeys(case.streams, case.slack * case.unit), dict.fromkeys(case.streams, "t"), **oracle
    )
    seen: list[dict[str, list[tuple[Any, ...]]]] = []
    late: list[dict[str, list[tuple[Any, ...]]]] = []
    for action in actions:
        if isinstance(action, str):
            manifest = run.flush()
            model.flush({s: manifest.streams[s].low_watermark for s in case.streams})
        else:
            if action.slots is not None or action.restart:
                run.close()
                run = start(action.slots or run.slots)
            if action.moves is not None:
                move(run, action.moves)
            given = {s: [tuple(r.values()) for r in rows] for s, rows in action.rows.items()}
            if action.dies:
                _die(run, given)
                run.close()
                run = start(run.slots)
            manifest = run.push(**given)
            model.push(**action.rows)
        for stream in case.streams:
            assert manifest.streams[stream].low_watermark == model.bounds.get(stream), f"progress of {stream}"
        seen.append(
            {q: run._read([f.path for f in manifest.results.get(q, ())], False) for q in case.queries}
        )
        late.append({s: run._read([f.path for f in manifest.late.get(s, ())], False) for s in case.streams})
    for query, relation in case.relations.items():
        columns = run.graph.relations[query].columns
        found = model.results(relation)
        pool: list[tuple[Any, ...]] = []
        for i in range(len(seen)):
            expected = [tuple(row[c] for c in columns) for b, row in found if b == i]
            what = f"query {query}, batch {i}: {case.queries[query][0]}"
            if prompt:
                same(seen[i][query], expected, what)
            else:
                pool = take_away([*pool, *expected], seen[i][query], what)
        same([], pool, f"query {query} in the end: {case.queries[query][0]}")
        if actions and actions[-1] == FLUSH and not has_landmark(relation):  # a flush leaves nothing open
            done, every = ([tuple(row.items()) for _, row in one.results(relation)] for one in (model, model.complete()))
            same(done, every, f"query {query}, flushed: {case.queries[query][0]}")
    for stream in case.streams:
        found_late = model.late(stream, list(case.relations.values()))
        for i in range(len(late)):
            expected = [
                (row["t"], *(row[c] for c in COLUMNS), reason) for b, row, reason in found_late if b == i
            ]
            same(late[i][stream], expected, f"late rows of {stream}, batch {i}")
    return run


def _die(run: LocalRun, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    """A batch that does all its work and is lost before it is committed."""

    class Lost(Exception):
        pass

    def lost(_: Any) -> None:
        raise Lost

    run.log.publish = lost  # type: ignore[method-assign]
    with contextlib.suppress(Lost):
        run.push(**rows)


def same(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]], what: str) -> None:
    """The two as multisets; floating-point numbers to nine digits, everything else exactly."""
    left, right = sorted(found, key=_order), sorted(expected, key=_order)
    matches = len(left) == len(right) and all(
        len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(left, right, strict=True)
    )
    if not matches:
        extra = [r for r in left if not any(len(r) == len(e) and all(map(_close, r, e)) for e in right)]
        missing = [e for e in right if not any(len(r) == len(e) and all(map(_close, r, e)) for r in left)]
        raise AssertionError(
            f"{what}\n  {len(left)} rows, not {len(right)}\n  wrong: {extra[:5]}\n  missing: {missing[:5]}"
        )


def take_away(pool: list[tuple[Any, ...]], found: Sequence[tuple[Any, ...]], what: str) -> list[tuple[Any, ...]]:
    """What is left to come when these rows have; each of them was to come."""
    left = list(pool)
    for row in found:
        at = next((i for i, e in enumerate(left) if len(row) == len(e) and all(map(_close, row, e))), None)
        assert at is not None, f"{what}: {row} came too early, twice, or is wrong"
        left.pop(at)
    return left


def defer_randomly(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In every batch some mini-partitions sit out, and the others take turns; how many sat out."""
    share, counts = rng.choice([0.2, 0.5, 0.8]), [0]

    def defer(program: Any, orders: Any, pids: frozenset[int], arrived: Any, sent: int) -> frozenset[int]:
        if orders.flush is not None or find_waiting_obstacle(program) is not None:
            return frozenset()
        out = frozenset(pid for pid in pids if rng.random() < share)
        counts[0] += len(out & {pid for _, t in arrived for pid in t["pid"].to_pylist()})
        return out

    monkeypatch.setattr(slot_turns, "find_deferred", defer)
    rotate_randomly(rng, monkeypatch)
    take_randomly(rng, monkeypatch)
    return counts


def rotate_randomly(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mini-partitions take turns in every slot, as if memory were small."""

    def rotate(pids: frozenset[int], sizes: Any, memory: Any) -> list[frozenset[int]]:
        groups: list[set[int]] = [set() for _ in range(rng.randint(1, 3))]
        for pid in pids:
            rng.choice(groups).add(pid)
        return [frozenset(g) for g in groups]

    monkeypatch.setattr(slot_turns, "rotate_pids", rotate)


def _order(row: tuple[Any, ...]) -> list[Any]:
    exact = [(v is not None, str(v)) for v in row if not isinstance(v, (float, Decimal))]
    return [exact, [(math.isnan(v), v) for v in row if isinstance(v, (float, Decimal))]]


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_close, a, b))
    if a is None or b is None or isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b) and isinstance(a, float) == isinstance(b, float)


# -- streams -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Shape:
    """How a stream behaves, in units of time."""

    rows: int = 60
    step: float = 0.7  # mean time between rows
    disorder: float = 4.0  # usual delay of a row, at most
    very_late: float = 0.05  # how many rows come later than any slack
    lulls: float = 0.02
    nulls: float = 0.1
    bad_times: float = 0.02
    start: int = 0
    keys: str = "aaaaaabbbcd"


USUAL = Shape()


def stream(rng: random.Random, unit: int, shape: Shape = USUAL) -> list[Row]:
    """Rows in arrival order."""
    clock = float(shape.start)
    rows = []
    for _ in range(shape.rows):
        clock += rng.expovariate(1 / shape.step)
        if rng.random() < shape.lulls:
            clock += rng.uniform(20, 200)
        delay = rng.uniform(0, shape.disorder) * (rng.random() < 0.6)
        if rng.random() < shape.very_late:
            delay += rng.uniform(0, 60)
        t: int | None = math.floor((clock - delay) * unit) if unit > 1 else math.floor(clock - delay)
        if rng.random() < shape.bad_times:
            t = None
        pick = lambda value: None if rng.random() < shape.nulls else value  # noqa: E731
        rows.append(
            {
                "t": t,
                "k": pick(rng.choice(shape.keys)),
                "g": pick(rng.randrange(4)),
                "v": pick(rng.randrange(-20, 100)),
                "d": pick(Decimal(rng.randrange(-99999, 99999)) / 1000),
                "x": pick(rng.choice([rng.uniform(-5, 5), rng.randrange(5) / 2])),
                "b": pick(rng.random() < 0.7),
                "s": pick("".join(rng.choices("abcé ", k=rng.randrange(4)))),
            }
        )
    return rows


def cut(rng: random.Random, rows: dict[str, list[Row]], batches: int) -> list[Push]:
    """The rows of every stream in `batches` batches of uneven sizes, some of them empty."""
    cuts = {s: sorted(rng.randrange(len(r) + 1) for _ in range(batches - 1)) for s, r in rows.items()}
    out = []
    for i in range(batches):
        part = {}
        for s, r in rows.items():
            edges = [0, *cuts[s], len(r)]
            part[s] = r[edges[i] : edges[i + 1]]
        out.append(Push(part))
    return out
