"""Run a query set and the oracle side by side, and compare after every batch.

A run is a list of actions, so the same rows can go in as one batch or as many, with another number of slots
from some batch on, through a restart, or through an attempt that dies before its manifest is published.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.simulate.compare_rows import same, take_away
from benchmarks.simulate.random_routes import draw_route
from benchmarks.simulate.window_model import Oracle, Row, has_landmark
from benchmarks.simulate.window_rows import COLUMNS
from benchmarks.simulate.window_sets import Case

from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun


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
            {q: run._read(manifest.results.get(q, ()), False) for q in case.queries}
        )
        late.append({s: run._read(manifest.late.get(s, ()), False) for s in case.streams})
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
