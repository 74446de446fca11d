"""Scenarios drawn from seeds: a query set of some kind, its rows in batches, and what happens between and beside them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.simulate import scenario as events
from benchmarks.simulate.join_progress import SECOND, add_marks, tell_bounds
from benchmarks.simulate.join_sets import random_case as random_joins
from benchmarks.simulate.join_sets import random_rows
from benchmarks.simulate.meaning import QuerySet, Row
from benchmarks.simulate.mixed_sets import MixedMeaning, draw_mixed, draw_rows
from benchmarks.simulate.random_routes import shrink_limits
from benchmarks.simulate.scenario import Event, Scenario
from benchmarks.simulate.set_meanings import JoinMeaning, WindowMeaning
from benchmarks.simulate.simulated_files import Fault, FaultKind
from benchmarks.simulate.window_rows import Shape, stream
from benchmarks.simulate.window_sets import mixed_case, random_case

# Where a fault strikes: anywhere, or at the steps that decide most.
PLACES = ("", "", "", "manifests", "manifests/", "segments", "results", "sinks", "history", "epochs", "/out", "late")
_OPERATIONS = 120  # about what three batches do


def draw_scenario(seed: int | str, kind: str | None = None) -> Scenario:
    """Always the same for one seed."""
    rng = random.Random(f"simulation {seed}")
    kind = kind or rng.choice(sorted(KINDS))
    drawn = KINDS[kind](rng, f"{seed}")
    return replace(
        drawn,
        seed=f"{seed}",
        kind=kind,
        events=disturb(rng, drawn),
        slots=rng.randint(1, 4),
        tasks=rng.randint(1, 3),
        limits=shrink_limits(rng),
        waits=rng.randrange(1000) if rng.random() < 0.15 else None,
    )


# -- query sets and their rows --------------------
def _draw_windows(rng: random.Random, seed: str) -> Scenario:
    case = rng.choice([mixed_case, random_case])(seed)
    rows = {}
    for name in case.streams:
        shape = Shape(rng.randint(10, 60), rng.choice([0.3, 0.7]), start=rng.choice([-30, 0, 7]))
        rows[name] = stream(rng, case.unit, shape)
    pushes = cut(rng, rows, rng.randint(1, 6))
    return Scenario(seed, "", case, WindowMeaning, tuple(pushes))


def _draw_joins(rng: random.Random, seed: str) -> Scenario:
    case = random_joins(seed, 2)
    return Scenario(seed, "", case, JoinMeaning, tuple(cut(rng, random_rows(rng, case.unit, 30), rng.randint(1, 6))))


def _draw_policies(rng: random.Random, seed: str) -> Scenario:
    """Streams that make progress each in its own way, with lulls in which only the clock goes on."""
    case = random_joins(f"p{seed}", 2, True)
    drawn = random_rows(rng, case.unit, 30)
    rows = {s: add_marks(rng, case.policies[s], r, case.unit) for s, r in drawn.items()}
    pushes = cut(rng, rows, rng.randint(2, 6))
    told = {
        s: [*tell_bounds(rng, pace, [p.rows.get(s, []) for p in pushes], case.unit), None]
        for s, pace in case.paces.items()
        if pace.beside is not None
    }
    steps: list[Event] = []
    for push in pushes:
        if rng.random() < 0.25:
            steps.append(events.Beat(rng.choice([1, 7, 31]) * SECOND))
        steps.append(replace(push, clock=rng.choice([0, 1, 3, 40]) * SECOND))
    beside = {s: pace.beside for s, pace in case.paces.items() if pace.beside is not None}
    first = min((r["ts"] for some in rows.values() for r in some), default=0)
    return Scenario(seed, "", case, JoinMeaning, tuple(steps), told=told, beside=beside, begins=max(first, 0))


def _draw_mixed(rng: random.Random, seed: str) -> Scenario:
    case = draw_mixed(rng)
    rows = draw_rows(rng, case, rng.choice([12, 40]))
    last = max(r["ts"] for some in rows.values() for r in some)  # a time far ahead of the clock is none
    pushes = cut(rng, rows, rng.randint(1, 6))
    return Scenario(seed, "", case, MixedMeaning, tuple(pushes), may_flush=case.lates, begins=last)


KINDS: Mapping[str, Callable[[random.Random, str], Scenario]] = {
    "windows": _draw_windows,
    "joins": _draw_joins,
    "mixed": _draw_mixed,
    "policies": _draw_policies,
}


def cut(rng: random.Random, rows: Mapping[str, Sequence[Row]], batches: int) -> list[events.Push]:
    """The rows of every stream in so many batches of uneven sizes, some of them empty."""
    cuts = {s: sorted(rng.randrange(len(r) + 1) for _ in range(batches - 1)) for s, r in rows.items()}
    out = []
    for i in range(batches):
        edges = {s: [0, *cuts[s], len(r)] for s, r in rows.items()}
        out.append(events.Push({s: list(r[edges[s][i] : edges[s][i + 1]]) for s, r in rows.items()}))
    return out


# -- what happens to them --------------------
def disturb(rng: random.Random, drawn: Scenario) -> tuple[Event, ...]:
    """The batches, with everything else in between, and a flush at the end."""
    often = rng.choice([0.0, 0.15, 0.4])
    faults = rng.choice([0.0, 0.2, 0.5])
    keeping = rng.choice([0.0, 0.2, 0.5])
    gone: set[str] = set()
    out: list[Event] = []
    if rng.random() < 0.3:
        out.append(events.Disturb(rng.randrange(1000), rng.choice([0.0, 0.1, 0.3]), rng.choice([0.0, 0.1, 0.3])))
    for batch in (*drawn.events, events.Flush()):
        if rng.random() < often:
            out.append(_draw_change(rng, drawn.case, gone))
        if rng.random() < keeping:
            out.append(_draw_keeping(rng))
        if rng.random() < faults:
            out.append(events.Arm(draw_fault(rng)))
        out.append(batch)
        if drawn.may_flush and rng.random() < 0.04:
            out.append(events.Flush())
    if rng.random() < 0.3:
        out += [events.Arm(draw_fault(rng)), events.Restart()]
    if keeping and rng.random() < 0.5:
        out += [events.Wait(700.0), events.Compact(whole=True)]
    return (*out, events.Flush(), events.Flush())


def draw_fault(rng: random.Random) -> Fault:
    where = rng.choice(PLACES)
    return Fault(rng.choice(list(FaultKind)), rng.randrange(_OPERATIONS if not where else 6), where)


def _draw_change(rng: random.Random, case: QuerySet, gone: set[str]) -> Event:
    roll = rng.random()
    if roll < 0.35:
        return events.Move(rng.randrange(1000), rng.choice([0.0, 0.5, 0.9]))
    if roll < 0.5:
        return events.Rescale(rng.randint(1, 5))
    if roll < 0.6:
        return events.SinkFails(rng.choice([1, 2, 5]))
    leave = _draw_leaving(rng, case, gone) if roll > 0.85 else frozenset()
    gone |= leave
    return events.Restart(rng.choice([None, rng.randint(1, 5)]), leave)


def _draw_leaving(rng: random.Random, case: QuerySet, gone: set[str]) -> frozenset[str]:
    """A query to remove, with those that read it; none if none would be left."""
    here = [q for q in case.queries if q not in gone]
    found = readers_of(case, {rng.choice(here)})
    return frozenset(found - gone) if len(found | gone) < len(case.queries) else frozenset()


def readers_of(case: QuerySet, names: set[str]) -> set[str]:
    """These queries and all that read them."""
    found = set(names)
    for query, (text, _) in case.queries.items():  # in order: a query reads those before it
        words = text.replace("(", " ").replace(")", " ").replace(",", " ").replace(".", " ").split()
        if found.intersection(words):
            found.add(query)
    return found


def _draw_keeping(rng: random.Random) -> Event:
    roll = rng.random()
    if roll < 0.55:
        retain = rng.choice([0.0, 100.0]) if rng.random() < 0.15 else None
        grace = rng.choice([0.0, 600.0])
        return events.Compact(rng.choice([1, 2, 4]), rng.choice([1, 2]), rng.choice([2, 3]), grace, retain)
    return events.Read() if roll < 0.8 else events.Wait(rng.choice([1.0, 700.0]))
