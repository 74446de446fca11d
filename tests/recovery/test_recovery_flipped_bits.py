"""Single bits that a disk has turned, and files it has cut short: no answer changes, and whoever reads is told what to do.

One checkpoint with every kind of file: manifests, pages of the history and merged files, results, late rows, segments of
windows and joins, tables that are held whole and divided, the plan, what a sink was given. Each case damages one file of a
copy and goes on with it: another batch, a flush, all results, all late rows, a sink that catches up. Allowed is what
would have come without, an error in words, or, of an old manifest or page, all but its versions and a sentence that
names these.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.coordinator.delivery import Delivery
from headrace.errors import CheckpointError
from headrace.program.limits import Limits
from headrace.sinks.sinks import Callback
from headrace.state import Retention, compact_checkpoint
from headrace.state.arrow_blocks import forget_checks
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (t BIGINT, k STRING, v INT) PROGRESSING ON t SLACK 20 FROM 'memory';
CREATE STREAM r (t BIGINT, k STRING, w INT) PROGRESSING ON t SLACK 20 FROM 'memory';
CREATE TABLE names (k STRING, name STRING) FROM 'memory';
CREATE QUERY counts AS SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 40 SLIDE 10] GROUP BY k;
CREATE QUERY pairs AS SELECT s.t AS t, s.k AS k, s.v AS v, r.w AS w FROM s JOIN r ON s.k = r.k AND r.t BETWEEN s.t AND s.t + 15;
CREATE QUERY named AS SELECT s.t AS t, n.name AS name FROM s JOIN names n ON s.k = n.k;
"""
KEYS = [f"key {i}" for i in range(40)]
QUERIES = ("counts", "pairs", "named")
BATCHES = 14
Damage = Callable[[random.Random, bytes], bytes]


@dataclass(frozen=True)
class Outcome:
    """All that a checkpoint answers."""

    rows: tuple[Any, ...]
    late: tuple[Any, ...]
    given: tuple[Any, ...]  # to a sink that had half of it


def rows_of(batch: int) -> list[tuple[Any, ...]]:
    rng = random.Random(batch)
    times = [batch * 10 + rng.randrange(10) - (60 if rng.random() < 0.1 else 0) for _ in range(60)]
    return [(max(t, 0), rng.choice(KEYS), rng.randrange(100)) for t in times]


def open_run(path: Path, limits: Limits) -> LocalRun:
    return LocalRun(SCRIPT, path=str(path), tables={"names": [(k, k.upper()) for k in KEYS]}, slots=2, limits=limits)


def make_checkpoint(path: Path, limits: Limits) -> None:
    """Some versions on pages, some as manifests; a sink has had the first few."""
    run = open_run(path, limits)
    for batch in range(BATCHES):
        run.push(s=rows_of(batch), r=rows_of(batch + 1000 if batch % 5 else batch))
        if batch == 9:
            compact_checkpoint(run.store, Retention(keep=3, step=2, fanout=3, grace=-10.0))
            run.log.refresh()
            Delivery(run.store, run.log, [Callback(lambda *_: None, "kept")]).catch_up()
    run.close()


def go_on(path: Path, limits: Limits) -> tuple[Outcome, bool]:
    """What comes of a checkpoint, and whether a sentence says that something is missing."""
    forget_checks()
    given: list[Any] = []

    def take(query: str, version: int, table: pa.Table) -> None:
        given.append((query, version, sorted(map(str, table.to_pylist()))))

    run = open_run(path, limits)
    try:
        Delivery(run.store, run.log, [Callback(take, "kept")]).catch_up()
        run.push(s=rows_of(BATCHES), r=rows_of(BATCHES + 1000))
        run.flush()
        rows = tuple(tuple(run.rows(query)) for query in QUERIES)
        late = tuple(tuple(run.late(stream)) for stream in ("s", "r"))
        return Outcome(rows, late, tuple(map(str, given))), bool(run.log.faults())
    finally:
        run.close()


def flip(rng: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


@pytest.fixture(scope="module", params=["held", "divided"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A checkpoint, what comes of it, and how tables are held in it."""
    limits = Limits(piece_bytes=400, block_bytes=100)
    if request.param == "divided":
        limits = replace(limits, broadcast_bytes=0)
    path = tmp_path_factory.mktemp("sound") / "c"
    make_checkpoint(path, limits)
    shutil.copytree(path, path.parent / "copy")
    expected, said = go_on(path.parent / "copy", limits)
    assert not said
    assert all(expected.rows)
    assert all(expected.late)
    assert expected.given
    return path, expected, limits


def choose_file(rng: random.Random, path: Path) -> Path:
    """A file of a kind, each kind as often as another."""
    kinds: dict[str, list[Path]] = {}
    for file in sorted(p for p in path.rglob("*") if p.is_file() and p.name != "lock"):
        kinds.setdefault(file.relative_to(path).parts[0], []).append(file)
    assert {"manifests", "history", "results", "late", "segments", "tables", "epochs", "sinks"} <= kinds.keys()
    return rng.choice(kinds[rng.choice(sorted(kinds))])


def try_damage(sound: Any, tmp_path: Path, seed: int) -> str:
    """Whether nothing changed, or what was said."""
    path, expected, limits = sound
    rng = random.Random(seed)
    copy = tmp_path / "c"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    file = choose_file(rng, copy)
    damage: Damage = cut if rng.random() < 0.2 else flip
    file.write_bytes(damage(rng, file.read_bytes()))
    where = f"seed {seed}: {damage.__name__} {file.relative_to(copy)}"
    try:
        found, said = go_on(copy, limits)
    except CheckpointError as error:
        if any(word in str(error) for word in ("restore", "Restore", "new checkpoint", "start again")):
            return "an error"
        raise AssertionError(f"{where}: nobody says what to do: {error}") from error
    if found != expected:
        assert said, f"{where} changed the answer"
        return "a warning"
    return "no change"


@pytest.mark.parametrize("seed", range(16))
def test_a_damaged_file_changes_no_answer(sound: Any, tmp_path: Path, seed: int) -> None:
    """A sample of the next test."""
    try_damage(sound, tmp_path, seed)


@pytest.mark.slow
def test_three_hundred_damaged_files_change_no_answer(sound: Any, tmp_path: Path) -> None:
    """With tables held whole and divided, 300 each; most are noticed in words."""
    outcomes = [try_damage(sound, tmp_path, 1000 + seed) for seed in range(300)]
    counts = {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}
    print(counts)
    assert counts["an error"] > 100
