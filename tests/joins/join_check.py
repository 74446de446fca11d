"""Run a query set with joins and the model side by side, and compare after every batch."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.simulate.join_model import JoinOracle, Row
from benchmarks.simulate.join_progress import tell_bounds
from benchmarks.simulate.join_sets import Case
from benchmarks.simulate.random_routes import scatter_next

from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun


@dataclass(frozen=True)
class Step:
    """A batch, or a flush (None), `clock` ticks after the one before; before it perhaps a restart, other slots, another route, or
    an attempt that is lost. A batch may be one that the clock brings about, if it brings results.
    """

    rows: dict[str, list[Row]] | None
    slots: int | None = None
    restart: bool = False
    moves: bool = False
    dies: bool = False
    clock: int = 0
    beats: bool = False


def cut(rng: random.Random, rows: dict[str, list[Row]], batches: int, restarts: float) -> list[Step]:
    """The rows in `batches` batches of uneven sizes, some of them empty, and a flush at the end."""
    cuts = {s: sorted(rng.randrange(len(r) + 1) for _ in range(batches - 1)) for s, r in rows.items()}
    out = []
    for i in range(batches):
        part = {}
        for s, r in rows.items():
            edges = [0, *cuts[s], len(r)]
            part[s] = r[edges[i] : edges[i + 1]]
        disturbed = lambda: rng.random() < restarts  # noqa: E731
        slots = rng.randint(1, 4) if disturbed() else None
        out.append(Step(part, slots, disturbed(), rng.random() < 0.4, disturbed()))
        if rng.random() < 0.04:
            out.append(Step(None))
    return [*out, Step(None)]


def check(
    case: Case,
    steps: Sequence[Step],
    tmp_path: Path,
    slots: int = 2,
    tasks: int = 2,
    seed: int = 0,
    prompt: bool = True,
    splits: float = 0.5,
    limits: Limits = SHIPPED,
) -> LocalRun:
    """Fail if results or late rows of some batch are not those of the model. Results that are not `prompt` may come in a
    later batch, but not in an earlier one, nor twice. `splits`: how likely a route splits and deals, where it is another.
    """
    where = str(tmp_path / "checkpoint")
    rng = random.Random(seed)
    batches = [s.rows for s in steps if s.rows is not None and not s.beats]
    told = {
        s: [*tell_bounds(rng, pace, [b.get(s, []) for b in batches], case.unit), None]
        for s, pace in case.paces.items()
        if pace.beside is not None
    }
    at = 0  # the number of batches with rows so far: what is told is read at the start and after each
    names = {pace.beside: s for s, pace in case.paces.items() if pace.beside is not None}
    tell = {name: lambda s=s: told[s][at] for name, s in names.items()}
    first = min((r["ts"] for b in batches for rows in b.values() for r in rows), default=0)
    clocked = any(pace.idle is not None for pace in case.paces.values())
    now = since = max(first, 0)  # no clock is before 1970

    def start(slots: int) -> LocalRun:
        nonlocal since
        since = now
        clock = (lambda: now) if clocked else None
        return LocalRun(case.script, slots, tasks, where, bounds=tell, clock=clock, limits=limits)

    run = start(slots)
    model = JoinOracle(case.paces)
    seen: list[dict[str, list[tuple[Any, ...]]]] = []
    late: list[dict[str, list[tuple[Any, ...]]]] = []
    for step in steps:
        if step.slots is not None or step.restart:
            run.close()
            run = start(step.slots or run.slots)
        if step.moves:
            scatter_next(rng, run, splits)
        now += step.clock
        idle = False
        if step.rows is None:
            manifest = run.flush()
            bounds = {s: manifest.streams[s].low_watermark for s in case.paces}
            model.flush(bounds, now, since, {s: each[at] for s, each in told.items()})
        else:
            given = {s: [tuple(r.values()) for r in rows] for s, rows in step.rows.items()}
            if step.dies:
                _lose(run, given)
                run.close()
                run = start(run.slots)
            here = {s: each[at] for s, each in told.items()}
            at += not step.beats
            if step.beats and run.beat():
                manifest = run.manifest
            else:
                idle = step.beats
                manifest = run.push(**given)
            model.push(step.rows, now, since, here)
        for stream in case.paces:
            assert manifest.streams[stream].low_watermark == model.bounds[stream], f"progress of {stream}: {case.paces[stream]}"
        seen.append({q: _read(run, manifest.results.get(q, ())) for q in case.queries})
        assert not (prompt and idle and any(seen[-1].values())), f"batch {len(seen) - 1} has results that no heartbeat was made for"
        late.append({s: _read(run, manifest.late.get(s, ())) for s in case.paces})
    compare(case, run, model, seen, prompt)
    if steps[-1].rows is None:
        compare_flushed(case, model)
    for stream in case.paces:
        found = model.late(stream, [r for _, r in case.queries.values()])
        for i in range(len(late)):
            expected = [(*row.values(), why) for at, row, why in found if at == i]
            _same(late[i][stream], expected, f"late rows of {stream}, batch {i}")
    return run


def compare(
    case: Case,
    run: LocalRun,
    model: JoinOracle,
    seen: Sequence[dict[str, list[tuple[Any, ...]]]],
    prompt: bool = True,
) -> None:
    for query, (text, relation) in case.queries.items():
        columns = run.graph.relations[query].columns
        found = [(at, tuple(row[c] for c in columns)) for at, row in model.results(relation)]
        what = f"query {query}: {text}"
        if query in case.loose and "count(*)" in text:  # complete at the end, none withdrawn on the way
            every = [row for each in seen for row in each[query]]
            _same(every, [row for _, row in found], what)
            continue
        pool: Counter[tuple[Any, ...]] = Counter()
        for i in range(len(seen)):
            expected = [row for at, row in found if at == i]
            if prompt:
                _same(seen[i][query], expected, f"batch {i}, {what}")
                continue
            pool.update(expected)
            early = Counter(seen[i][query]) - pool
            assert not early, f"batch {i}, {what}: {list(early)[:4]} came too early, twice, or are wrong"
            pool.subtract(seen[i][query])
        _same([], list(pool.elements()), f"in the end, {what}")


def compare_flushed(case: Case, model: JoinOracle) -> None:
    """A flush leaves nothing open: after its bounds there are the results that there are when nothing more comes."""
    whole = model.complete()
    for query, (text, relation) in case.queries.items():
        found, expected = ([tuple(row.items()) for _, row in one.results(relation)] for one in (model, whole))
        _same(found, expected, f"flushed, query {query}: {text}")


def _read(run: LocalRun, files: Any) -> list[tuple[Any, ...]]:
    return run._read(files, False)


def _lose(run: LocalRun, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    """A batch that does all its work and is lost before it is committed."""

    class Lost(Exception):
        pass

    def lost(_: Any) -> None:
        raise Lost

    run.log.publish = lost  # type: ignore[method-assign]
    with contextlib.suppress(Lost):
        run.push(**rows)


def _same(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]], what: str) -> None:
    left, right = Counter(found), Counter(expected)
    if left != right:
        extra, missing = list((left - right).elements()), list((right - left).elements())
        raise AssertionError(
            f"{what}\n  {len(found)} rows, not {len(expected)}\n  wrong: {extra[:4]}\n  missing: {missing[:4]}"
        )
