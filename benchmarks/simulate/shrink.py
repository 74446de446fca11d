"""A failing scenario made small: events, queries, rows and settings are left out as long as the same thing goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from benchmarks.simulate.draw import readers_of
from benchmarks.simulate.scenario import Push, Scenario
from headrace.program.limits import SHIPPED

Play = Callable[[Scenario], BaseException | None]
_MOST = 400  # plays


def shrink(scenario: Scenario, play: Play) -> Scenario:
    """The smallest scenario found that fails as this one does."""
    failure = play(scenario)
    assert failure is not None, "it does not fail"
    wanted, left = sign(failure), _MOST
    smaller = True
    while smaller and left > 0:
        smaller = False
        for candidate in list_smaller(scenario):
            left -= 1
            error = play(candidate)
            if error is not None and sign(error) == wanted:
                scenario, smaller = candidate, True
                break
            if left <= 0:
                break
    return scenario


def sign(error: BaseException) -> str:
    """What failures of one cause have in common: their kind, and their first words without numbers and names."""
    words = re.sub(r"\d+", "", str(error)).split("\n")[0]
    return f"{type(error).__name__}: {' '.join(words.split(':')[0].split()[:2])}"


def list_smaller(scenario: Scenario) -> Iterator[Scenario]:
    """The same with less, the largest steps first."""
    events = scenario.events
    size = len(events) // 2
    while size >= 1:
        for start in range(0, len(events), size):
            yield replace(scenario, events=events[:start] + events[start + size :])
        size //= 2
    for query in scenario.case.queries:
        gone = readers_of(scenario.case, {query})
        if len(gone) < len(scenario.case.queries):
            queries = {q: each for q, each in scenario.case.queries.items() if q not in gone}
            yield replace(scenario, case=replace(scenario.case, queries=queries))  # type: ignore[type-var]
    for at, event in enumerate(events):
        if isinstance(event, Push):
            for smaller in list_fewer_rows(event):
                yield replace(scenario, events=(*events[:at], smaller, *events[at + 1 :]))
    for limit in fields(SHIPPED):
        shipped = getattr(SHIPPED, limit.name)
        if getattr(scenario.limits, limit.name) != shipped:
            yield replace(scenario, limits=replace(scenario.limits, **{limit.name: shipped}))
    if scenario.slots > 1:
        yield replace(scenario, slots=1)
    if scenario.tasks > 1:
        yield replace(scenario, tasks=1)
    if scenario.waits is not None:
        yield replace(scenario, waits=None)


def list_fewer_rows(push: Push) -> Iterator[Push]:
    for stream, rows in push.rows.items():
        size = len(rows)
        while size >= 1:
            for start in range(0, len(rows), size):
                yield replace(push, rows={**push.rows, stream: rows[:start] + rows[start + size :]})
            size //= 2


def describe(scenario: Scenario) -> str:
    """All of it, to be read."""
    settings = {f.name: getattr(scenario, f.name) for f in fields(scenario)}
    left: dict[str, Any] = {n: v for n, v in settings.items() if n not in ("case", "mean", "events")}
    lines = [scenario.case.script, *(f"{name} = {value!r}" for name, value in left.items())]
    return "\n".join([*lines, *(f"  {event!r}" for event in scenario.events)])
